"""From the outcomes of cases to those of requirements and to the run's verdict. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from v2_conformance.judging.judge import (
    DISPUTED,
    ERROR,
    FAIL,
    INCONCLUSIVE,
    NOT_RUN,
    PASS,
    UNSUPPORTED,
)
from v2_conformance.suite.requirements import Requirement, catalogue

# The worst outcome among its cases is a requirement's.
_WORST_FIRST = (FAIL, ERROR, INCONCLUSIVE, NOT_RUN, DISPUTED, PASS, UNSUPPORTED)
_HARMLESS = (PASS, UNSUPPORTED, DISPUTED)
_WORDS = {
    FAIL: "failed",
    ERROR: "could not be judged (an error of the suite)",
    INCONCLUSIVE: "was inconclusive",
    NOT_RUN: "did not run",
}


@dataclass(frozen=True)
class CaseOutcome:
    """What the verdict needs to know of one case; `level` and `basis` are the case's own."""

    id: str
    requirement: str
    level: str
    basis: str
    outcome: str


@dataclass(frozen=True)
class RequirementOutcome:
    """One row of the requirement table; `cases` counts outcomes."""

    id: str
    level: str
    basis: str
    outcome: str
    cases: Mapping[str, int]


@dataclass(frozen=True)
class Summary:
    """The run's verdict: `reasons` is what blocks it, `warnings` what does not."""

    conformant: bool
    robust: bool
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    requirements: tuple[RequirementOutcome, ...]
    disputed: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The verdict as people say it."""
        return verdict_words(vars(self))


def verdict_words(verdict: Mapping[str, Any]) -> str:
    """A verdict as people say it: "conformant, robust", "not conformant", …"""
    if not verdict["conformant"]:
        return "not conformant"
    return "conformant, robust" if verdict["robust"] else "conformant, not robust"


def summarise(
    outcomes: Sequence[CaseOutcome], profiles: Collection[str], *, planned: Mapping[str, int]
) -> Summary:
    """The verdict on a run; `planned` counts, for each requirement, the cases of a whole run.

    Cases that did not run, whatever the reason, block what depends on them (design: a MUST that did
    not run is never a pass). A requirement of a profile that is not claimed is left out.
    """
    by_requirement: dict[str, list[CaseOutcome]] = {}
    for outcome in outcomes:
        by_requirement.setdefault(outcome.requirement, []).append(outcome)
    rows = []
    conformant: list[str] = []
    robust: list[str] = []
    warnings: list[str] = []
    for requirement in catalogue().values():
        if requirement.profile not in profiles:
            continue
        cases = by_requirement.get(requirement.id, [])
        level = requirement.level_for(profiles)
        rows.append(_row(requirement, level, cases))
        for reason, case_level in _reasons(requirement.id, level, cases):
            if case_level != "MUST":
                warnings.append(reason)
            else:
                (robust if requirement.basis == "derived" else conformant).append(reason)
    total = sum(planned.values())
    left_out = total - len({outcome.id for outcome in outcomes})
    if left_out > 0:
        conformant.insert(0, f"{left_out} of {total} cases were left out")
    passed = {outcome.level for outcome in outcomes if outcome.outcome == PASS}
    if "MUST" not in passed:
        conformant.insert(0, "no MUST case passed" if passed else "no case passed")
    return Summary(
        conformant=not conformant,
        robust=not conformant and not robust,
        reasons=(*conformant, *robust),
        warnings=tuple(warnings),
        requirements=tuple(rows),
        disputed=tuple(row.id for row in rows if row.outcome == DISPUTED),
    )


def _reasons(requirement: str, level: str, cases: Iterable[CaseOutcome]) -> list[tuple[str, str]]:
    """What is wrong with a requirement, each with the level that it counts at."""
    counts = Counter(
        (level if case.level == level else case.level, case.outcome)
        for case in cases
        if case.outcome not in _HARMLESS
    )
    reasons = []
    for (case_level, outcome), count in sorted(counts.items()):
        if case_level in ("MAY", "DISPUTED") and outcome != ERROR:
            continue
        number = "1 case" if count == 1 else f"{count} cases"
        reasons.append((f"{case_level} {requirement} {_WORDS[outcome]} ({number})", case_level))
    return reasons


def _row(requirement: Requirement, level: str, cases: Sequence[CaseOutcome]) -> RequirementOutcome:
    counts = Counter(case.outcome for case in cases)
    own = {case.outcome for case in cases if case.level == level} or set(counts)
    worst = next((outcome for outcome in _WORST_FIRST if outcome in own), NOT_RUN)
    return RequirementOutcome(requirement.id, level, requirement.basis, worst, dict(counts))


def from_report(report: Mapping[str, Any]) -> list[CaseOutcome]:
    """The case outcomes of a report.json document."""
    return [
        CaseOutcome(c["id"], c["requirement"], c["level"], c["basis"], c["outcome"])
        for c in report["cases"]
    ]
