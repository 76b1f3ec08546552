"""report.html: one self-contained page, made from the report.json document alone.

Everything in a report may come from a hostile server. The template escapes it all, characters that
hide or reorder text are spelled out, and the page's policy forbids it to load anything and to run
any script but its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Template

from v2_conformance.formats.html.cards import TROUBLES, Replay, cards
from v2_conformance.formats.templates import environment
from v2_conformance.judging.judge import (
    NOT_RUN,
    OUTCOMES,
    UNSUPPORTED,
)
from v2_conformance.report.claims import claims
from v2_conformance.report.fold import clipped, in_bytes, in_milliseconds
from v2_conformance.report.standing import SIGNS, TONES, WORDS
from v2_conformance.report.summary import verdict_words
from v2_conformance.suite.requirements import LEVELS, families

# So few failures are opened from the start.
_OPEN = 3
# So many of a requirement's failures are named beside it.
_TROUBLES = 5
_MAX_WHY = 300

_BASES = {
    "text": "said by the extension's documents",
    "oip": "said by the base protocol",
    "http": "said by HTTP",
    "derived": "derived: said by no document, see why it follows",
}
_EXPLAINED = {
    "conformant, robust": "Every mandatory requirement holds: those that the documents state, and "
    "those that keep a server from computing on bytes that nobody declared.",
    "conformant, not robust": "Every mandatory requirement that the documents state holds. Some "
    "derived ones, which keep a server from computing on undeclared bytes or dying, do not, or "
    "were not shown to.",
    "not conformant": "At least one mandatory requirement does not hold, or was not shown to hold.",
}
_REQUIREMENT_ID = re.compile(r"\b[A-Z][0-9]{1,3}\b")
_UNSAFE = re.compile(r"[^A-Za-z0-9/,:._+=-]")
_KEPT_BRACKETS = {"[": "(", "]": ")"}
_RFC = re.compile(r"https://www\.rfc-editor\.org/rfc/rfc[0-9]+\.html")


def render(report: Mapping[str, Any], replay: Replay | None = None) -> str:
    """The page for a report.json document that its schema accepts.

    `replay` takes the report and a case of it, and returns the command that sends the case again.
    """
    return _template().render(_page(report, replay))


def case_anchor(case_id: str) -> str:
    """The anchor of a case in the page: needs no quoting in a URL, differs for every id."""
    return "case-" + _safe(case_id)


def requirement_anchor(requirement_id: str) -> str:
    """The anchor of a requirement in the page."""
    return "req-" + _safe(requirement_id)


@cache
def _template() -> Template:
    made = environment(Path(__file__).parent, "report")
    made.filters.update(
        symbol=lambda outcome: SIGNS[outcome],
        label=lambda outcome: WORDS.get(outcome, outcome),
        basis=lambda basis: _BASES[basis],
        case_anchor=case_anchor,
        requirement_anchor=requirement_anchor,
        milliseconds=in_milliseconds,
        linked=_linked,
        clipped=clipped,
        bytes=in_bytes,
    )
    return made.get_template("report.html.j2")


def _safe(text: str) -> str:
    def replaced(match: re.Match[str]) -> str:
        char = match[0]
        coded = "".join(f"~{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
        return _KEPT_BRACKETS.get(char, coded)

    return _UNSAFE.sub(replaced, text)


@dataclass(frozen=True)
class _Source:
    """One citation, ready to print; `url` is "" where it is none that a reader should follow."""

    title: str
    url: str
    place: str


@dataclass(frozen=True)
class _Row:
    """A requirement as the report has it, with what the run found."""

    entry: Mapping[str, Any]
    counts: Mapping[str, int]
    sources: Sequence[_Source]
    cases: Sequence[Mapping[str, Any]]

    @property
    def id(self) -> str:
        """The requirement's id."""
        return str(self.entry["id"])

    @property
    def troubles(self) -> list[Mapping[str, Any]]:
        """The cases that need a look."""
        return [case for case in self.cases if case["outcome"] in TROUBLES]


