"""Requirements by family and level: the table that pages show as a map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from v2_conformance.formats.outcomes_shown import LOOKS, TO_LOOK_AT
from v2_conformance.report.document import RequirementResult
from v2_conformance.report.verdict.summary import WORST_FIRST
from v2_conformance.suite.outcomes import FAILED, Outcome
from v2_conformance.suite.requirements import GRADES, LEVELS, Level, families

_HOT = 4  # the shade of the strictest grade


class HeatCell(NamedTuple):
    """The requirements of one family and level, by outcome; at least one.

    `shade` is the gravity of what fails: 0 for nothing, 1 for MAY, 2 for SHOULD, 3 for a MUST that
    blocks robust, 4 for one that blocks conformant.
    """

    counts: Mapping[Outcome, int]
    shade: int = 0

    @property
    def worst(self) -> Outcome:
        """The outcome that all of them together have, as a requirement has that of its cases."""
        return next(outcome for outcome in WORST_FIRST if outcome in self.counts)

    @property
    def text(self) -> str:
        """The text of the cell: a sign, and a number or how many of how many."""
        number, total = self.counts[self.worst], sum(self.counts.values())
        of = "" if number == total else f"/{total}"
        return f"{LOOKS[self.worst].sign} {number}{of}"

    @property
    def words(self) -> str:
        """All of it in words, the worst first."""
        named = (outcome for outcome in TO_LOOK_AT if outcome in self.counts)
        return ", ".join(f"{self.counts[outcome]} {LOOKS[outcome].label}" for outcome in named)


class HeatRow(NamedTuple):
    """A family; `cells` has one for each of `LEVELS`, None if it has no such requirement."""

    family: str
    title: str
    cells: Sequence[HeatCell | None]


def by_grade(rows: Sequence[RequirementResult]) -> dict[str, Counter[Outcome]]:
    """Return for each grade that some requirement has how many have which outcome."""
    counts = {one: Counter(row.outcome for row in rows if row.grade == one) for one in GRADES}
    return {grade: outcomes for grade, outcomes in counts.items() if outcomes}


def heat(requirements: Iterable[RequirementResult]) -> list[HeatRow]:
    """Return a row for each family with requirements, in the catalogue's order, unknown ones last;
    `judged.by_level` has the `requirements`."""
    groups: dict[str, list[RequirementResult]] = {letter: [] for letter in families()}
    for row in requirements:
        groups.setdefault(row.id[:1], []).append(row)
    return [
        HeatRow(letter, families().get(letter, "Other"), [_cell(rows, level) for level in LEVELS])
        for letter, rows in groups.items()
        if rows
    ]


def _cell(rows: Sequence[RequirementResult], level: Level) -> HeatCell | None:
    there = [row for row in rows if row.level == level]
    failed = [GRADES.index(row.grade) for row in there if row.outcome in FAILED]
    shade = max(_HOT - min(failed), 1) if failed else 0
    return HeatCell(Counter(row.outcome for row in there), shade) if there else None
