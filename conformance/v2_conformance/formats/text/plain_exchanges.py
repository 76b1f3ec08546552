"""The exchanges of a case as plain text, for logs: what `report.shown.fold` shows of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from v2_conformance.report.document import CaseResult
from v2_conformance.report.shown.fold import (
    FoldedExchange,
    FoldedMessage,
    FoldedSection,
    FoldLimits,
    Span,
    folded_exchanges,
    in_bytes,
)
from v2_conformance.suite.causes.base import counted
from v2_conformance.visible_text import short

_MOST_EXCHANGES = 6
_MOST_SECTIONS = 12
_MOST_NOTES = 6
_LONGEST = 200
_ARROWS = (">", "<")


def exchange_lines(case: CaseResult, limits: FoldLimits, canaries: FoldLimits) -> Iterator[str]:
    """The first exchanges of a case, as `folded_exchanges` folds them. Not escaped."""
    total = len(case.exchanges)
    if not total:
        yield "nothing was sent"
    shown = islice(folded_exchanges(case, limits, canaries), _MOST_EXCHANGES)
    for number, exchange in enumerate(shown, 1):
        if number > 1:
            yield ""
        yield from _exchange(f"exchange {number} of {total}", exchange)
    if total > _MOST_EXCHANGES:
        yield ""
        yield f"… and {counted(total - _MOST_EXCHANGES, 'more exchange')}"


def _exchange(heading: str, exchange: FoldedExchange) -> Iterator[str]:
    facts = [heading, exchange.title, *exchange.facts]
    yield " · ".join(short(fact, _LONGEST) for fact in facts if fact)
    for arrow, message in zip(_ARROWS, exchange.messages, strict=True):
        yield from _message(arrow, message)


def _message(arrow: str, message: FoldedMessage) -> Iterator[str]:
    yield f"{arrow} {message.title}"
    for note in message.notes[:_MOST_NOTES]:
        yield f"  note: {short(note, _LONGEST)}"
    for section in message.sections[:_MOST_SECTIONS]:
        yield f"  {section.title}"
        for span in section.spans:
            if span.left_out:
                yield f"    … {in_bytes(span.left_out)} left out"
            yield from (f"    {line}" for line in _content(section, span))
        if section.sha256:
            yield f"    SHA-256 of the whole: {section.sha256}"
    if len(message.sections) > _MOST_SECTIONS:
        yield f"  … and {counted(len(message.sections) - _MOST_SECTIONS, 'more section')}"


def _content(section: FoldedSection, span: Span) -> Iterator[str]:
    if section.is_text:
        yield from section.text(span).splitlines()
        if section.text_around(span)[1] and section.differing:
            yield f"▲ {section.differing.words}"
        return
    for row in section.rows(span):
        yield row.line
        column = section.differing.column(row) if section.differing else None
        if section.differing and column is not None:
            yield section.differing.pointer(row, column)
