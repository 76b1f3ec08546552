"""docs/traceability.md: the links between statements and requirements, and errata.

`python -m tools.traceability` writes it, and so does the build of the documentation site.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tools import ROOT
from tools.traceability.links import BASE_DOCUMENTS, Trace, suite_trace
from tools.traceability.statements import link_of
from v2_conformance.suite.requirements import (
    Citation,
    Document,
    catalogue_version,
    documents,
    families,
)
from v2_conformance.suite.statements import link

PAGE = ROOT / "docs" / "traceability.md"
_TEMPLATE = "page.md.j2"


def write_page() -> None:
    """Write the page of the suite."""
    PAGE.write_text(traceability_page(suite_trace()), "utf-8")


def traceability_page(trace: Trace) -> str:
    """Return the whole page, as Markdown."""

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
        "link": link_of,
        "place": _place,
        "requirement": _requirement,
        "source": _source,
        "statement": _statement,
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
