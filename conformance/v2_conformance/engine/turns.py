"""The order in which requests leave while cases share the server.

What a server keeps of a request that it rejects shows in the one that it serves next. If that is
another one that it has to reject, nobody sees it. So between two requests that may leave something
behind a known-good one has to leave, whichever connections they use, and all leave at intervals: so
the server gets them in this order, as long as they spend most of their time on the way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from v2_conformance.engine.result import Exchange


class Turns:
    """Gives threads their turns to send, at least `interval_s` seconds apart."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._next = 0.0
        self._unseen = False

    def left_behind(self) -> bool:
        """Take the turn for a request that may leave something behind. False if a known-good one
        has to come first: then there is no turn."""
        with self._lock:
            if self._unseen:
                return False
            self._unseen = True
            wait_s = self._wait_s()
        time.sleep(wait_s)
        return True

    def known_good(self) -> None:
        """Take the turn for a known-good request."""
        with self._lock:
            self._unseen = False
            wait_s = self._wait_s()
        time.sleep(wait_s)

    def _wait_s(self) -> float:
        now = time.monotonic()
        at = max(now, self._next)
        self._next = at + self._interval_s
        return at - now


def round_trip_s(asked: Sequence[Exchange]) -> float:
    """How long a server takes for the plainest request on a kept connection, as discovery saw it;
    0 if it saw none."""
    kept = [e.transcript.duration_s for e in asked if e.transcript.reused]
    return min(kept, default=min((e.transcript.duration_s for e in asked), default=0.0))
