"""Answers the steps of conversations with recorded exchanges, in their order.

Each step names the request that the suite sends there, which is made again and compared with the
recorded one. What bytes cannot show, such as times and how a connection ended, is taken as it is.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Sequence

from v2_conformance.redaction import WITHHELD
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.verifying.setting import Whereabouts
from v2_conformance.wire.encode.requests import Prepared
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending

# The length of the shortest secret that a mask hides anywhere.
_MASKED = re.compile(rb"\*{6,}")
_UNANSWERED = (Ending.CLOSED, Ending.REFUSED, Ending.TIMEOUT)


class RecordedError(ValueError):
    """No run can have left this record of an exchange or a case; the message is one line."""


class UnconfirmedError(ValueError):
    """The report lacks what was judged; the message says so in one line."""


class Record:
    """Recorded exchanges, each of which answers one step."""

    def __init__(self, exchanges: Sequence[Exchange], where: Whereabouts) -> None:
        self._left = deque(exchanges)
        self._where = where
        self.taken: list[Exchange] = []

    @property
    def left(self) -> Sequence[Exchange]:
        """The exchanges that have not been taken."""
        return self._left

    def comes(self, purpose: Purpose) -> bool:
        """Return True if the next exchange is for this purpose."""
        return bool(self._left) and self._left[0].purpose is purpose

    def take(self, what: str, purposes: Collection[Purpose], *candidates: Prepared) -> Exchange:
        """Return the next exchange: one of these requests, sent for one of these purposes.

        `what` names it in messages. Raises RecordedError if it is another one or missing, and
        UnconfirmedError if the report does not have all of it.
        """
        if not self._left:
            raise RecordedError(f"{what} is not recorded")
        recorded = self._left.popleft()
        if recorded.purpose not in purposes:
            raise RecordedError(f"{what} is not recorded; instead: {recorded.purpose.value}")
        exchange = _read(recorded)
        self.matched = self._matching(what, candidates, exchange)
        self.taken.append(exchange)
        return exchange

    def end(self) -> None:
        """Raise RecordedError if more is recorded than the suite sends."""
        if self._left:
            raise RecordedError(
                f"{self._left[0].purpose.value} is recorded, but the suite sends nothing more there"
            )

    def _matching(self, what: str, candidates: Sequence[Prepared], exchange: Exchange) -> Prepared:
        sent, differences = bytes(exchange.request), []
        for prepared in candidates:
            expected = b"".join(prepared.request.http1)
            at = first_difference(sent, expected, self._where)
            if at is None and exchange.answers == prepared.request.answers:
                return prepared
            differences.append((at or 0, len(expected)))
        at, length = max(differences)
        raise RecordedError(
            f"{what} is not what the suite sends: expected {length} bytes, got {len(sent)}, the "
            f"first that differs is byte {at}"
        )


def check_whole(exchange: Exchange) -> None:
    """Raise UnconfirmedError if the report does not have all bytes of an exchange."""
    if exchange.omitted:
        raise UnconfirmedError(f"{exchange.omitted} bytes of its exchanges are not in the report")
    if exchange.note.endswith(WITHHELD):
        raise UnconfirmedError("a body of its exchanges is withheld: it may have a secret")


def _read(exchange: Exchange) -> Exchange:
    """Return an exchange as the run read it. Raises RecordedError and UnconfirmedError."""
    check_whole(exchange)
    exchange, ending = exchange.unpacked(), exchange.ending
    partial = exchange.partial
    arrived = partial is not None and partial.whole and exchange.answers == 1
    if (ending is Ending.COMPLETE and partial is None) or (ending in _UNANSWERED and arrived):
        raise RecordedError(f"the recorded response does not end as the record says: {ending}")
    return exchange


def first_difference(sent: bytes, expected: bytes, where: Whereabouts) -> int | None:
    """Return the offset at which recorded bytes differ from the `expected` ones, else None.

    If the report masks secrets, masked bytes are not compared: the values of header fields that
    it hides, and each run of six or more asterisks. All others must be equal, and so must lengths.
    """
    if where.masks and sent != expected:
        expected = where.mask.sent(expected)
        if len(sent) == len(expected):
            seen = bytearray(expected)
            for run in _MASKED.finditer(sent):
                seen[run.start() : run.end()] = run[0]
            expected = bytes(seen)
    if sent == expected:
        return None
    pairs = zip(sent, expected, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(sent), len(expected)))
