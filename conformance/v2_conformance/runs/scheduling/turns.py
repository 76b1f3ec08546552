"""The order in which requests leave while cases share the server.

Anything that a server keeps of a rejected request shows in the next one that it serves. If it has
to reject that one as well, the defect goes unseen. So a known-good request leaves between any two
requests that may leave something behind, whichever connections they use, and all leave at
intervals: the server then gets them in this order, as long as they spend most of their time in
transit.
"""

from __future__ import annotations

import threading
import time


class Turns:
    """Gives threads their turns to send, at least `interval_s` seconds apart.

    At most `cases` are under way at a time. A case that only waits for the answer to its known-good
    request makes room for the next, which leaves right after that request.
    """

    def __init__(self, interval_s: float, cases: int) -> None:
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._next = 0.0
        self._unseen = False
        self._room = threading.Semaphore(cases)
        self._mine = threading.local()  # True while this thread's case takes room

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
        """Take the turn for a request that may leave something behind. Return False, and take no
        turn, if a known-good one has to come first.
        """
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
