"""How a server, or a client, changed from version to version, requirement by requirement. Pure.

What a report found is kept without its bytes, so that many reports fit into memory at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from v2_conformance.report.diff import ChangeKind, kind_of_change
from v2_conformance.report.document import Report
from v2_conformance.suite.outcomes import FAILED, Outcome
from v2_conformance.suite.requirements import LEVELS, Level
from v2_conformance.terminal_safe_text import short

_NOT_SHOWN = frozenset({Outcome.NOT_RUN, Outcome.INCONCLUSIVE})
_LONGEST_VERSION = 100
_TITLE = 120
_NUMBERED = re.compile("[vV]?[0-9]")
_PARTS = re.compile(r"[0-9]+|[^0-9.+_-]+")
_EARLY = frozenset({"a", "alpha", "b", "beta", "c", "dev", "pre", "preview", "rc", "snapshot"})
_END = (1, 0, "")
"""Between what is earlier than a version, such as 1.0rc1, and what is later, such as 1.0.1."""


@dataclass(frozen=True)
class CaseFinding:
    """The result of a case; `content` is the digest of what it sends and expects."""

    requirement: str
    level: Level
    outcome: Outcome
    content: str


@dataclass(frozen=True)
class Findings:
    """The results of a report: its cases by id, and the titles of its requirements."""

    version: str
    profiles: tuple[str, ...]
    cases: Mapping[str, CaseFinding]
    titles: Mapping[str, str]
    what: str
    name: str

    @property
    def key(self) -> tuple[str, str]:
        """The same for all versions of a server, or of a client."""
        return self.what, self.name


@dataclass(frozen=True)
class LevelTally:
    """How many requirements have cases of a level; how many of them fail one, and how many fail
    none but have one of which nothing was shown, such as one that did not run."""

    level: Level
    failing: int
    not_shown: int
    all: int

    @property
    def passing(self) -> int:
        """The number that pass all."""
        return self.all - self.failing - self.not_shown


@dataclass(frozen=True)
class RequirementTrend:
    """A requirement that is better or worse in the newer version: the number of its cases that are,
    out of those that both reports have, and the strictest level of these."""

    id: str
    title: str
    level: Level
    cases: int
    of: int


@dataclass(frozen=True)
class Step:
    """The changes from one version to the next.

    A requirement can be in both `better` and `worse`, by different cases. `other_cases` counts the
    cases that send or expect something else in the two reports, which are not compared.
    """

    before: str
    after: str
    better: tuple[RequirementTrend, ...]
    worse: tuple[RequirementTrend, ...]
    other_cases: int
    profiles: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def profiles_changed(self) -> bool:
        """True if the two versions claim different profiles."""
        return sorted(self.profiles[0]) != sorted(self.profiles[1])


def findings(report: Report) -> Findings:
    """Return what a report found, without its bytes."""
    return Findings(
        version=report.target.server.version,
        profiles=report.target.profiles,
        cases={
            case.id: CaseFinding(case.requirement, case.level, case.outcome, case.content)
            for case in report.cases
        },
        titles={row.id: short(row.title, _TITLE) for row in report.requirements},
        what=report.target.what,
        name=report.target.server.name,
    )


def tallies(findings: Findings) -> list[LevelTally]:
    """Return how many requirements pass and fail at each level that has any."""
    outcomes: dict[Level, dict[str, set[Outcome]]] = {}
    for case in findings.cases.values():
        if case.outcome is Outcome.PASS or case.outcome in FAILED | _NOT_SHOWN:
            of_level = outcomes.setdefault(case.level, {})
            of_level.setdefault(case.requirement, set()).add(case.outcome)
    return [_tally(level, outcomes[level]) for level in LEVELS if level in outcomes]


def _tally(level: Level, outcomes: Mapping[str, set[Outcome]]) -> LevelTally:
    failing = {id for id, result in outcomes.items() if result & FAILED}
    not_shown = {id for id, result in outcomes.items() if result & _NOT_SHOWN} - failing
    return LevelTally(level, len(failing), len(not_shown), len(outcomes))


def steps(versions: Sequence[Findings]) -> list[Step]:
    """Return what changed between neighbors of `versions`, which are in order."""
    return [_step(before, after) for before, after in pairwise(versions)]


def version_order(version: str) -> tuple[object, ...]:
    """The key that puts versions in order: by their numbers and words, where 1.0rc1 is before 1.0.
    Those that do not begin with a number come last."""
    text = version[:_LONGEST_VERSION]
    numbered = _NUMBERED.match(text) is not None
    parts = _PARTS.findall(text.lower().removeprefix("v") if numbered else text)
    keys = [_part_order(part, early=numbered and part in _EARLY) for part in parts]
    return not numbered, [*keys, _END], text


def _part_order(part: str, *, early: bool) -> tuple[int, int, str]:
    if part.isdecimal():
        return 2, int(part), ""
    return 0 if early else 3, 0, part


def _step(before: Findings, after: Findings) -> Step:
    better: dict[str, list[CaseFinding]] = {}
    worse: dict[str, list[CaseFinding]] = {}
    compared: dict[str, int] = {}
    other = 0
    for case_id, now in after.cases.items():
        was = before.cases.get(case_id)
        if was is None:
            continue
        if was.content != now.content:
            other += 1
            continue
        compared[now.requirement] = compared.get(now.requirement, 0) + 1
        kind = kind_of_change(was.outcome, now.outcome)
        if kind is ChangeKind.FIXED:
            better.setdefault(now.requirement, []).append(was)
        elif kind is ChangeKind.BROKEN:
            worse.setdefault(now.requirement, []).append(now)

    def listed(changed: Mapping[str, list[CaseFinding]]) -> tuple[RequirementTrend, ...]:
        return tuple(
            _sorted(_trend(after, name, compared[name], changed[name]) for name in changed)
        )

    return Step(
        before.version,
        after.version,
        listed(better),
        listed(worse),
        other,
        (before.profiles, after.profiles),
    )


def _trend(
    after: Findings, requirement: str, compared: int, cases: Sequence[CaseFinding]
) -> RequirementTrend:
    level = min((case.level for case in cases), key=LEVELS.index)
    title = after.titles.get(requirement, "")
    return RequirementTrend(requirement, title, level, len(cases), compared)


def _sorted(trends: Iterable[RequirementTrend]) -> list[RequirementTrend]:
    """The strictest level first, otherwise in the order of the report."""
    return sorted(trends, key=lambda trend: LEVELS.index(trend.level))
