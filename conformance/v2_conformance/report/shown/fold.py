"""The exchanges of a case as people are shown them: what is shown of each, and what is left out.

One model for the page, the terminal and logs. It picks the exchanges, cuts each message into
sections, picks the bytes of each section within the given limits, and finds the first differing
byte. Each format renders it in its own way. Text in it is visible (see `visible_text`), but escaped
for no format.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from v2_conformance.report.document import CaseResult
from v2_conformance.report.shown.annotate import (
    AnnotatedMessage,
    HexRow,
    Section,
    annotate_request,
    annotate_response,
)
from v2_conformance.report.shown.json_marks import wrong_in_json
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.causes import unsurvived
from v2_conformance.suite.outcomes import FAILED, Purpose
from v2_conformance.visible_text import is_visible, short, visible
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending

_TEXTS = ("head", "json")
# Around the first differing byte so much is shown, in bytes before its row and from there on.
_AROUND = (32, 48)
_WIDTH = 16
_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_LONGEST = 400  # of text from a server
_ENDINGS = {
    Ending.COMPLETE: "complete response",
    Ending.CLOSED: "connection closed before a complete response",
    Ending.RESET: "connection reset before a complete response",
    Ending.REFUSED: "no connection",
    Ending.TIMEOUT: "timed out",
    Ending.TOO_LARGE: "response too large",
    Ending.MALFORMED: "malformed HTTP",
    Ending.LEFT: "the client did not wait for an answer",
}
_CLIENT_ENDINGS = {
    Ending.COMPLETE: "answered as scripted",
    Ending.CLOSED: "the request did not arrive completely",
    Ending.RESET: "the client left before it had its answer",
    Ending.MALFORMED: "what arrived is not a request",
}
_CONNECTIONS = {
    Purpose.CANARY_SAME: "on the same connection",
    Purpose.CANARY_FRESH: "on a fresh connection",
}


@dataclass(frozen=True)
class FoldLimits:
    """How many bytes of a section are shown, at its start and at its end.

    Heads and JSON are text, which takes less room, so `first_of_text` of their bytes are shown.
    """

    first: int
    last: int
    first_of_text: int


FULL = FoldLimits(512, 64, first_of_text=2048)
BRIEF = FoldLimits(96, 32, first_of_text=384)
WHOLE = FoldLimits(sys.maxsize, 0, first_of_text=sys.maxsize)


class Span(NamedTuple):
    """Bytes `start` to `end` of a section's content; `left_out` bytes before them are not shown."""

    start: int
    end: int
    left_out: int


@dataclass(frozen=True)
class DifferingByte:
    """The first byte of a message that is wrong: its offset in the body, in words, and how many
    are wrong together.
    """

    offset: int
    words: str
    length: int = 1

    def column(self, row: HexRow) -> int | None:
        """The byte's place in a row of a hexdump, None if it is in another one."""
        column = self.offset - row.offset
        return column if 0 <= column < len(row.ascii) else None

    def pointer(self, row: HexRow, column: int) -> str:
        """A line for under `row`, which points at the byte in `column` and says what it is."""
        at, _ = row.places(column)
        if len(self.words) < at:
            return f"{self.words + ' ▲':>{at + 1}}"
        return f"{'':{at}}▲ {self.words}"


@dataclass(frozen=True)
class FoldedSection:
    """A section of a message and the `spans` of its content that are shown, in order.

    They are shown as text if `is_text`, else as rows of a hexdump. `blob` counts the blobs of a
    message from 0, None for anything else. `differing` is the first wrong byte, if it is in this
    section; it is in one of the spans.
    """

    section: Section
    blob: int | None
    is_text: bool
    spans: tuple[Span, ...]
    differing: DifferingByte | None

    @property
    def title(self) -> str:
        """The section's kind, its length, and its place in the body."""
        section, length = self.section, len(self.section.data)
        # A tensor's label begins with its name, whose case is the server's.
        named = section.kind == "blob"
        label = section.label if named else section.label[:1].upper() + section.label[1:]
        title = f"{label} · {in_bytes(length)}"
        if length and section.in_body and section.kind != "raw":
            title += f", {_range(section.base, length)} of the body"
        return title

    @property
    def sha256(self) -> str:
        """The digest of the whole content if bytes of it are left out, else ""."""
        return self.section.sha256 if len(self.spans) > 1 else ""

    def text(self, span: Span) -> str:
        """A span as text, with line feeds between its lines."""
        return "".join(self.text_around(span))

    def text_around(self, span: Span) -> tuple[str, str, str]:
        """A span as text: what is before the wrong bytes, these, and what follows."""
        found = self.differing
        start = span.end if found is None else found.offset - self.section.base
        cuts = [span.start, start, start + (found.length if found else 0), span.end]
        cuts = [min(max(cut, span.start), span.end) for cut in cuts]
        before, wrong, after = (self._text(a, b) for a, b in pairwise(cuts))
        if not after:
            return (before if wrong else before.rstrip("\n")), wrong, after
        return before, wrong, after.rstrip("\n")

    def _text(self, start: int, end: int) -> str:
        data = self.section.data[start:end]
        if self.section.kind == "head":
            # A line that ends in LF alone must not look like one that ends in CRLF.
            data = _BARE_LINE_FEED.sub(b"\\\\n\n", data)
        return visible(data.decode("utf-8", "backslashreplace").replace("\r\n", "\n"))

    def rows(self, span: Span) -> tuple[HexRow, ...]:
        """A span as rows of a hexdump."""
        return self.section.rows(span.start, span.end)


