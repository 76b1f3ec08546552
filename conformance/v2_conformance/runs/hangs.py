"""Shortens the wait for a server that hangs again and again."""

from __future__ import annotations

import threading

from msgspec.structs import replace

from v2_conformance.judging.survival import time_needed_s
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.causes.circumstances import Hung, TimedOutEarly
from v2_conformance.wire.transcript import Limits
from v2_conformance.wire.transport import Request

_IN_A_ROW = 3
_FLOOR_S = 1.0


class Hangs:
    """Hangs in a row among negative cases, and among all others. Threads can share it.

    After three in a row the next of their kind gets a shorter time-out, but never less than the
    server is known to need. A missing answer is then not a failure, since the server had less time
    than promised.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._in_a_row = {True: 0, False: 0}
        self._lock = threading.Lock()

    def hurried(self, case: RequestCase, request: Request, known_good_s: float) -> Request:
        """Return `request` with its time-out; `known_good_s` is how long known-good ones took."""
        if self._in_a_row[case.negative] < _IN_A_ROW:
            return request
        needed = time_needed_s(request.size, request.pause_s * len(request.http1), known_good_s)
        limit = max(_FLOOR_S, needed)
        if limit >= self._limits.exchange_s:
            return request
        return replace(request, limit_s=limit)

    def note(self, case: RequestCase, verdict: Verdict) -> None:
        """Count the result of a case that was sent."""
        cause = verdict.cause
        with self._lock:
            if isinstance(cause, Hung):
                self._in_a_row[case.negative] += 1
            elif not isinstance(cause, TimedOutEarly):
                self._in_a_row[case.negative] = 0