def _page(report: Mapping[str, Any], replay: Replay | None) -> dict[str, Any]:
    cases: Sequence[Mapping[str, Any]] = report["cases"]
    counts = Counter(case["outcome"] for case in cases)
    by_requirement: dict[str, list[Mapping[str, Any]]] = {}
    for case in cases:
        by_requirement.setdefault(case["requirement"], []).append(case)
    rows = [_row(entry, by_requirement.get(entry["id"], [])) for entry in report["requirements"]]
    words = verdict_words(report["verdict"])
    row_outcomes = {row.entry["outcome"] for row in rows}
    sent = cards(report, replay)
    letters = {row.id[:1] for row in rows} | {case["requirement"][:1] for case in cases}
    return {
        "report": report,
        "server": report["target"]["server"],
        "words": words,
        "explained": _EXPLAINED[words],
        "tone": TONES[words][0],
        "sign": TONES[words][1],
        "blocked": "What keeps it from being robust"
        if report["verdict"]["conformant"]
        else "What blocks it",
        "started": _moment(report["started"]),
        "duration": _duration(report["duration_s"]),
        "claims": claims(report),
        "outcomes": [outcome for outcome in OUTCOMES if counts[outcome]],
        "shares": _shares(counts),
        "counts": counts,
        "all_levels": LEVELS,
        "levels": _levels(rows),
        "level_outcomes": [outcome for outcome in OUTCOMES if outcome in row_outcomes],
        "families": _families(rows),
        "letters": [(key, title) for key, title in _titles(letters).items() if key in letters],
        "titles": {row.id: row.entry.get("title", "") for row in rows},
        "troubled": [card for card in sent if not card.passed],
        "passed": [card for card in sent if card.passed],
        "open_cards": _OPEN,
        "most_troubles": _TROUBLES,
        "most_why": _MAX_WHY,
        "left_out": {
            outcome: _grouped(case for case in cases if case["outcome"] == outcome)
            for outcome in (NOT_RUN, UNSUPPORTED)
        },
    }


def _row(entry: Mapping[str, Any], cases: Sequence[Mapping[str, Any]]) -> _Row:
    counts = {outcome: entry["cases"][outcome] for outcome in OUTCOMES if outcome in entry["cases"]}
    return _Row(entry, counts, [_source(cited) for cited in entry.get("cite", ())], cases)


def _source(cited: Mapping[str, Any]) -> _Source:
    url, place = cited["url"], cited["section"]
    if _RFC.fullmatch(url):
        url, place = f"{url}#section-{place}", f"section {place}"
    if cited.get("paragraph") is not None:
        place += f", paragraph {cited['paragraph']}"
    safe = url.startswith(("https://", "http://"))
    return _Source(cited["document"], url if safe else "", place)


def _shares(counts: Counter[str]) -> list[tuple[str, float, float]]:
    """The outcomes as parts of a bar: where each begins and its width, in percent."""
    total = counts.total() or 1
    parts = []
    start = 0.0
    for outcome in OUTCOMES:
        if counts[outcome]:
            width = 100 * counts[outcome] / total
            parts.append((outcome, round(start, 3), round(width, 3)))
            start += width
    return parts


def _levels(rows: Iterable[_Row]) -> list[tuple[str, Counter[str], int]]:
    """For each level its requirements by outcome, and their number."""
    rows = list(rows)
    table = []
    for level in LEVELS:
        counts = Counter(row.entry["outcome"] for row in rows if row.entry["level"] == level)
        if counts:
            table.append((level, counts, counts.total()))
    return table


def _families(rows: Iterable[_Row]) -> list[tuple[str, str, list[_Row]]]:
    """The rows under their families, in the catalogue's order, unknown families last."""
    groups: dict[str, list[_Row]] = {letter: [] for letter in families()}
    for row in rows:
        groups.setdefault(row.id[:1], []).append(row)
    titles = _titles(groups)
    return [(key, titles[key], rows) for key, rows in groups.items() if rows]


def _titles(letters: Iterable[str]) -> dict[str, str]:
    """Every family's title; an unknown one is among the others."""
    known = families()
    return {**known, **{letter: "Other" for letter in sorted(letters) if letter not in known}}


def _grouped(cases: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Cases by message: many of them were not sent for one reason."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for case in cases:
        groups.setdefault(clipped(case["message"]), []).append(case)
    return groups


def _linked(text: str, known: Mapping[str, str]) -> list[tuple[str, str]]:
    """`text` in pieces, each with the requirement that it names, or ""."""
    pieces: list[tuple[str, str]] = []
    at = 0
    for match in _REQUIREMENT_ID.finditer(text):
        if match[0] in known:
            pieces += [(text[at : match.start()], ""), (match[0], match[0])]
            at = match.end()
    return [*pieces, (text[at:], "")]


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def _moment(text: str) -> str:
    """The start as people write it, in UTC; an odd date as it is."""
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        if moment.tzinfo is None:
            return text
        return moment.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError):
        return text
