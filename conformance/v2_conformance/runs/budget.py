"""Time budget of a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

_LEAST_S = 600.0
# A tenth of the time-out for each case, which few need; plus room for some that time out.
_SHARE_OF_TIMEOUT = 0.1
_TIMEOUTS = 20


def default_limit_s(cases: int, timeout_s: float) -> float:
    """Return the default time limit of a run of so many cases: far more than slow servers need."""
    return max(_LEAST_S, (cases * _SHARE_OF_TIMEOUT + _TIMEOUTS) * timeout_s)


@dataclass
class Budget:
    """Time limit of a run, counted from construction. Once it is spent, no more cases are sent.

    `clock` is for tests.
    """

    limit_s: float
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._end = self.clock() + self.limit_s

    @property
    def left_s(self) -> float:
        """Seconds left, 0 if the budget is spent."""
        return max(0.0, self._end - self.clock())

    @property
    def spent(self) -> bool:
        """True if no time is left."""
        return self.left_s <= 0
