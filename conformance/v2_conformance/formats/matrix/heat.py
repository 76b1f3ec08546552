"""The heat map: how many requirements fail, by family, server and level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from v2_conformance.formats.matrix.columns import Column
from v2_conformance.suite.outcomes import FAILED, Outcome
from v2_conformance.suite.requirements import LEVELS, families

_STEPS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
_ANSWERED = FAILED | {Outcome.PASS}
SHOWN = tuple(level for level in LEVELS if level != "DISPUTED")
"""The levels that it has."""


@dataclass(frozen=True)
class HeatCell:
    """How many requirements of a family fail at a level, of those that came to an end. `heat` is
    "none" if none did, 0 if none fails, otherwise 1 to 4."""

    level: str
    label: str
    number: int
    failing: int
    tested: int
    heat: str


@dataclass(frozen=True)
class HeatRow:
    """A family, with a cell for each level of each column."""

    letter: str
    title: str
    cells: tuple[HeatCell, ...]


def heat_map(columns: Sequence[Column]) -> list[HeatRow]:
    """A row for each family of which some report has a requirement."""
    titles = families()
    there = {name[:1] for column in columns for name in column.requirements}
    letters = [*(letter for letter in titles if letter in there), *sorted(there - set(titles))]
    return [
        HeatRow(
            letter,
            titles.get(letter, "Other"),
            tuple(
                _cell(letter, level, number, column)
                for number, column in enumerate(columns)
                for level in SHOWN
            ),
        )
        for letter in letters
    ]


def _cell(letter: str, level: str, number: int, column: Column) -> HeatCell:
    outcomes = [
        row.outcome
        for row in column.requirements.values()
        if row.id[:1] == letter and row.level == level and row.outcome in _ANSWERED
    ]
    failing = sum(outcome in FAILED for outcome in outcomes)
    heat = "none"
    if outcomes:
        share = Fraction(failing, len(outcomes))
        heat = str(sum(share > step for step in _STEPS) + 1 if failing else 0)
    return HeatCell(level, column.label, number, failing, len(outcomes), heat)
