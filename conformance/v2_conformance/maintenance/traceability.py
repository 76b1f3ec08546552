"""Statements → requirements → cases → faults: what is missing, and all of it as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import yaml

from v2_conformance.maintenance.statements import Erratum, Section, Statement, errata, sections
from v2_conformance.resources import YAML_LOADER, folder
from v2_conformance.suite.cases import Case
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.requirements import PROFILES, Requirement, catalogue, documents, families

# Documents that requirements cite without being documents of the extension.
_BASE = ("oip", "rfc9110", "rfc9112", "rfc8259")


@dataclass(frozen=True)
class Trace:
    """Everything that is linked. `faults` maps the name of a fault to the requirement it breaks."""

    sections: Sequence[Section]
    errata: Sequence[Erratum]
    requirements: Mapping[str, Requirement]
    cases: Sequence[Case]
    faults: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    """The case file of each template."""

    @cached_property
    def statements(self) -> dict[str, Statement]:
        """Every statement by its name."""
        return {item.name: item for section in self.sections for item in section.statements}

    @cached_property
    def templates(self) -> dict[str, list[Case]]:
        """The cases of each entry of the case files, by the entry's id."""
        found: dict[str, list[Case]] = {}
        for case in self.cases:
            found.setdefault(case.id.partition("[")[0], []).append(case)
        return found

    def templates_of(self, requirement: str) -> list[str]:
        """The ids of the entries that test `requirement`."""
        return [id for id, cases in self.templates.items() if cases[0].requirement == requirement]

    def faults_of(self, requirement: str) -> list[str]:
        """The names of the faults that break `requirement`."""
        return [name for name, breaks in self.faults.items() if breaks == requirement]

    def statements_of(self, requirement: str) -> list[Statement]:
        """The statements on which `requirement` rests."""
        return [item for item in self.statements.values() if requirement in item.requirements]

    def level(self, case: Case) -> str:
        """The level of a case for a server that claims every profile."""
        requirement = self.requirements.get(case.requirement)
        if requirement is None or case.level != requirement.level:
            return case.level
        return requirement.level_for(PROFILES)


def trace() -> Trace:
    """The suite's own statements, requirements, cases and faults."""
    from v2_conformance.reference.faults import FAULTS

    return Trace(
        sections(),
        errata(),
        catalogue(),
        suite_cases(large=True),
        {fault.name: fault.requirement for fault in FAULTS.values()},
        _files(),
    )


def _files() -> dict[str, str]:
    found = {}
    for path in sorted(folder("cases").glob("*.yaml")):
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=YAML_LOADER)
        for entry in document.get("cases", ()):
            found[entry["id"]] = path.name
    return found


def gaps(links: Trace | None = None) -> list[str]:
    """Every hole in the links (default: the suite's own), each in one line; none is the aim."""
    links = links or trace()
    return [
        *_without_cases(links),
        *_without_faults(links),
        *_unknown(links),
        *_unread(links),
        *_unsupported(links),
    ]


def _without_cases(links: Trace) -> Iterator[str]:
    for requirement in links.requirements.values():
        cases = links.templates_of(requirement.id)
        if not cases and not requirement.untested:
            yield f"{requirement.id} has no case, and no reason why not (`untested`)"
        if cases and requirement.untested:
            yield f"{requirement.id} has cases ({cases[0]}), but also a reason for having none"


def _without_faults(links: Trace) -> Iterator[str]:
    for template, cases in links.templates.items():
        requirement = cases[0].requirement
        must = any(links.level(case) == "MUST" for case in cases)
        if must and not links.faults_of(requirement):
            yield f"{template} is a MUST case, but no fault breaks {requirement}"


