"""The links between statements, requirements, cases and faults."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tools.traceability.statements import (
    DocumentSection,
    Erratum,
    Statement,
    base_citations,
    errata,
    sections,
)
from v2_conformance.suite.cases import Case
from v2_conformance.suite.library import every_case
from v2_conformance.suite.requirements import Citation, Requirement, catalogue
from v2_conformance.suite.variations import variations
from v2_mutants.client_faults import CLIENT_FAULTS
from v2_mutants.faults import FAULTS

# Documents that requirements cite but that do not describe the extension.
BASE_DOCUMENTS = ("oip", "rfc9110", "rfc9112", "rfc8259", "rfc1950", "rfc1952")


@dataclass(frozen=True)
class Trace:
    """Everything that is linked.

    `base` are the places in the base documents whose words are known. `faults` maps the name of a
    fault to the requirement it breaks, `variations` the name of a variation to what it cites.
    """

    sections: Sequence[DocumentSection]
    errata: Sequence[Erratum]
    base: Collection[Citation]
    requirements: Mapping[str, Requirement]
    cases: Sequence[Case]
    faults: Mapping[str, str]
    variations: Mapping[str, Citation] = field(default_factory=dict)

    @cached_property
    def statements(self) -> dict[str, Statement]:
        """Every statement by its name."""
        return {item.name: item for section in self.sections for item in section.statements}

    @cached_property
    def templates(self) -> dict[str, list[Case]]:
        """The cases of each case template, by the template's id."""
        result: dict[str, list[Case]] = {}
        for case in self.cases:
            result.setdefault(case.template, []).append(case)
        return result

    def templates_of(self, requirement: str) -> list[str]:
        """The ids of the case templates that test `requirement`."""
        return [id for id, cases in self.templates.items() if cases[0].requirement == requirement]

    def faults_of(self, requirement: str) -> list[str]:
        """The names of the faults that break `requirement`."""
        return [name for name, breaks in self.faults.items() if breaks == requirement]


def suite_trace() -> Trace:
    """The suite's own statements, requirements, cases and faults."""
    return Trace(
        sections(),
        errata(),
        base_citations(),
        catalogue(),
        every_case(),
        {fault.name: fault.requirement for fault in FAULTS.values()}
        | {fault.name: fault.requirement for fault in CLIENT_FAULTS.values()},
        {one.name: one.cite for one in variations().values()},
    )
