"""The exchanges of a case as markup: what `report.fold` shows of them, escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup, escape

from v2_conformance.report.annotate import HexRow
from v2_conformance.report.document import CaseResult
from v2_conformance.report.fold import (
    DifferingByte,
    FoldedExchange,
    FoldedMessage,
    FoldedSection,
    FoldLimits,
    Span,
    folded_exchanges,
    in_bytes,
)

# The colors of blobs; their labels tell them apart as well.
_COLORS = 5
_REPEATED = 2048  # bytes; longer messages are not kept to be found again


@dataclass(frozen=True)
class SectionMarkup:
    """A section of a message, `length` bytes on the wire. `content` says in its place what was left
    out, of which `sha256` is the digest; "" if nothing was. `style` is the class for its color."""

    title: str
    length: int
    style: str
    is_text: bool
    content: Markup
    sha256: str

    @property
    def cost(self) -> int:
        """About how many bytes of a page it takes."""
        return 123 + size(self.title) + size(self.content) + (125 if self.sha256 else 0)


@dataclass(frozen=True)
class MessageMarkup:
    """A request or a response. `json_end` is where its JSON ends if the header length says
    otherwise."""

    title: str
    notes: Sequence[str]
    sections: Sequence[SectionMarkup]
    json_end: int | None

    @property
    def cost(self) -> int:
        """About how many bytes of a page it takes."""
        return sum(map(size, self.notes)) + sum(section.cost for section in self.sections)


@dataclass(frozen=True)
class ExchangeMarkup:
    """One exchange of a case."""

    title: str
    facts: str
    complete: bool
    messages: Sequence[MessageMarkup]

    @property
    def cost(self) -> int:
        """About how many bytes of a page it takes."""
        return 300 + sum(message.cost for message in self.messages)


def exchanges_markup(
    case: CaseResult, limits: FoldLimits, canaries: FoldLimits | None
) -> tuple[ExchangeMarkup, ...]:
    """A case's exchanges, as `folded_exchanges` folds them."""
    return tuple(map(_exchange, folded_exchanges(case, limits, canaries)))


def size(text: str) -> int:
    """The bytes that `text` takes in a page."""
    return len(text.encode("utf-8", "replace"))


def _exchange(exchange: FoldedExchange) -> ExchangeMarkup:
    return ExchangeMarkup(
        exchange.title,
        " · ".join(exchange.facts),
        exchange.complete,
        tuple(map(_message, exchange.messages)),
    )


def _message(message: FoldedMessage) -> MessageMarkup:
    return _marked_before(message) if message.size <= _REPEATED else _marked(message)


def _marked(message: FoldedMessage) -> MessageMarkup:
    sections = tuple(map(_section, message.sections))
    return MessageMarkup(message.title, message.notes, sections, message.json_end)


# After most cases comes the same known-good request.
_marked_before = lru_cache(maxsize=256)(_marked)


def _section(folded: FoldedSection) -> SectionMarkup:
    content = Markup("")
    for span in folded.spans:
        if span.left_out:
            content += Markup('\n<span class="fold">… {} left out</span>\n').format(
                in_bytes(span.left_out)
            )
        content += _content(folded, span)
    blob = folded.blob
    return SectionMarkup(
        folded.title,
        folded.section.end - folded.section.start,
        folded.section.kind if blob is None else f"blob{blob % _COLORS}",
        folded.is_text,
        content,
        folded.sha256,
    )


def _content(folded: FoldedSection, span: Span) -> Markup:
    if folded.is_text:
        return _escaped(folded.text(span))
    rows = folded.rows(span)
    found = folded.differing
    if found is None:
        return _escaped("\n".join(row.line for row in rows))
    return Markup("\n").join(_row(row, found) for row in rows)


def _escaped(text: str) -> Markup:
    """`text` for between tags; quotes, of which JSON is full, need no escape there."""
    return Markup(escape(text).replace("&#34;", '"').replace("&#39;", "'"))


def _row(row: HexRow, found: DifferingByte) -> Markup:
    """A row of a hexdump; the differing byte is marked, and pointed at from below."""
    column = found.column(row)
    if column is None:
        return _escaped(row.line)
    line = row.line
    digits, sign = row.places(column)
    mark = Markup('<mark class="diff">{}</mark>')
    return Markup('{}{}{}{}{}\n<span class="diff">{}</span>').format(
        line[:digits],
        mark.format(line[digits : digits + 2]),
        line[digits + 2 : sign],
        mark.format(line[sign]),
        line[sign + 1 :],
        found.pointer(row, column),
    )
