"""report.html: one self-contained page, made from the report.json document alone.

Everything in a report may come from a hostile server. The template escapes it all, characters that
hide or reorder text are spelled out, and the page's policy forbids it to load anything.
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

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from conformance.campaign import suite_cases
from conformance.catalogue import (
    LEVELS,
    Citation,
    Requirement,
    catalogue,
    digest,
    documents,
    families,
)
from conformance.errors import ConformanceError
from conformance.judge import (
    DISPUTED,
    ERROR,
    FAIL,
    INCONCLUSIVE,
    NOT_RUN,
    OUTCOMES,
    PASS,
    UNSUPPORTED,
)
from conformance.report.exchanges import (
    ShownExchange,
    clipped,
    in_bytes,
    in_milliseconds,
    shown_exchanges,
    size,
)
from conformance.report.hexdump import visible
from conformance.summary import Summary

# The page stays under 8 MB: the bytes of exchanges get what everything else leaves of this.
_PAGE_BYTES = 7_500_000
_FRAME_BYTES = 400_000
_ROW_BYTES = 350
_CARD_BYTES = 900
# How much of each part of a message is shown, at its first and its last bytes.
_FULL = (512, 64)
_BRIEF = (96, 32)
# A message is shown whole, unless it is absurd, or one of very many.
_MAX_MESSAGE = 4_000
_MAX_MESSAGE_OF_MANY = 400
_MANY = 250
# So few failures are opened from the start.
_OPEN = 3
# So many of a requirement's failures are named beside it.
_TROUBLES = 5
# With less room than this the page is full.
_LEAST = 20_000

# Shape and word say it too, so that no reader depends on the colour.
_SYMBOLS = {
    PASS: "✓",
    FAIL: "✗",
    ERROR: "!",
    INCONCLUSIVE: "?",
    DISPUTED: "≠",
    NOT_RUN: "○",
    UNSUPPORTED: "–",
}
_LABELS = {NOT_RUN: "not run", ERROR: "suite error"}
_DETAILED = (FAIL, ERROR, INCONCLUSIVE, DISPUTED)
_EXPLAINED = {
    "conformant, robust": "Every mandatory requirement holds: those that the documents state, and "
    "those that keep a server from computing on bytes that nobody declared.",
    "conformant, not robust": "Every mandatory requirement that the documents state holds. Some "
    "derived ones, which keep a server from computing on undeclared bytes or dying, do not, or "
    "were not shown to.",
    "not conformant": "At least one mandatory requirement does not hold, or was not shown to hold.",
}
# For each verdict the outcome whose colours it has, and its sign.
_TONES = {
    "conformant, robust": (PASS, "✓"),
    "conformant, not robust": (INCONCLUSIVE, "◐"),
    "not conformant": (FAIL, "✗"),
}
_REQUIREMENT_ID = re.compile(r"\b[A-Z][0-9]{1,3}\b")
_UNSAFE = re.compile(r"[^A-Za-z0-9/,:._+=-]")
_KEPT_BRACKETS = {"[": "(", "]": ")"}


def render(report: Mapping[str, Any]) -> str:
    """The page for a report.json document that its schema accepts."""
    return _template().render(_page(report))


def verdict_words(report: Mapping[str, Any]) -> str:
    """The run's verdict as people say it: "conformant, robust", "not conformant", …"""
    verdict = report["verdict"]
    return Summary(verdict["conformant"], verdict["robust"], (), (), ()).words


def case_anchor(case_id: str) -> str:
    """The anchor of a case in the page: needs no quoting in a URL, differs for every id."""
    return "case-" + _safe(case_id)


def requirement_anchor(requirement_id: str) -> str:
    """The anchor of a requirement in the page."""
    return "req-" + _safe(requirement_id)


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(
        symbol=lambda outcome: _SYMBOLS[outcome],
        label=lambda outcome: _LABELS.get(outcome, outcome),
        case_anchor=case_anchor,
        requirement_anchor=requirement_anchor,
        milliseconds=in_milliseconds,
        linked=_linked,
        clipped=clipped,
        bytes=in_bytes,
    )
    return environment.get_template("report.html.j2")


