"""Shortens the wait for a server that hangs again and again."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from v2_conformance.judging.availability import kept_waiting
from v2_conformance.judging.survival import time_needed_s
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.causes.kinds import Hung, TimedOutEarly
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Limits
from v2_conformance.wire.transport import Request

_ONE = 1.0
_MOST = 3.0
_EARLY = 0.2  # a missing answer in a shorter time-out
_FADE = 0.01  # with each case that gets an answer
_FLOOR_S = 0.25
_HASTE = 5  # the slowest known-good answer of a busy machine is no measure of the others


class Hangs:
    """Recent hangs among negative cases, and among all others, of those that run alone.

    After two, the next of their kind gets a shorter time-out, but never less than four times what
    known-good requests needed at most. A missing answer is then not a failure, since the server had
    less time than promised. A hang is forgotten after a hundred cases of its kind that get an
    answer.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._recent = {True: 0.0, False: 0.0}

    def hurried(self, negative: bool, request: Request, known_good_s: float) -> Request:
        """Return `request`, which a server may refuse if `negative`, with its time-out;
        `known_good_s` is how long known-good ones took."""
        if self._recent[negative] <= _ONE:
            return request
        pauses_s = request.pause_s * len(request.http1)
        needed = time_needed_s(request.size, pauses_s, known_good_s / _HASTE)
        limit = max(_FLOOR_S, needed)
        if limit >= self._limits.exchange_s:
            return request
        return replace(request, limit_s=limit)

    def note(self, case: RequestCase, verdict: Verdict, came: Iterable[Exchange] = ()) -> None:
        """Count the result of a case that was sent, and for which this `came`."""
        cause = verdict.cause
        early = isinstance(cause, TimedOutEarly)
        hung = isinstance(cause, Hung) or any(kept_waiting(one) for one in came)
        change = _ONE if hung else _EARLY if early else -_FADE
        self._count(case.negative, change)

    def note_before(self) -> None:
        """Count a request before a case that got no answer: most of them are to be refused."""
        self._count(True, _ONE)

    def _count(self, negative: bool, change: float) -> None:
        self._recent[negative] = min(max(self._recent[negative] + change, 0.0), _MOST)
