"""The order in which requests leave while cases share the server.

What a server keeps of a request that it rejects shows in the one that it serves next. If that is
another one that it has to reject, nobody sees it. So between two requests that may leave something
behind a known-good one has to leave, whichever connections they use, and all leave at intervals: so
the server gets them in this order, as long as they spend most of their time on the way.
"""

from __future__ import annotations

import threading
import time


class Turns:
    """Gives threads their turns to send, at least `interval_s` seconds apart.

    So many `cases` are under way at a time. One that only waits for the answer to its known-good
    request makes room for the next, which leaves right behind that.
    """

    def __init__(self, interval_s: float, cases: int) -> None:
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._next = 0.0
        self._unseen = False
        self._room = threading.Semaphore(cases)
        self._mine = threading.local()  # whether this thread's case takes room

    def enter(self) -> None:
        """Wait until there is room for a case of this thread."""
        self._room.acquire()
        self._mine.taken = True

    def leave(self) -> None:
        """Make room for another case, unless this thread's has done so."""
        if getattr(self._mine, "taken", False):
            self._mine.taken = False
            self._room.release()

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
