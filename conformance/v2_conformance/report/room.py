"""The room that the messages of cases have in a report: one account for its writer and its reader.

Short messages are always kept. A long one that no longer fits is cut: its start stays, with the
digest of the whole. So a run cannot write a report that nobody can read, however long its messages.
What all cases rest on, such as calibrations, is never cut, so it has room of its own.
"""

from __future__ import annotations

from msgspec.structs import replace

from v2_conformance.report.bodies import SHORT, Streams
from v2_conformance.wire.exchange import Body, Exchange

UNPACKED = 2048 << 20
"""Bytes of the long messages of all cases. A run with --large has half of it."""
OTHERS = 2048 << 20
"""Bytes of all other messages: a run asks for a fraction of it."""
PACKED = 256 << 20
"""Bytes that the long messages of all cases may take in the report, before base64."""
ANSWERS = 24 << 20
"""Bytes that all responses may take in the report, before base64, besides as many as the long
requests have that they answer. An honest server needs a quarter of it."""
_START = 512  # what is kept of a message that does not fit


class Room:
    """The room that is left in the `streams` of a report that is being written."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._unpacked, self._packed, self._answers = UNPACKED, PACKED, ANSWERS

    def fitted(self, exchange: Exchange) -> Exchange:
        """Return an exchange with all its bytes in the streams, except those that the report has no
        room for.
        """
        request, _ = self._fitted(exchange.request, self._packed)
        if len(request) > SHORT:  # tensors of the suite, to which each answer may have as many
            self._answers += len(request)
        received, taken = self._fitted(exchange.received, min(self._packed, self._answers))
        if _START < len(received) <= SHORT:
            if len(received) > self._answers:
                received = self._streams.cut(bytes(received), _START)
            taken = len(received)
        self._answers = max(0, self._answers - taken)
        return replace(exchange, request=request, received=received)

    def _fitted(self, body: Body, most: int) -> tuple[Body, int]:
        """Return a message, and how many bytes it takes packed, at most `most`."""
        data, before = bytes(body), self._streams.packed_size
        if len(data) <= SHORT:
            return body, 0
        placed = self._streams.place(data, most=most) if len(data) <= self._unpacked else None
        if placed is None:
            return self._streams.cut(data, _START), 0
        taken = self._streams.packed_size - before
        self._unpacked -= len(data)
        self._packed -= taken
        return placed, taken
