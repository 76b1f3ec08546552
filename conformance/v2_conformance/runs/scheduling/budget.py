"""How long a run may take, and how it stops waiting for a server that hangs again and again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from v2_conformance.judging.survival import time_needed_s
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.causes.circumstances import Hung, TimedOutEarly
from v2_conformance.suite.choosing.sizes import huge_sizes
from v2_conformance.wire.transcript import Limits
from v2_conformance.wire.transport import Request

_LEAST_S = 600.0
# A tenth of the time-out for each case, which few take; and some that time out.
_SHARE_OF_TIMEOUT = 0.1
_TIMEOUTS = 20
_REQUESTS_OF_A_CASE = 4  # on average; few have more than three
_HANGS_IN_A_ROW = 3
_FLOOR_S = 1.0


def default_limit_s(cases: int, timeout_s: float, rate: float | None = None) -> float:
    """How long a run of so many cases may take if nobody says: far more than slow servers need, at
    most `rate` requests per second."""
    paced_s = 0.0 if rate is None else cases * _REQUESTS_OF_A_CASE / rate
    return max(_LEAST_S, (cases * _SHARE_OF_TIMEOUT + _TIMEOUTS) * timeout_s) + paced_s


def usual_limit_s(cases: Sequence[Case], limits: Limits, rate: float | None) -> float:
    """The same for these cases, with the time that the tensors of huge ones may take."""
    of_huge = sum(map(limits.exchange_with, huge_sizes(cases)))
    return default_limit_s(len(cases), limits.exchange_s, rate) + of_huge


@dataclass
class Budget:
    """The time of a run, which begins when this is made. Once it is spent no case is sent any more.

    `clock` is for tests.
    """

    limit_s: float
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._end = self.clock() + self.limit_s

    def allow(self, seconds: float) -> None:
        """Take so much longer: something that is no case took the time."""
        self._end += seconds

    @property
    def left_s(self) -> float:
        """Seconds left, 0 if it is spent."""
        return max(0.0, self._end - self.clock())

    @property
    def spent(self) -> bool:
        """Whether no time is left."""
        return self.left_s <= 0


class Hangs:
    """Hangs in a row among negative cases, and among all others. Threads can share it.

    After three in a row the time-out for the next of their kind is shorter, though never shorter
    than what the server is known to need. What gets no answer by then is no failure, since the
    server had less time than it was promised.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._in_a_row = {True: 0, False: 0}
        self._lock = threading.Lock()

    def hurried(self, case: RequestCase, request: Request, known_good_s: float) -> Request:
        """Return `request` with its time-out; `known_good_s` is how long known-good ones took."""
        if self._in_a_row[case.negative] < _HANGS_IN_A_ROW:
            return request
        needed = time_needed_s(request.size, request.pause_s * len(request.http1), known_good_s)
        limit = max(_FLOOR_S, needed)
        if limit >= self._limits.exchange_s:
            return request
        return replace(request, limit_s=limit)

    def note(self, case: RequestCase, verdict: Verdict) -> None:
        """Count what became of a case that was sent."""
        cause = verdict.cause
        with self._lock:
            if isinstance(cause, Hung):
                self._in_a_row[case.negative] += 1
            elif not isinstance(cause, TimedOutEarly):
                self._in_a_row[case.negative] = 0
