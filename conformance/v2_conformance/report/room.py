"""The room that the messages of cases have in a report: one account for its writer and its reader.

Short messages are always kept. A long one that no longer fits is cut: its start stays, with the
digest of the whole. So a run cannot write a report that nobody can read, however long its messages.
What all cases rest on, such as calibrations, is never cut, so it has room of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from v2_conformance.report.evidence import RecordedExchange
from v2_conformance.report.kept_bytes import (
    PLAIN,
    KeptBytes,
    start_of,
    stored_size,
    unpacked_size,
)

UNPACKED = 2048 << 20
"""Bytes that the long messages of all cases may unpack to. A run with --large has half of it."""
OTHERS = 2048 << 20
"""Bytes that all other long messages may unpack to: a run asks for a fraction of it."""
PACKED = 256 << 20
"""Bytes that the long messages of all cases may take in the report, before base64."""
ANSWERS = 24 << 20
"""Bytes that all responses may take in the report, before base64, besides what answers to the
suite's long tensors take. An honest server needs a quarter of it."""
_START = 512  # what is kept of a message that does not fit


def long_bytes(messages: Iterable[KeptBytes]) -> int:
    """Return how many bytes the long ones among `messages` unpack to: this is what is bounded."""
    return sum(size for size in map(unpacked_size, messages) if size > PLAIN)


class Room:
    """The room that is left in a report that is being written."""

    def __init__(self) -> None:
        self._unpacked, self._packed, self._answers = UNPACKED, PACKED, ANSWERS

    def fitted(self, exchange: RecordedExchange) -> RecordedExchange:
        """Return an exchange with all its bytes, except those that the report has no room for."""
        request = self._fitted(exchange.request_kept)
        asked = stored_size(request)
        if asked > PLAIN:  # tensors of the suite, to which the answer may have as many
            self._answers += asked
        response = exchange.response_kept
        if stored_size(response) > self._answers:
            response = start_of(response, _START)
        response = self._fitted(response)
        self._answers = max(0, self._answers - stored_size(response))
        if request is exchange.request_kept and response is exchange.response_kept:
            return exchange
        return msgspec.structs.replace(exchange, request_kept=request, response_kept=response)

    def _fitted(self, kept: KeptBytes) -> KeptBytes:
        unpacked = long_bytes([kept])
        if not unpacked:
            return kept
        stored = stored_size(kept)
        if unpacked > self._unpacked or stored > self._packed:
            return start_of(kept, _START)
        self._unpacked -= unpacked
        self._packed -= stored
        return kept
