"""The matrix: one self-contained page, requirements by servers, made from reports alone.

Reports of different servers, of one server twice, of other profiles or of another catalogue may
stand side by side: a cell says only what its own report has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from jinja2 import Template

from v2_conformance.formats.outcomes_shown import LOOKS
from v2_conformance.formats.templates import environment, requirement_anchor
from v2_conformance.report.document import NOT_IMPLEMENTED
from v2_conformance.suite.outcomes import FAILED, Outcome
from v2_conformance.suite.requirements import BLOCKS, LEVELS, Blocks, families
from v2_conformance.terminal_safe_text import short
from v2_publishing.matrix.columns import Column
from v2_publishing.matrix.folds import Fold, folds
from v2_publishing.matrix.heat import SHOWN, heat_map
from v2_publishing.matrix.trends import trends

_NUMBERED = re.compile(r"([A-Za-z]+)([0-9]{1,9})")
_LONG = 600
_LEFT_OUT = "not implemented"


@dataclass(frozen=True)
class Cell:
    """Result of a requirement in one server's report; `tone` is the outcome whose color it has.

    `level` is that of a failure, which its form shows, `show_level` whether to name it, `blocks`
    what the failure blocks, "" for nothing, and `roots` are the requirements by whose failure it
    fails.
    """

    tone: Outcome
    sign: str
    word: str
    detail: str
    level: str
    href: str
    show_level: bool = False
    blocks: str = ""
    roots: tuple[str, ...] = ()


@dataclass(frozen=True)
class MatrixRow:
    """A requirement. `levels` are those at which it is shown in some report, `all_levels` those of
    its cases, and `stated_otherwise` the servers whose report states it in other words. `failing`
    has the numbers of the columns in which it fails, alone and with each level: `0 0-SHOULD`."""

    id: str
    levels: Sequence[str]
    all_levels: Sequence[str]
    failing: Sequence[str]
    blocks: Sequence[Blocks]
    title: str
    statement: str
    stated_otherwise: Sequence[str]
    cells: Sequence[Cell]

    @property
    def differs(self) -> bool:
        """True if the servers that have the extension differ in it."""
        return len({cell.word for cell in self.cells} - {_LEFT_OUT}) > 1

    @property
    def holds(self) -> bool:
        """True if every server that claims it passes, or does what is disputed."""
        right = {Outcome.PASS, Outcome.UNSUPPORTED, Outcome.DISPUTED}
        return {cell.tone for cell in self.cells if cell.word != _LEFT_OUT} <= right


@dataclass(frozen=True)
class ShownFold:
    """A fold with its rows, and a number that names it on the page."""

    number: int
    fold: Fold
    rows: Sequence[MatrixRow]


def render(placed: Sequence[tuple[str, Column]], *, kind: str = "", other: str = "") -> str:
    """The page for servers, each with the place of its report, which tells namesakes apart.

    `kind` is what the columns are, "" to find out, and `other` the URL of another such page.
    """
    columns = _distinct(placed)
    catalogues = Counter(column.catalogue for column in columns)
    usual = next((name for name, _ in catalogues.most_common(1)), "")
    columns = [replace(c, other_catalogue=c.catalogue != usual) for c in columns]
    rows = {requirement: _row(requirement, columns) for requirement in _in_order(columns)}
    folded = [
        ShownFold(number, fold, [rows[name] for name in fold.requirements])
        for number, fold in enumerate(folds(list(rows), columns))
    ]
    inside = {row.id for one in folded for row in one.rows}
    kinds = {column.what for column in columns}
    return _template().render(
        columns=columns,
        what=kind or (kinds.pop() if len(kinds) == 1 else "implementation"),
        other=other,
        catalogues=len(catalogues),
        same_suite=len({column.suite for column in columns}) == 1,
        families=_families([row for row in rows.values() if row.id not in inside]),
        folds=folded,
        heat=heat_map(columns),
        heat_levels=SHOWN,
        trends=trends(columns),
        total=len(rows),
        differing=sum(row.differs for row in rows.values()),
        levels=[level for level in LEVELS if any(level in row.levels for row in rows.values())],
        anchor=requirement_anchor,
    )


def _distinct(placed: Sequence[tuple[str, Column]]) -> list[Column]:
    """Label servers of one name also by their files, and those of the same file by a number."""
    names = Counter(column.name for _, column in placed)
    seen: Counter[str] = Counter()
    columns = []
    for place, column in placed:
        label = column.name
        if names[column.name] > 1:
            label = f"{column.name} ({place})"
        seen[label] += 1
        label += f" #{seen[label]}" if seen[label] > 1 else ""
        columns.append(replace(column, label=label))
    return columns


def _in_order(columns: Sequence[Column]) -> list[str]:
    """Every requirement that a report has: by family in the catalogue's order, then by number."""
    order = list(families())

    def place(requirement: str) -> tuple[int, int, str]:
        family = order.index(requirement[:1]) if requirement[:1] in order else len(order)
        match = _NUMBERED.fullmatch(requirement)
        return family, int(match[2]) if match else 0, requirement

    return sorted({name for column in columns for name in column.requirements}, key=place)