def _finalize(value: Any) -> Any:
    """Every string that the template prints; Markup was made of such strings."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _safe(text: str) -> str:
    def replaced(match: re.Match[str]) -> str:
        char = match[0]
        coded = "".join(f"~{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
        return _KEPT_BRACKETS.get(char, coded)

    return _UNSAFE.sub(replaced, text)


@dataclass(frozen=True)
class _Source:
    """One citation, ready to print."""

    title: str
    url: str
    place: str


@dataclass(frozen=True)
class _Row:
    """A requirement with what the run found; `known` is None if this catalogue lacks it."""

    id: str
    level: str
    basis: str
    outcome: str
    counts: Mapping[str, int]
    known: Requirement | None
    sources: Sequence[_Source]
    cases: Sequence[Mapping[str, Any]]

    @property
    def troubles(self) -> list[Mapping[str, Any]]:
        """The cases that have a card further down."""
        return [case for case in self.cases if case["outcome"] in _DETAILED]


@dataclass(frozen=True)
class _Card:
    """A case that did not pass; `exchanges` is None where the page has no room for its bytes."""

    case: Mapping[str, Any]
    message: str
    why: str
    exchanges: Sequence[ShownExchange] | None
    brief: bool


def _page(report: Mapping[str, Any]) -> dict[str, Any]:
    cases: Sequence[Mapping[str, Any]] = report["cases"]
    same_catalogue = report["suite"]["catalogue"] == digest()
    counts = Counter(case["outcome"] for case in cases)
    by_requirement: dict[str, list[Mapping[str, Any]]] = {}
    for case in cases:
        by_requirement.setdefault(case["requirement"], []).append(case)
    rows = [_row(entry, by_requirement.pop(entry["id"], [])) for entry in report["requirements"]]
    words = verdict_words(report)
    row_outcomes = {row.outcome for row in rows}
    return {
        "report": report,
        "server": report["target"]["server"],
        "words": words,
        "explained": _EXPLAINED[words],
        "tone": _TONES[words][0],
        "sign": _TONES[words][1],
        "blocked": "What keeps it from being robust"
        if report["verdict"]["conformant"]
        else "What blocks it",
        "started": _moment(report["started"]),
        "duration": _duration(report["duration_s"]),
        "same_catalogue": same_catalogue,
        "outcomes": [outcome for outcome in OUTCOMES if counts[outcome]],
        "all_outcomes": OUTCOMES,
        "counts": counts,
        "levels": _levels(rows),
        "level_outcomes": [outcome for outcome in OUTCOMES if outcome in row_outcomes],
        "families": _families(rows),
        "anchors": {row.id for row in rows},
        "cards": _cards(cases, same_catalogue),
        "open_cards": _OPEN,
        "most_troubles": _TROUBLES,
        "not_run": _grouped(case for case in cases if case["outcome"] == NOT_RUN),
        "unclaimed": [case for rest in by_requirement.values() for case in rest],
        "detailed": _DETAILED,
    }


def _row(entry: Mapping[str, Any], cases: Sequence[Mapping[str, Any]]) -> _Row:
    known = catalogue().get(entry["id"])
    return _Row(
        entry["id"],
        entry["level"],
        entry["basis"],
        entry["outcome"],
        {outcome: entry["cases"][outcome] for outcome in OUTCOMES if outcome in entry["cases"]},
        known,
        [_source(cited) for cited in known.cite] if known else [],
        cases,
    )


def _source(cited: Citation) -> _Source:
    document = documents()[cited.document]
    url, place = document.url, cited.section
    if cited.document.startswith("rfc"):
        url, place = f"{url}#section-{cited.section}", f"section {cited.section}"
    if cited.paragraph is not None:
        place += f", paragraph {cited.paragraph}"
    return _Source(document.title, url, place)


def _levels(rows: Iterable[_Row]) -> list[tuple[str, Counter[str], int]]:
    """For each level its requirements by outcome, and their number."""
    rows = list(rows)
    table = []
    for level in LEVELS:
        counts = Counter(row.outcome for row in rows if row.level == level)
        if counts:
            table.append((level, counts, counts.total()))
    return table


def _families(rows: Iterable[_Row]) -> list[tuple[str, str, list[_Row]]]:
    """The rows under their families, in the catalogue's order, unknown families last."""
    groups: dict[str, list[_Row]] = {letter: [] for letter in families()}
    for row in rows:
        groups.setdefault(row.id[:1], []).append(row)
    titles = families()
    return [(key, titles.get(key, "Other"), rows) for key, rows in groups.items() if rows]


def _grouped(cases: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Cases by message: many of them do not run for one reason."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for case in cases:
        groups.setdefault(clipped(case["message"]), []).append(case)
    return groups


def _cards(cases: Sequence[Mapping[str, Any]], same_catalogue: bool) -> list[_Card]:
    """What did not pass, the worst first, with as many recorded bytes as the page can hold."""
    chosen = [case for case in cases if case["outcome"] in _DETAILED]
    chosen.sort(key=lambda c: (_DETAILED.index(c["outcome"]), LEVELS.index(c["level"])))
    reasons = _reasons() if chosen and same_catalogue else {}
    limit = _MAX_MESSAGE if len(chosen) <= _MANY else _MAX_MESSAGE_OF_MANY
    texts = [(clipped(case["message"], limit), reasons.get(case["id"], "")) for case in chosen]
    left = _PAGE_BYTES - _FRAME_BYTES - _ROW_BYTES * len(cases) - _CARD_BYTES * len(chosen)
    left -= sum(size(escape(text)) for pair in texts for text in pair)
    cards = []
    for case, (message, why) in zip(chosen, texts, strict=True):
        card = _Card(case, message, why, None, False)
        for limits in (_FULL, _BRIEF) if left > _LEAST else ():
            exchanges = shown_exchanges(case, limits)
            cost = sum(exchange.cost for exchange in exchanges)
            if cost <= left:
                left -= cost
                card = _Card(case, message, why, exchanges, limits is _BRIEF)
                break
        cards.append(card)
    return cards


def _reasons() -> dict[str, str]:
    """Why each case is there, in the words of its file."""
    try:
        return {case.id: case.why for case in suite_cases(large=True)}
    except ConformanceError:  # a page without these words is better than no page
        return {}


def _linked(text: str, known: set[str]) -> list[tuple[str, str]]:
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
