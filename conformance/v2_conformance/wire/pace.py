"""Limits the requests per second of a run, whatever connections and threads it uses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Pace:
    """At most `rate` requests per second, evenly spaced. Threads can share it.

    `pause` and `clock` are for tests.
    """

    def __init__(
        self,
        rate: float,
        *,
        pause: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rate = rate
        self._pause = pause
        self._clock = clock
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Return once the next request may leave."""
        with self._lock:
            now = self._clock()
            at = max(now, self._next)
            self._next = at + 1 / self.rate
        if at > now:
            self._pause(at - now)