def _row(requirement: str, columns: Sequence[Column]) -> MatrixRow:
    having = [column for column in columns if requirement in column.requirements]
    entries = [column.requirements[requirement] for column in having]
    levels = sorted({entry.level for entry in entries}, key=LEVELS.index)
    catalogues = {column.catalogue for column in having}
    at_levels = [
        (number, row)
        for number, column in enumerate(columns)
        for row in column.by_level
        if row.id == requirement
    ]
    cells = [_cell(requirement, column, catalogues, len(levels) > 1) for column in columns]
    failed = [(n, r.level) for n, r in at_levels if cells[n].tone in FAILED and r.outcome in FAILED]
    stated = next((entry for entry in entries if entry.statement), entries[0])
    return MatrixRow(
        id=requirement,
        levels=levels,
        all_levels=sorted({row.level for _, row in at_levels}, key=LEVELS.index),
        failing=list(dict.fromkeys(w for n, level in failed for w in (f"{n}", f"{n}-{level}"))),
        blocks=[blocks for blocks in BLOCKS if any(one.blocks == blocks for one in entries)],
        title=short(stated.title, _LONG),
        statement=short(stated.statement, _LONG),
        stated_otherwise=[
            column.label
            for column in having
            if column.requirements[requirement].statement != stated.statement
        ],
        cells=cells,
    )


def _cell(requirement: str, column: Column, having: set[str], show_level: bool) -> Cell:
    entry = column.requirements.get(requirement)
    if entry is None:
        # The same catalogue leaves a requirement out only if its profile is not claimed.
        word = "not claimed" if column.catalogue in having else "not in this report"
        return Cell(Outcome.UNSUPPORTED, LOOKS[Outcome.UNSUPPORTED].sign, word, "", "", "")
    href = f"{column.page}#{requirement_anchor(requirement)}" if column.page else ""
    standing = column.standing
    if standing.words == NOT_IMPLEMENTED:
        return Cell(standing.tone, standing.sign, _LEFT_OUT, "", entry.level, href)
    outcome, left = entry.outcome, column.left.get(requirement, 0)
    ran = sum(entry.cases.values())
    tone, sign, word, detail = outcome, LOOKS[outcome].sign, LOOKS[outcome].label, ""
    if outcome is not Outcome.PASS and ran:
        detail = f"{entry.cases.get(outcome, 0)} of {ran}"
    if left and ran:
        detail = f"{ran} of {ran + left} ran"
        if outcome is Outcome.PASS:
            tone, sign, word = Outcome.NOT_RUN, "◐", "pass so far"
    return Cell(
        tone,
        sign,
        word,
        detail,
        entry.level,
        href,
        show_level,
        (entry.blocks or "") if tone in FAILED else "",
        column.explained.get(requirement, ()) if tone in FAILED else (),
    )


def _families(rows: Sequence[MatrixRow]) -> list[tuple[str, str, list[MatrixRow]]]:
    groups: dict[str, list[MatrixRow]] = {}
    for row in rows:
        groups.setdefault(row.id[:1], []).append(row)
    titles = families()
    return [(letter, titles.get(letter, "Other"), group) for letter, group in groups.items()]


@cache
def _template() -> Template:
    return environment(Path(__file__).parent, "matrix").get_template("matrix.html.j2")
