"""The matrix: one self-contained page, requirements by servers, made from reports alone.

Reports of different servers, of one server twice, of other profiles or of another catalogue may
stand side by side: a cell says only what its own report has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

from jinja2 import Template

from v2_conformance.formats.html.page import requirement_anchor
from v2_conformance.formats.outcomes_shown import LOOKS
from v2_conformance.formats.templates import environment
from v2_conformance.report.document import Report, RequirementResult
from v2_conformance.report.standing import Standing, claim, missing, server_name, standing
from v2_conformance.report.visible_text import short
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import LEVELS, families

_NUMBERED = re.compile(r"([A-Za-z]+)([0-9]{1,9})")
_SHORT, _LONG = 60, 600


@dataclass(frozen=True)
class Column:
    """A server, or a client, as `what` says. `page` is the URL of its report.html, "" if there is
    none."""

    label: str
    name: str
    page: str
    standing: Standing
    complete: bool
    profiles: str
    date: str
    suite: str
    catalogue: str
    requirements: Mapping[str, RequirementResult]
    left: Mapping[str, int]
    what: str = "server"
    other_catalogue: bool = False

    @property
    def tally(self) -> str:
        """How many mandatory requirements pass."""
        found = [r for r in self.requirements.values() if r.level == "MUST"]
        whole = [r for r in found if r.outcome is Outcome.PASS and not self.left.get(r.id)]
        return f"{len(whole)} of {len(found)} MUST"


@dataclass(frozen=True)
class Cell:
    """What one server's report says of a requirement; `tone` is the outcome whose color it has."""

    tone: Outcome
    sign: str
    word: str
    detail: str
    level: str
    href: str


@dataclass(frozen=True)
class MatrixRow:
    """A requirement. `level` names every level that it has in some report, and `stated_otherwise`
    the servers whose report states it in other words."""

    id: str
    level: str
    title: str
    statement: str
    stated_otherwise: Sequence[str]
    cells: Sequence[Cell]

    @property
    def differs(self) -> bool:
        """Whether the servers differ in it."""
        return len({cell.word for cell in self.cells}) > 1

    @property
    def holds(self) -> bool:
        """Whether every server that claims it passes."""
        return {cell.tone for cell in self.cells} <= {Outcome.PASS, Outcome.UNSUPPORTED}


def column_of(report: Report, page: str) -> Column:
    """The column of a report, whose page is at the URL `page`."""
    suite = report.suite
    name = server_name(report)
    return Column(
        label=name,
        name=name,
        page=page,
        standing=standing(report),
        complete=report.complete,
        profiles=short(claim(report), _LONG),
        date=_date(report.started),
        suite=short(f"{suite.name} {suite.version}", _SHORT),
        catalogue=short(suite.catalogue, _SHORT),
        requirements={row.id: row for row in report.requirements},
        left=missing(report),
        what=report.target.what,
    )


def render(placed: Sequence[tuple[str, Column]]) -> str:
    """The page for servers, each with the place of its report, which tells namesakes apart."""
    columns = _told_apart(placed)
    catalogues = Counter(column.catalogue for column in columns)
    usual = catalogues.most_common(1)[0][0]
    columns = [replace(c, other_catalogue=c.catalogue != usual) for c in columns]
    rows = [_row(requirement, columns) for requirement in _in_order(columns)]
    kinds = {column.what for column in columns}
    return _template().render(
        columns=columns,
        what=kinds.pop() if len(kinds) == 1 else "implementation",
        catalogues=len(catalogues),
        families=_families(rows),
        total=len(rows),
        differing=sum(row.differs for row in rows),
        anchor=requirement_anchor,
    )


def _told_apart(placed: Sequence[tuple[str, Column]]) -> list[Column]:
    """Servers of one name labelled by their files, too, and the same file by a number."""
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
    stated = next((entry for entry in entries if entry.statement), entries[0])
    catalogues = {column.catalogue for column in having}
    return MatrixRow(
        id=requirement,
        level=" / ".join(levels),
        title=short(stated.title, _LONG),
        statement=short(stated.statement, _LONG),
        stated_otherwise=[
            column.label
            for column in having
            if column.requirements[requirement].statement != stated.statement
        ],
        cells=[_cell(requirement, column, catalogues, len(levels) > 1) for column in columns],
    )


def _cell(requirement: str, column: Column, having: set[str], show_level: bool) -> Cell:
    entry = column.requirements.get(requirement)
    if entry is None:
        # The same catalogue leaves a requirement out only if its profile is not claimed.
        word = "not claimed" if column.catalogue in having else "not in this report"
        return Cell(Outcome.UNSUPPORTED, LOOKS[Outcome.UNSUPPORTED].sign, word, "", "", "")
    outcome, left = entry.outcome, column.left.get(requirement, 0)
    ran = sum(entry.cases.values())
    tone, sign, word = outcome, LOOKS[outcome].sign, LOOKS[outcome].label
    detail = ""
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
        entry.level if show_level else "",
        f"{column.page}#{requirement_anchor(requirement)}" if column.page else "",
    )


def _families(rows: Sequence[MatrixRow]) -> list[tuple[str, str, list[MatrixRow]]]:
    groups: dict[str, list[MatrixRow]] = {}
    for row in rows:
        groups.setdefault(row.id[:1], []).append(row)
    titles = families()
    return [(letter, titles.get(letter, "Other"), group) for letter, group in groups.items()]


def _date(text: str) -> str:
    """The day in UTC; an odd date as it is."""
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return moment.astimezone(timezone.utc).strftime("%Y-%m-%d")
    except (ValueError, OverflowError):
        return short(text, _SHORT)


@cache
def _template() -> Template:
    return environment(Path(__file__).parent, "matrix").get_template("matrix.html.j2")