@dataclass(frozen=True)
class FoldedMessage:
    """A request or a response of `size` bytes; `notes` are oddities. `json_end` and `header_cut`
    say where its JSON ends, see `AnnotatedMessage`."""

    name: str
    size: int
    notes: tuple[str, ...]
    sections: tuple[FoldedSection, ...]
    json_end: int | None = None
    header_cut: int | None = None

    @property
    def title(self) -> str:
        """The message's kind and length."""
        return f"{self.name} · {in_bytes(self.size) if self.size else 'nothing'}"


@dataclass(frozen=True)
class FoldedExchange:
    """One exchange of a case: `title` says what it was for, `facts` how it went."""

    title: str
    facts: tuple[str, ...]
    complete: bool
    messages: tuple[FoldedMessage, FoldedMessage]


@dataclass(frozen=True)
class CanaryAnswer:
    """Result of a known-good request after a case, and `where` it was sent ("on a fresh
    connection").
    """

    where: str
    right: bool


def folded_exchanges(
    case: CaseResult, limits: FoldLimits, canaries: FoldLimits | None
) -> Iterator[FoldedExchange]:
    """A case's exchanges, folded; bytes around the first differing one are shown in any case.

    Known-good requests that were answered as they must be are folded by `canaries`, and left out if
    that is None.
    """
    for exchange in case.exchanges:
        used = canaries if exchange.purpose.canary and not case.died else limits
        if used is not None:
            folded = _exchange(exchange, used, case)
            yield folded if case.said is None else replace(folded, facts=_of_client(exchange))


def canary_answers(case: CaseResult) -> tuple[CanaryAnswer, ...]:
    """Return the results of the known-good requests after a case; none if none was sent."""
    found = unsurvived(case.cause)
    wrong = {
        Purpose.CANARY_SAME: found is not None and found.same_connection is not None,
        Purpose.CANARY_FRESH: found is not None and found.fresh_connection is not None,
    }
    purposes = dict.fromkeys(exchange.purpose for exchange in case.exchanges)
    return tuple(CanaryAnswer(_CONNECTIONS[p], not wrong[p]) for p in purposes if p in wrong)


def in_bytes(number: int) -> str:
    """Return a number of bytes in words: "1 byte", "65,536 bytes"."""
    return "1 byte" if number == 1 else f"{number:,} bytes"


def in_milliseconds(value: float) -> str:
    """Return a time with its significant digits."""
    if value >= 10_000:
        return f"{value / 1000:.1f} s"
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def _exchange(exchange: Exchange, limits: FoldLimits, case: CaseResult) -> FoldedExchange:
    """Return an exchange with marks in what the server, or the client, said wrongly."""
    sent, came = bytes(exchange.request), bytes(exchange.received)
    of_client = case.said is not None
    judged = exchange.purpose.own and case.outcome in FAILED
    difference = None if of_client else case.difference
    request = annotate_request(sent, exchange.answers)
    response = annotate_response(came, exchange.answers)
    notes = [*request.notes, *_unsent(exchange)]
    return FoldedExchange(
        title=exchange_title(exchange),
        facts=tuple(exchange_facts(exchange)),
        complete=exchange.ending is Ending.COMPLETE,
        messages=(
            _message("Request", sent, notes, request, limits, judged and of_client, None),
            _message(
                "Response",
                came,
                response.notes,
                response,
                limits,
                judged and not of_client,
                difference,
            ),
        ),
    )


