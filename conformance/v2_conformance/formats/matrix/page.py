"""The matrix: one self-contained page, requirements by servers, from their report documents alone.

Reports of different servers, of one server twice, of other profiles or of another catalogue may
stand side by side: a cell says only what its own report has.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from jinja2 import Template

from v2_conformance.errors import UsageError
from v2_conformance.formats.html.page import requirement_anchor
from v2_conformance.formats.templates import environment
from v2_conformance.judging.judge import NOT_RUN, PASS, UNSUPPORTED
from v2_conformance.report.recorder import load_report, write_atomically
from v2_conformance.report.standing import (
    SIGNS,
    WORDS,
    Standing,
    missing,
    profiles,
    server_name,
    short,
    standing,
)
from v2_conformance.suite.requirements import LEVELS, families

_NUMBERED = re.compile(r"([A-Za-z]+)([0-9]{1,9})")
_SHORT, _LONG = 60, 600


@dataclass(frozen=True)
class Server:
    """A column. `page` is the URL of the server's report.html, "" where there is none."""

    label: str
    name: str
    page: str
    standing: Standing
    complete: bool
    profiles: str
    date: str
    suite: str
    catalogue: str
    rows: Mapping[str, Mapping[str, Any]]
    left: Mapping[str, int]
    other_catalogue: bool = False

    @property
    def tally(self) -> str:
        """How many mandatory requirements pass."""
        rows = [row for row in self.rows.values() if row["level"] == "MUST"]
        whole = [r for r in rows if r["outcome"] == PASS and not self.left.get(r["id"])]
        return f"{len(whole)} of {len(rows)} MUST"


@dataclass(frozen=True)
class Cell:
    """What one server's report says of a requirement; `tone` is an outcome, for its colour."""

    tone: str
    sign: str
    word: str
    detail: str
    level: str
    href: str


@dataclass(frozen=True)
class Row:
    """A requirement. `level` has every level that it has in some report."""

    id: str
    level: str
    title: str
    statement: str
    other_words: Sequence[str]
    cells: Sequence[Cell]

    @property
    def differs(self) -> bool:
        """Whether the servers do not all fare alike."""
        return len({cell.word for cell in self.cells}) > 1

    @property
    def holds(self) -> bool:
        """Whether every server that claims it passes."""
        return {cell.tone for cell in self.cells} <= {PASS, UNSUPPORTED}


def write_matrix(paths: Sequence[Path], output: Path, link_base: str = "") -> list[str]:
    """Write the page for the reports at `paths`; the lines to print: its path, and what it lacks.

    Links lead to the page beside each report (report.html for report.json), relative to the folder
    of `output`, or below `link_base`. Raises ReportFileError and UsageError.
    """
    if urlsplit(link_base).scheme not in ("", "http", "https"):
        raise UsageError(f"--link-base {link_base!r} is not an http(s) URL or a path")
    if output.resolve() in {path.resolve() for path in paths}:
        raise UsageError(f"{output} is one of the reports; name another --output")
    servers, notes = [], []
    for path in paths:
        page = path.with_suffix(".html")
        if not page.exists():
            notes.append(f"no links to {page}, which is not there; `report {path}` makes it")
        beside = Path(os.path.relpath(page, output.parent)).as_posix()
        link = quote(beside) if page.exists() else ""
        if link and link_base:
            link = f"{link_base.rstrip('/')}/{link}"
        place = Path(os.path.relpath(path, output.parent)).as_posix()
        servers.append((place, server(load_report(path), link)))
    write_atomically(output, render(servers))
    return [str(output), *notes]


def server(report: Mapping[str, Any], page: str) -> Server:
    """The column of a report.json document, whose page is at the URL `page`."""
    suite = report["suite"]
    name = server_name(report)
    return Server(
        label=name,
        name=name,
        page=page,
        standing=standing(report),
        complete=report["complete"],
        profiles=short(profiles(report), _LONG),
        date=_date(report["started"]),
        suite=short(f"{suite['name']} {suite['version']}", _SHORT),
        catalogue=short(suite["catalogue"], _SHORT),
        rows={row["id"]: row for row in report["requirements"]},
        left=missing(report),
    )


