"""docs/traceability.md: all links between statements, requirements, cases and faults.

The documentation site and `python -m tools.traceability` write it; it is not committed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tools import ROOT
from tools.traceability.links import BASE_DOCUMENTS, Trace, suite_trace
from tools.traceability.statements import link_of
from v2_conformance.suite.requirements import (
    Citation,
    Document,
    Requirement,
    catalogue_version,
    documents,
    families,
    grade,
)
from v2_conformance.suite.statements import link

PAGE = ROOT / "docs" / "traceability.md"
_TEMPLATE = "page.md.j2"


def write_page() -> None:
    """Write the page of the suite."""
    PAGE.write_text(traceability_page(suite_trace()), "utf-8")


def traceability_page(trace: Trace) -> str:
    """Return the whole page, as Markdown."""

    def grounds(one: Requirement) -> Iterable[str]:
        """The statements that it rests on, or else what it cites of the base documents."""
        statements = [_statement(statement.name) for statement in trace.statements_of(one.id)]
        cited = (c for c in one.cite if c.document in BASE_DOCUMENTS)
        return statements or dict.fromkeys(
            f"[{c.document} {c.section}]({link(c, one.id)})" for c in cited
        )

    def tested(one: Requirement) -> list[str]:
        """The templates of its cases, or why it has none."""
        templates = [_template(trace, name, one) for name in trace.templates_of(one.id)]
        if one.superseded_by and not templates:
            return [f"none, superseded by {', '.join(map(_requirement, one.superseded_by))}"]
        return templates or ["none, [why](#requirements-without-a-case)"]

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        finalize=_cell,
        keep_trailing_newline=True,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "anchor": _anchor,
        "broken": lambda id: [f"`{name}`" for name in trace.faults_of(id)],
        "faults": lambda id: len(trace.faults_of(id)),
        "grounds": grounds,
        "link": link_of,
        "place": _place,
        "requirement": _requirement,
        "graded": _graded,
        "source": _source,
        "statement": _statement,
        "templates": lambda id: len(trace.templates_of(id)),
        "tested": tested,
    }
    requirements = list(trace.requirements.values())
    return environment.get_template(_TEMPLATE).render(
        base=BASE_DOCUMENTS,
        catalogue=catalogue_version(),
        documents=documents(),
        families=families(),
        requirements=requirements,
        trace=trace,
        untested=[one for one in requirements if one.untested],
    )


def _source(document: Document) -> str:
    """Return which text of the document was read."""
    at = f"commit `{document.commit}`" if document.commit else str(document.date)
    return at + (f", SHA-256 `{document.sha256}`" if document.sha256 else "")


def _template(trace: Trace, template: str, requirement: Requirement) -> str:
    grades = sorted({case.grade for case in trace.templates[template]} - {_graded(requirement)})
    note = f" ({', '.join(grades)})" if grades else ""
    file = trace.case_files.get(template)
    where = f"../cases/{file}" if file else "authoring-cases.md"  # it describes generated requests
    return f"[{template}]({where}){note}"


def _graded(requirement: Requirement) -> str:
    """Return the level of a requirement with what a failure at it blocks."""
    blocks = requirement.blocks if requirement.level == "MUST" else None
    return grade(requirement.level, blocks)


def _place(at: str | Citation) -> str:
    """Where an erratum is."""
    if isinstance(at, str):
        return _statement(at)
    return f"[{at.document}, {at.section}, paragraph {at.paragraph}]({link(at)})"


def _statement(name: str) -> str:
    return f"[{name}](#{_anchor(name)})"


def _requirement(id: str) -> str:
    return f"[{id}](#{id.lower()})"


def _anchor(name: str) -> str:
    return name.replace("/", "-").replace(".", "-")


def _cell(value: Any) -> Any:
    """Text on one line that ends no cell of a table."""
    return " ".join(value.split()).replace("|", "\\|") if isinstance(value, str) else value
