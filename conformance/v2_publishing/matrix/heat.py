"""The heat map: how many requirements fail, by family, server and level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from v2_conformance.formats.heat import HeatCell as Counted
from v2_conformance.formats.heat import heat
from v2_conformance.report.document import NOT_IMPLEMENTED
from v2_conformance.suite.outcomes import FAILED, Outcome
from v2_conformance.suite.requirements import LEVELS, Level, families
from v2_publishing.matrix.columns import Column

SHOWN = tuple(level for level in LEVELS if level != "DISPUTED")
"""The levels that it has."""
_NONE: tuple[None, ...] = (None,) * len(LEVELS)


@dataclass(frozen=True)
class HeatCell:
    """Count of a family's failed requirements at a level, of those with a result. `heat` is "none"
    if none did, else the gravity of what fails, 0 to 4.
    """

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
    """A row for each family of which some report has a requirement; a server that leaves the
    extension out has none."""
    judged = [() if c.standing.words == NOT_IMPLEMENTED else c.by_level for c in columns]
    maps = [{row.family: row for row in heat(rows)} for rows in judged]
    titles = {letter: row.title for rows in maps for letter, row in rows.items()}
    letters = [*(letter for letter in families() if letter in titles)]
    letters += sorted(titles.keys() - families().keys())
    return [
        HeatRow(
            letter,
            titles[letter],
            tuple(
                _cell(level, column, number, cell)
                for number, (column, rows) in enumerate(zip(columns, maps, strict=True))
                for level, cell in zip(
                    LEVELS, rows[letter].cells if letter in rows else _NONE, strict=True
                )
                if level in SHOWN
            ),
        )
        for letter in letters
    ]


def _cell(level: Level, column: Column, number: int, of: Counted | None) -> HeatCell:
    counts: Mapping[Outcome, int] = {} if of is None else of.counts
    failing = sum(counts.get(outcome, 0) for outcome in FAILED)
    tested = failing + counts.get(Outcome.PASS, 0)
    shade = str(of.shade) if of is not None and tested else "none"
    return HeatCell(level, column.label, number, failing, tested, shade)