def render(servers: Sequence[tuple[str, Server]]) -> str:
    """The page for servers, each with the place of its report, which tells namesakes apart."""
    columns = _told_apart(servers)
    catalogues = Counter(column.catalogue for column in columns)
    usual = catalogues.most_common(1)[0][0]
    columns = [replace(c, other_catalogue=c.catalogue != usual) for c in columns]
    rows = [_row(requirement, columns) for requirement in _in_order(columns)]
    return _template().render(
        servers=columns,
        catalogues=len(catalogues),
        families=_families(rows),
        total=len(rows),
        differing=sum(row.differs for row in rows),
        anchor=requirement_anchor,
    )


def _told_apart(servers: Sequence[tuple[str, Server]]) -> list[Server]:
    """Servers of one name labelled by their files, too, and the same file by a number."""
    names = Counter(column.name for _, column in servers)
    seen: Counter[str] = Counter()
    columns = []
    for place, column in servers:
        label = column.name
        if names[column.name] > 1:
            label = f"{column.name} ({place})"
        seen[label] += 1
        label += f" #{seen[label]}" if seen[label] > 1 else ""
        columns.append(replace(column, label=label))
    return columns


def _in_order(columns: Sequence[Server]) -> list[str]:
    """Every requirement that a report has: by family in the catalogue's order, then by number."""
    order = list(families())

    def place(requirement: str) -> tuple[int, int, str]:
        family = order.index(requirement[:1]) if requirement[:1] in order else len(order)
        match = _NUMBERED.fullmatch(requirement)
        return family, int(match[2]) if match else 0, requirement

    return sorted({requirement for column in columns for requirement in column.rows}, key=place)


def _row(requirement: str, columns: Sequence[Server]) -> Row:
    entries = [c.rows[requirement] for c in columns if requirement in c.rows]
    levels = sorted({entry["level"] for entry in entries}, key=LEVELS.index)
    stated = next((entry for entry in entries if entry.get("statement")), entries[0])
    statement = stated.get("statement", "")
    having = {c.catalogue for c in columns if requirement in c.rows}
    return Row(
        id=requirement,
        level=" / ".join(levels),
        title=short(stated.get("title", ""), _LONG),
        statement=short(statement, _LONG),
        other_words=[
            column.label
            for column in columns
            if column.rows.get(requirement, {}).get("statement", statement) != statement
        ],
        cells=[_cell(requirement, column, having, len(levels) > 1) for column in columns],
    )


def _cell(requirement: str, column: Server, having: set[str], show_level: bool) -> Cell:
    entry = column.rows.get(requirement)
    if entry is None:
        # The same catalogue leaves a requirement out only where its profile is not claimed.
        word = "not claimed" if column.catalogue in having else "not in this report"
        return Cell(UNSUPPORTED, SIGNS[UNSUPPORTED], word, "", "", "")
    outcome, counts, left = entry["outcome"], entry["cases"], column.left.get(requirement, 0)
    ran = sum(counts.values())
    tone, sign, word = outcome, SIGNS[outcome], WORDS.get(outcome, outcome)
    detail = f"{counts.get(outcome, 0)} of {ran}" if outcome != PASS and ran else ""
    if left and ran:
        detail = f"{ran} of {ran + left} ran"
        if outcome == PASS:
            tone, sign, word = NOT_RUN, "◐", "pass so far"
    return Cell(
        tone,
        sign,
        word,
        detail,
        entry["level"] if show_level else "",
        f"{column.page}#{requirement_anchor(requirement)}" if column.page else "",
    )


def _families(rows: Sequence[Row]) -> list[tuple[str, str, list[Row]]]:
    groups: dict[str, list[Row]] = {}
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
