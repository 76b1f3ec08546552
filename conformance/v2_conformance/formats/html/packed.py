"""The part of a case that the page shows once it is opened: packed into the page, unpacked by its
script.

Few people look at most of it, and there is much. So the page has it as one zlib stream in base64.
The stream, unpacked, has one record for each case that has something to show, in the page's order:

    length of the JSON (4 bytes, big-endian) · length of the bytes (4 bytes) · JSON · bytes

The JSON is `{"case": place in the page's index, "exchanges": […], …}`, where members that have
nothing to say are left out. What is shown of the messages is in the bytes, one behind the other: of
what did not pass, the spans that `report.shown.fold` picks, with its sections; of what passed, only
how each message begins, of which the script makes sections.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec

from v2_conformance.formats.html.index import Listed
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.shown.fold import (
    BRIEF,
    FULL,
    FoldedExchange,
    FoldedMessage,
    FoldedSection,
    FoldLimits,
    canary_answers,
    exchange_facts,
    exchange_title,
    folded_exchanges,
)
from v2_conformance.report.shown.said import said_lines
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.causes import NotKept
from v2_conformance.visible_text import short

_LEVEL = 6
_MOST_PACKED = 24_000_000  # of bytes that are packed, whatever the room: for time and memory
_SLACK = 70_000  # bytes that the compressor may keep to itself
# Of a message of a case that passed this many bytes are shown; fewer if the page has no room.
_SHOWN = (4096, 256)
_MAX_REPLAY = 6_000
_MAX_VALUE = 400

Replay = Callable[[Report, CaseResult], str]
"""The command that sends a case of a report again, "" if there is none."""


def packed(report: Report, cases: Listed, replay: Replay, room: int) -> str:
    """The stream in base64, of at most `room` bytes. What failed gets its bytes before what passed:
    in full if there is room for all, else in brief as long as there is room."""
    ids = {case.id for case in cases}
    troubled = [
        (place, case, _words(report, case, replay, ids))
        for place, case in enumerate(cases.troubled)
    ]
    passed = [
        (place, case, _words(report, case, None, ids))
        for place, case in enumerate(cases.passed, len(cases.troubled))
    ]
    stream = _Stream(room * 3 // 4)
    for group, whole, brief in (
        (troubled, partial(_folded, limits=FULL, canaries=BRIEF), partial(_folded, limits=BRIEF)),
        (passed, partial(_begun, shown=_SHOWN[0]), partial(_begun, shown=_SHOWN[1])),
    ):
        before = stream.copy()
        if not _all_in(stream, group, whole):
            stream = before
            _as_far_as_it_goes(stream, group, brief)
    return stream.end()


def survival(case: CaseResult) -> str:
    """Return what the known-good requests after a case showed, in a sentence; "" if none was
    sent."""
    answers = canary_answers(case)
    if not answers:
        return ""
    wrong = [answer.where for answer in answers if not answer.right]
    if wrong:
        return (
            "The server did not survive: after this case, a known-good request got a wrong answer "
            f"{' and '.join(wrong)}."
        )
    return (
        "The server survived: after this case, a known-good request got the right answer "
        f"{' and '.join(answer.where for answer in answers)}."
    )


Words = dict[str, object]
"""Everything about a case except its exchanges; empty members are left out."""
_Group = Sequence[tuple[int, CaseResult, Words]]
_Shown = Callable[[CaseResult], tuple[list[Words], list[bytes]]]


@dataclass
class _Stream:
    """Compresses records until `room` bytes are full; `has_room` says whether one was refused."""

    room: int
    pieces: list[bytes] = field(default_factory=list)
    spent: int = 0
    hidden: int = 0  # bytes that the compressor may still have in it
    total: int = 0
    compressor: zlib._Compress = field(default_factory=lambda: zlib.compressobj(_LEVEL))

    def copy(self) -> _Stream:
        """As it is now, to go on from here in another way."""
        copied = [*self.pieces]
        more = (self.spent, self.hidden, self.total, self.compressor.copy())
        return _Stream(self.room, copied, *more)

    def add(self, record: bytes) -> bool:
        """Add a record if there is room, and say so."""
        self.total += len(record)
        most = self.spent + min(self.hidden, _SLACK) + len(record)
        if most > self.room or self.total > _MOST_PACKED:
            return False
        made = self.compressor.compress(record)
        self.hidden = _SLACK if made else self.hidden + len(record)
        self.spent += len(made)
        self.pieces.append(made)
        return True

    def end(self) -> str:
        """All of it in base64; "" if nothing is in it."""
        if not self.pieces:
            return ""
        return base64.b64encode(b"".join([*self.pieces, self.compressor.flush()])).decode()


def _all_in(stream: _Stream, group: _Group, shown: _Shown) -> bool:
    """Return True if all records of these cases fit; some are in the stream even if not."""
    for place, case, words in group:
        exchanges, data = shown(case)
        if (words or exchanges) and not stream.add(_record(place, words, exchanges, data)):
            return False
    return True


def _as_far_as_it_goes(stream: _Stream, group: _Group, shown: _Shown) -> None:
    """Short records as long as they fit; of the other cases nothing is shown."""
    for place, case, words in group:
        exchanges, data = shown(case)
        brief = {**words, "brief": True} if exchanges else words
        if brief and not stream.add(_record(place, brief, exchanges, data)):
            return


def _words(report: Report, case: CaseResult, replay: Replay | None, ids: Collection[str]) -> Words:
    named = case.cause.cases if isinstance(case.cause, NotKept) else ()
    command = replay(report, case) if replay else ""
    found: Words = {
        "difference": _difference(case.difference),
        "said": said_lines(case),
        "survival": survival(case),
        "elsewhere": [case_id for case_id in named if case_id in ids],
        "replay": command if len(command) <= _MAX_REPLAY else "",
    }
    return {name: value for name, value in found.items() if value}


def _difference(found: FirstDifference | None) -> Words:
    if found is None:
        return {}
    values = msgspec.structs.asdict(found).items()
    return {
        name: short(value, _MAX_VALUE) if isinstance(value, str) else value
        for name, value in values
    }


def _record(place: int, words: Words, exchanges: Sequence[Words], data: Sequence[bytes]) -> bytes:
    found = {"case": place, **words, "exchanges": exchanges}
    text = json.dumps(found, separators=(",", ":")).encode()
    length = sum(map(len, data))
    return b"".join([len(text).to_bytes(4, "big"), length.to_bytes(4, "big"), text, *data])


def _begun(case: CaseResult, shown: int) -> tuple[list[Words], list[bytes]]:
    """The exchanges of a case except for known-good requests: how each message begins."""
    data: list[bytes] = []
    exchanges: list[Words] = []
    for exchange in case.exchanges:
        if exchange.purpose.canary:
            continue
        messages = []
        for body in (exchange.request, exchange.received):
            start = body.start(shown)
            messages.append([body.size, len(start)])
            data.append(start)
        exchanges.append(
            {
                "title": exchange_title(exchange),
                "facts": " · ".join(exchange_facts(exchange)),
                "complete": True,
                "begun": messages,
            }
        )
    return exchanges, data


def _folded(
    case: CaseResult, limits: FoldLimits, canaries: FoldLimits | None = None
) -> tuple[list[Words], list[bytes]]:
    """The exchanges of a case with their sections, and the bytes of these that are shown."""
    data: list[bytes] = []
    return [_exchange(each, data) for each in folded_exchanges(case, limits, canaries)], data


def _exchange(exchange: FoldedExchange, shown: list[bytes]) -> Words:
    return {
        "title": exchange.title,
        "facts": " · ".join(exchange.facts),
        "complete": exchange.complete,
        "messages": [_message(message, shown) for message in exchange.messages],
    }


def _message(message: FoldedMessage, shown: list[bytes]) -> Words:
    return {
        "title": message.title,
        "notes": message.notes,
        "json": message.json_end,
        "cut": message.header_cut,
        "sections": [list(_section(section, shown)) for section in message.sections],
    }


def _section(folded: FoldedSection, shown: list[bytes]) -> Iterator[object]:
    """Title, bytes on the wire, kind, blob, whether it is text, base, digest, spans, difference."""
    section = folded.section
    yield folded.title
    yield section.end - section.start
    yield section.kind
    yield folded.blob
    yield int(folded.is_text)
    yield section.base
    yield folded.sha256
    spans = []
    for span in folded.spans:
        data = section.data[span.start : span.end]
        shown.append(data)
        spans.append([span.start, len(data), span.left_out])
    yield spans
    if folded.differing:
        found = folded.differing
        yield [found.offset, found.words, found.length]
