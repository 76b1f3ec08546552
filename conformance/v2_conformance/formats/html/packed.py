"""The recorded bytes of the cases that passed: packed into the page, unpacked when they are opened.

Few people look at them, and there are many. So the page has them as one zlib stream in base64, and
its script shows a case's exchanges once the reader opens them. The stream, unpacked, is

    length of the index (4 bytes, big-endian) · index (JSON) · messages, one behind the other

The index has a list for each case, and in it for each exchange
`[title, facts, request size, request bytes here, response size, response bytes here]`.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from v2_conformance.report.document import CaseResult, RecordedExchange
from v2_conformance.report.fold import exchange_facts, exchange_title
from v2_conformance.report.kept_bytes import beginning, size_of

# Of a message so many bytes are shown; fewer, down to none, if the page has no room for them.
_SHOWN = (4096, 512, 96)
_MOST_PACKED = 16_000_000  # of bytes that are packed, whatever the room: for time and memory


@dataclass(frozen=True)
class PackedCases:
    """The stream in base64, and the place of each case in it by the case's id."""

    stream: str
    places: Mapping[str, int]


NOTHING_PACKED = PackedCases("", {})


def packed_cases(cases: Sequence[CaseResult], room: int) -> PackedCases:
    """The exchanges of `cases` but for known-good requests, in at most `room` bytes of a page."""
    chosen = {case.id: own for case in cases if (own := _own(case))}
    if not chosen:
        return NOTHING_PACKED
    for shown in _SHOWN:
        stream = _stream(chosen.values(), shown)
        if stream is not None and len(stream) * 4 // 3 < room:
            places = {case_id: place for place, case_id in enumerate(chosen)}
            return PackedCases(base64.b64encode(stream).decode(), places)
    return NOTHING_PACKED


def _own(case: CaseResult) -> list[RecordedExchange]:
    return [exchange for exchange in case.exchanges if not exchange.purpose.canary]


def _stream(cases: Iterable[Sequence[RecordedExchange]], shown: int) -> bytes | None:
    """None if there is more to pack than a page should take."""
    index: list[list[list[object]]] = []
    messages: list[bytes] = []
    total = 0
    for exchanges in cases:
        entries: list[list[object]] = []
        for exchange in exchanges:
            entry: list[object] = [exchange_title(exchange), " · ".join(exchange_facts(exchange))]
            for kept in (exchange.request_kept, exchange.response_kept):
                start = beginning(kept, shown)
                entry += [size_of(kept), len(start)]
                messages.append(start)
                total += len(start)
            entries.append(entry)
        index.append(entries)
        if total > _MOST_PACKED:
            return None
    head = json.dumps(index, separators=(",", ":")).encode()
    return zlib.compress(b"".join([len(head).to_bytes(4, "big"), head, *messages]), 6)