def _unsent(exchange: Exchange) -> Iterator[str]:
    if exchange.sent < exchange.request.size:
        share = f"only the first {in_bytes(exchange.sent)} were" if exchange.sent else "nothing was"
        yield f"{share} sent"


def exchange_title(exchange: Exchange) -> str:
    """Return what an exchange was for."""
    return visible(short(exchange.note, _LONGEST))


def exchange_facts(exchange: Exchange) -> Iterator[str]:
    """Yield how an exchange went: its ending, its times, its connection."""
    detail = visible(short(exchange.detail, _LONGEST))
    yield _ENDINGS[exchange.ending] + (f" ({detail})" if detail else "")
    if exchange.first_byte_ms is not None:
        yield f"first byte after {in_milliseconds(exchange.first_byte_ms)}"
    yield f"{in_milliseconds(exchange.duration_ms)} in all"
    yield "on a reused connection" if exchange.reused else "on a new connection"
    if exchange.omitted:
        yield f"{in_bytes(exchange.omitted)} more, for which the report has no room"
    if exchange.ending is Ending.COMPLETE:
        yield "left open" if exchange.open else "closed afterwards"


def _of_client(exchange: Exchange) -> tuple[str, ...]:
    """Return how an exchange went whose request a client sent."""
    detail = visible(short(exchange.detail, _LONGEST))
    return (
        _CLIENT_ENDINGS.get(exchange.ending, exchange.ending) + (f" ({detail})" if detail else ""),
        f"{in_milliseconds(exchange.duration_ms)} in all",
        "on a reused connection" if exchange.reused else "on a new connection",
    )


def _message(
    name: str,
    data: bytes,
    notes: Sequence[str],
    annotated: AnnotatedMessage,
    limits: FoldLimits,
    judged: bool,
    difference: FirstDifference | None,
) -> FoldedMessage:
    folded = []
    blobs = 0
    for section in annotated.sections:
        differing = _differing(section, difference) if judged else None
        at = differing.offset - section.base if differing else None
        folded.append(
            FoldedSection(
                section,
                blobs if section.kind == "blob" else None,
                _is_text(section),
                _spans(section, limits, at),
                differing,
            )
        )
        blobs += section.kind == "blob"
    shown = tuple(map(visible, notes))
    return FoldedMessage(
        name, len(data), shown, tuple(folded), annotated.json_end, annotated.header_cut
    )


def _differing(section: Section, difference: FirstDifference | None) -> DifferingByte | None:
    """The first wrong byte, if it is one of this section's, which is a blob or should be JSON."""
    data = section.data
    if section.kind == "json" or (section.kind == "raw" and data.lstrip()[:1] == b"{"):
        found = wrong_in_json(data, difference)
        if found is None:
            return None
        return DifferingByte(section.base + found.start, found.words, found.end - found.start)
    at = difference.body_offset if difference else None
    if difference is None or at is None or section.kind != "blob":
        return None
    if not section.base <= at < section.base + len(section.data):
        return None
    words = f"first differing byte: element {difference.element} of {visible(difference.output)}"
    return DifferingByte(at, words)


def _range(start: int, length: int) -> str:
    return f"byte {start}" if length == 1 else f"bytes {start}–{start + length - 1}"


def _spans(section: Section, limits: FoldLimits, at: int | None) -> tuple[Span, ...]:
    """Return what is shown of a section: its first and last bytes, and what is around byte `at`."""
    length = len(section.data)
    first = limits.first_of_text if section.kind in _TEXTS else limits.first
    if length <= first + limits.last:
        return (Span(0, length, 0),)
    ranges = [(0, first), (length - limits.last, length)]
    if at is not None:
        row = at - at % _WIDTH
        ranges.append((max(0, row - _AROUND[0]), min(length, row + _AROUND[1])))
    spans: list[Span] = []
    for start, stop in sorted(ranges):
        if spans and start <= spans[-1].end:
            spans[-1] = spans[-1]._replace(end=max(stop, spans[-1].end))
        else:
            spans.append(Span(start, stop, start - (spans[-1].end if spans else 0)))
    return tuple(spans)


def _is_text(section: Section) -> bool:
    """Return True if text shows the section better than hex: heads, JSON, and error pages."""
    if section.kind in _TEXTS:
        return True
    if section.kind != "raw" or not section.data.strip():
        return False
    try:
        text = section.data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return False
    return is_visible(text)