def _unknown(links: Trace) -> Iterator[str]:
    """What points at something that is not there."""
    for template, cases in links.templates.items():
        for requirement in sorted({case.requirement for case in cases} - set(links.requirements)):
            yield f"{template} is a case of {requirement}, which is not a requirement"
    for name, requirement in links.faults.items():
        if requirement not in links.requirements:
            yield f"the fault {name} breaks {requirement}, which is not a requirement"
    for statement in links.statements.values():
        for requirement in statement.requirements:
            if requirement not in links.requirements:
                yield f"{statement.name} names {requirement}, which is not a requirement"
    for erratum in links.errata:
        for at in erratum.where:
            if isinstance(at, str) and at not in links.statements:
                yield f"an erratum names {at}, which is not a statement"


def _unread(links: Trace) -> Iterator[str]:
    """Statements that lead nowhere, and paragraphs without a statement."""
    for statement in links.statements.values():
        if not statement.requirements and not statement.reason:
            yield f"{statement.name} has no requirement, and no reason why not"
        if statement.requirements and statement.reason:
            yield f"{statement.name} has requirements, but also a reason for having none"
    for document in documents():
        if document not in _BASE and all(s.document != document for s in links.sections):
            yield f"{document} has no statements"
    for section in links.sections:
        read = {statement.paragraph for statement in section.statements}
        for paragraph in sorted(set(range(1, section.paragraphs + 1)) - read):
            yield f"{section.document}/{section.key}: paragraph {paragraph} has no statement"
        for paragraph in sorted(read - set(range(1, section.paragraphs + 1))):
            yield (
                f"{section.document}/{section.key} has a statement in paragraph {paragraph} "
                f"of {section.paragraphs}"
            )


def _unsupported(links: Trace) -> Iterator[str]:
    """Requirements that rest on a paragraph of which no statement leads back to them."""
    resting = {
        (section.document, section.title, statement.paragraph, requirement)
        for section in links.sections
        for statement in section.statements
        for requirement in statement.requirements
    }
    for requirement in links.requirements.values():
        for cited in requirement.cite:
            place = (cited.document, cited.section, cited.paragraph, requirement.id)
            if cited.document not in _BASE and place not in resting:
                yield (
                    f"{requirement.id} cites {cited.document}, {cited.section}, paragraph "
                    f"{cited.paragraph}, but no statement of that paragraph names it"
                )
        if requirement.basis == "text" and not links.statements_of(requirement.id):
            yield f"{requirement.id} has the basis text, but no statement names it"


# ---- Markdown

_INTRODUCTION = """\
# Traceability

Generated by `v2-conformance list traceability`; a test compares. From every statement of the five
documents of the extension to the requirements that rest on it, from these to the case templates
(entries of the case files, which axes expand into cases) and to the faults of the reference server
that break them.

| | |
|---|---|"""

_GATES = """\
What has to hold, and is tested:

- Every requirement has a case, or a written reason why it has none; no requirement has both.
- Every case has a requirement.
- Every case template at level MUST has a fault that breaks its requirement. That a case of the
  requirement fails on it is what `v2-conformance selftest` shows.
- Every statement has a requirement or a written reason. Every paragraph of each document has a
  statement, and every paragraph that a requirement cites has one that names the requirement.

Statements are in our own words; `triton/request/8.2` is the second statement in paragraph 8 of the
section with the key `request`. Code and tables do not count as paragraphs: the paragraph that
introduces an example stands for it. Where the documents contradict each other, or are silent, is in
[disputes.md](disputes.md)."""


