"""The links between statements, requirements, cases and faults."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tools import ROOT
from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.suite.cases import Case
from v2_conformance.suite.library import every_case
from v2_conformance.suite.requirements import Citation, Requirement, catalogue
from v2_conformance.suite.statements import (
    DocumentSection,
    Erratum,
    Statement,
    base_sentences,
    errata,
    sections,
)
from v2_conformance.suite.variations import variations
from v2_conformance.yaml_files import read_yaml
from v2_mutants.client_faults import CLIENT_FAULTS
from v2_mutants.faults import FAULTS

# Documents that requirements cite but that do not describe the extension.
BASE_DOCUMENTS = ("oip", "rfc9110", "rfc9112", "rfc8259", "rfc1950", "rfc1952")


@dataclass(frozen=True)
class Trace:
    """Everything that is linked.

    `base` are the places in the base documents whose words are known. `faults` maps the name of a
    fault to the requirement it breaks, `variations` the name of a variation to what it cites, and
    `case_files` the id of a case template to the name of its file.
    """

    sections: Sequence[DocumentSection]
    errata: Sequence[Erratum]
    base: Collection[Citation]
    requirements: Mapping[str, Requirement]
    cases: Sequence[Case]
    faults: Mapping[str, str]
    variations: Mapping[str, Citation] = field(default_factory=dict)
    case_files: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def statements(self) -> dict[str, Statement]:
        """Every statement by its name."""
        return {item.name: item for section in self.sections for item in section.statements}

    @cached_property
    def templates(self) -> dict[str, list[Case]]:
        """The cases of each case template, by the template's id."""
        found: dict[str, list[Case]] = {}
        for case in self.cases:
            found.setdefault(case.template, []).append(case)
        return found

    def templates_of(self, requirement: str) -> list[str]:
        """The ids of the case templates that test `requirement`."""
        return [id for id, cases in self.templates.items() if cases[0].requirement == requirement]

    def faults_of(self, requirement: str) -> list[str]:
        """The names of the faults that break `requirement`."""
        return [name for name, breaks in self.faults.items() if breaks == requirement]

    def statements_of(self, requirement: str) -> list[Statement]:
        """The statements on which `requirement` rests."""
        return [item for item in self.statements.values() if requirement in item.requirements]

    def citations(self) -> Iterator[tuple[str, Citation]]:
        """Yield every citation, and who cites: a requirement, a variation or an erratum."""
        for requirement in self.requirements.values():
            yield from ((requirement.id, cited) for cited in requirement.cite)
        yield from self.variations.items()
        for erratum in self.errata:
            yield from (("an erratum", at) for at in erratum.where if isinstance(at, Citation))

    def level(self, case: Case) -> str:
        """The level of a case for a server that claims every profile."""
        requirement = self.requirements.get(case.requirement)
        if requirement is None or case.level != requirement.level:
            return case.level
        return requirement.level_for(SERVER_PROFILES)


def suite_trace() -> Trace:
    """The suite's own statements, requirements, cases and faults."""
    return Trace(
        sections(),
        errata(),
        base_sentences(),
        catalogue(),
        every_case(),
        {fault.name: fault.requirement for fault in FAULTS.values()}
        | {fault.name: fault.requirement for fault in CLIENT_FAULTS.values()},
        {one.name: one.cite for one in variations().values()},
        _case_files(),
    )


def _case_files() -> dict[str, str]:
    cases = ROOT / "cases"
    return {
        entry["id"]: path.relative_to(cases).as_posix()
        for path in sorted(cases.rglob("*.yaml"))
        for entry in _entries(read_yaml(path, CaseFileError).document)
    }


def _entries(document: Mapping[str, Any]) -> list[Any]:
    return [*document.get("cases", ()), *document.get("scenarios", ())]
