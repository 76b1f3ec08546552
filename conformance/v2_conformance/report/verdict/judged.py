"""The result of each requirement by the judged cases of a report: the grade at which it fails, what
that blocks and what it costs. Pure. Every format reads this, and none reads the catalogue.

A requirement can have cases of several levels. One whose MUST cases pass and whose SHOULD cases
fail is a failed SHOULD.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from v2_conformance.report.document import CaseResult, Report, RequirementResult, once
from v2_conformance.report.root_causes import worst_harm
from v2_conformance.report.verdict.standing import is_whole
from v2_conformance.report.verdict.summary import amount
from v2_conformance.suite.outcomes import FAILED, Harm, Outcome
from v2_conformance.suite.requirements import BLOCKS, LEVELS, Blocks, Level


@dataclass(frozen=True)
class FailedMust:
    """A MUST requirement that failed: what that blocks, and what its user loses."""

    id: str
    blocks: Blocks
    harm: Harm | None


def levels_of(report: Report) -> Iterator[tuple[RequirementResult, ...]]:
    """Yield the rows of each requirement: one for each level of its cases, the strictest first."""
    by_level: dict[tuple[str, Level], list[CaseResult]] = {}
    for case in report.cases:
        by_level.setdefault((case.requirement, case.level), []).append(case)
    for row in report.requirements:
        rows = (
            row if level == row.level else _at(row, level, by_level[row.id, level])
            for level in LEVELS
            if level == row.level or (row.id, level) in by_level
        )
        yield tuple(rows)


def _at(row: RequirementResult, level: Level, cases: Sequence[CaseResult]) -> RequirementResult:
    blocks, outcome = amount(cases)
    counts = Counter(case.outcome for case in cases)
    return replace(row, level=level, blocks=blocks, outcome=outcome, cases=dict(counts))


def by_level(report: Report) -> tuple[RequirementResult, ...]:
    """Return a row for each requirement and level, to be counted."""
    return tuple(row for rows in levels_of(report) for row in rows)


def judged(report: Report) -> tuple[RequirementResult, ...]:
    """Return a row for each requirement, at the strictest level at which it does not hold."""
    shown = []
    for row, rows in zip(report.requirements, levels_of(report), strict=True):
        worst = next((one for one in rows if not one.outcome.harmless), row)
        shown.append(replace(worst, cases=row.cases))
    return tuple(shown)


@once
def failed_musts(report: Report) -> list[FailedMust]:
    """Return the MUST requirements that failed, in the order of the report. A server that leaves
    the extension out has none: its verdict says it all."""
    if not report.verdict.implemented:
        return []
    failed: dict[tuple[str, Blocks], list[CaseResult]] = {}
    for case in report.of(*FAILED):
        if case.blocks is not None:
            failed.setdefault((case.requirement, case.blocks), []).append(case)
    musts = []
    for row in report.requirements:
        blocks = next((blocks for blocks in BLOCKS if (row.id, blocks) in failed), None)
        if blocks is not None:
            musts.append(FailedMust(row.id, blocks, worst_harm(failed[row.id, blocks])))
    return musts


@dataclass(frozen=True)
class Gate:
    """The verdict that a run must have. A `strict` gate requires *robust*, and no warnings."""

    require: Blocks = "conformant"
    strict: bool = False

    @property
    def required(self) -> Blocks:
        """The verdict that opens it."""
        return "robust" if self.strict else self.require

    def counts(self, case: CaseResult) -> bool:
        """Return True if a failure of this case keeps it shut."""
        if case.blocks is None:
            return self.strict and case.level == "SHOULD"
        return case.blocks == "conformant" or self.required == "robust"

    def is_open_for(self, report: Report) -> bool:
        """Return True if the report shows what is required. A part of the suite, or cases of one's
        own, have no verdict: one has to pass, and none that counts may have failed.
        """
        if report.relations is not None and report.target.absent:  # a model that was named
            return False
        if not is_whole(report):
            bad = (case for case in report.cases if not case.outcome.harmless)
            return any(report.of(Outcome.PASS, Outcome.DISPUTED)) and not any(map(self.counts, bad))
        verdict = report.verdict
        if self.strict and verdict.warnings:
            return False
        return verdict.good and (verdict.robust or self.required == "conformant")