def render(links: Trace | None = None) -> str:
    """The whole of docs/traceability.md."""
    links = links or trace()
    parts = [
        [_INTRODUCTION, *_counts(links), "", _GATES],
        ["## Documents"],
        *(_document(links, key) for key in dict.fromkeys(s.document for s in links.sections)),
        ["## Requirements"],
        *(_family(links, letter, title) for letter, title in families().items()),
        ["## Requirements without a case", "", *_excuses(links)],
        ["## Errata of the documents", "", *_errata(links)],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _counts(links: Trace) -> Iterator[str]:
    reasons = sum(bool(item.reason) for item in links.statements.values())
    excused = sum(bool(item.untested) for item in links.requirements.values())
    yield f"| statements | {len(links.statements)}, {reasons} of them with a reason instead |"
    yield f"| requirements | {len(links.requirements)}, {excused} of them without a case |"
    yield f"| case templates | {len(links.templates)}, {len(links.cases)} cases |"
    yield f"| faults | {len(links.faults)} |"


def _document(links: Trace, key: str) -> list[str]:
    document = documents()[key]
    lines = [f"### {key}", "", f"[{_cell(document.title)}]({document.url})"]
    for section in links.sections:
        if section.document == key:
            lines += ["", f"**{section.title}**, `{key}/{section.key}`", ""]
            lines += [
                "| ¶ | statement | requirements | case templates | faults |",
                "|---|---|---|---:|---:|",
            ]
            lines += [_row(links, statement) for statement in section.statements]
    return lines


def _row(links: Trace, statement: Statement) -> str:
    at = statement.name.rpartition("/")[2]
    says = statement.says
    if statement.same_as:
        says += f" (as {_statement_link(statement.same_as)})"
    leads = _joined(_requirement_link(id) for id in statement.requirements) or statement.reason
    cases = sum(len(links.templates_of(id)) for id in statement.requirements)
    faults = sum(len(links.faults_of(id)) for id in statement.requirements)
    numbers = [str(cases), str(faults)] if statement.requirements else ["", ""]
    return _table_row([f'<a id="{_anchor(statement.name)}"></a>{at}', says, leads, *numbers])


def _family(links: Trace, letter: str, title: str) -> list[str]:
    lines = [
        f"### {letter}: {title}",
        "",
        "| requirement | level | statements | case templates | faults |",
        "|---|---|---|---|---|",
    ]
    for item in links.requirements.values():
        if item.family == letter:
            name = f'<a id="{item.id.lower()}"></a>**{item.id}** {item.title}'
            raised = [f"{level} in profile {name}" for name, level in item.level_in.items()]
            level = f"{item.level} ({item.basis})" + "".join(f", {text}" for text in raised)
            statements = _joined(_statement_link(s.name) for s in links.statements_of(item.id))
            others = [f"{c.document} {c.section}" for c in item.cite if c.document in _BASE]
            cases = _joined(_case_link(links, id, item) for id in links.templates_of(item.id))
            faults = _joined(f"`{name}`" for name in links.faults_of(item.id))
            lines.append(
                _table_row(
                    [
                        name,
                        level,
                        statements or _joined(dict.fromkeys(others)),
                        cases or "none, [why](#requirements-without-a-case)",
                        faults,
                    ]
                )
            )
    return lines


def _case_link(links: Trace, template: str, requirement: Requirement) -> str:
    levels = sorted({case.level for case in links.templates[template]} - {requirement.level})
    note = f" ({', '.join(levels)})" if levels else ""
    file = links.files.get(template)
    where = f"../cases/{file}" if file else "authoring-cases.md"  # generated, as described there
    return f"[{template}]({where}){note}"


def _excuses(links: Trace) -> Iterator[str]:
    excused = [item for item in links.requirements.values() if item.untested]
    if not excused:
        yield "There is none."
        return
    yield "| requirement | level | reason |"
    yield "|---|---|---|"
    for item in excused:
        yield _table_row([f"{_requirement_link(item.id)} {item.title}", item.level, item.untested])


def _errata(links: Trace) -> Iterator[str]:
    yield "| where | what it says | what is right | evidence |"
    yield "|---|---|---|---|"
    for item in links.errata:
        where = _joined(
            _statement_link(at)
            if isinstance(at, str)
            else f"{at.document}, {at.section}, paragraph {at.paragraph}"
            for at in item.where
        )
        yield _table_row([where, item.says, item.right, item.evidence])


def _statement_link(name: str) -> str:
    return f"[{name}](#{_anchor(name)})"


def _requirement_link(id: str) -> str:
    return f"[{id}](#{id.lower()})"


def _anchor(name: str) -> str:
    return name.replace("/", "-").replace(".", "-")


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(texts)


def _table_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
