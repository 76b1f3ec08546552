"""How many requirements of each family hold at each level: the table that pages show as a map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from v2_conformance.formats.outcomes_shown import LOOKS, SKIPPED, WORST_FIRST
from v2_conformance.report.document import RequirementResult
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import LEVELS, Level, families

_WARM = 4  # so many shades have those that do not all hold


@dataclass(frozen=True)
class HeatCell:
    """The requirements of one family and level, by outcome; at least one."""

    counts: Mapping[Outcome, int]

    @property
    def total(self) -> int:
        """The number of requirements."""
        return sum(self.counts.values())

    @property
    def tested(self) -> int:
        """The number that have a result."""
        return self.total - sum(self.counts.get(outcome, 0) for outcome in SKIPPED)

    @property
    def worst(self) -> Outcome:
        """The outcome to look at first; what did not run is no pass."""
        first = next(outcome for outcome in WORST_FIRST if outcome in self.counts)
        open_ones = first is Outcome.PASS and Outcome.NOT_RUN in self.counts
        return Outcome.NOT_RUN if open_ones else first

    @property
    def shade(self) -> int:
        """The share that does not hold, in steps from 0 (nothing) to 4 (everything)."""
        open_ones = self.tested - self.counts.get(Outcome.PASS, 0)
        return -(-_WARM * open_ones // self.tested) if self.tested else 0

    @property
    def text(self) -> str:
        """The text of the cell: a sign, and a number or how many of how many."""
        number = self.counts[self.worst]
        of = "" if number == self.total else f"/{self.total}"
        return f"{LOOKS[self.worst].sign} {number}{of}"

    @property
    def words(self) -> str:
        """All of it in words, the worst first."""
        named = (outcome for outcome in WORST_FIRST if outcome in self.counts)
        return ", ".join(f"{self.counts[outcome]} {LOOKS[outcome].label}" for outcome in named)


@dataclass(frozen=True)
class HeatRow:
    """A family; `cells` has one for each of `LEVELS`, None if it has no such requirement."""

    family: str
    title: str
    cells: tuple[HeatCell | None, ...]

    def counts(self, level: Level) -> Mapping[Outcome, int]:
        """Its requirements of a level, by outcome."""
        cell = self.cells[LEVELS.index(level)]
        return {} if cell is None else cell.counts


def heat(requirements: Iterable[RequirementResult]) -> list[HeatRow]:
    """A row for each family with requirements, in the catalogue's order, unknown ones last."""
    counts: dict[str, dict[Level, Counter[Outcome]]] = {letter: {} for letter in families()}
    for row in requirements:
        of_family = counts.setdefault(row.id[:1], {})
        of_family.setdefault(row.level, Counter())[row.outcome] += 1
    return [
        HeatRow(letter, families().get(letter, "Other"), tuple(map(_cell, map(found.get, LEVELS))))
        for letter, found in counts.items()
        if found
    ]


def _cell(counts: Counter[Outcome] | None) -> HeatCell | None:
    return HeatCell(counts) if counts else None
