"""How long a run waits: for a server that is busy, for one that hangs, and in all."""

# Theory
# ------
#
# A server may answer at once, late, or never. Three bounds keep a run of thousands of cases
# finite and blame no server that is only slow.
#
# `Patience`: 429, 502, 503 and 504 do not answer the request. A gateway sends 502 when the
# server behind it has closed a connection that it kept, a server that limits rates sends 429. So
# the request is sent again, at once and then as Retry-After says, for no longer than one answer
# may take. After three failed waits the run gives up. A server that answers 429 or 503
# while it serves n other requests gets at most n at a time from then on, until one that is alone
# gets such an answer. It also sees how much a slow path carries, and gives long messages that time.
#
# `Hangs`: a server that leaves one malformed request without an answer often leaves hundreds. After
# two, the next of their kind get less time. What is then not answered is not a failure, because the
# server had less time than promised; and known-good requests show how much it needs at least.
#
# `Budget`: the time of the whole run. What is not sent when it is spent makes the run incomplete.

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from v2_conformance.judging.availability import (
    asks_to_wait,
    kept_waiting,
    retry_after_s,
    unavailable,
)
from v2_conformance.judging.survival import time_needed_s
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.causes.kinds import Hung, TimedOutEarly
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.deployment import Address
from v2_conformance.wire.encode.requests import LIVE, get_request
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending, Limits
from v2_conformance.wire.transport import BYTES_A_SECOND, Connection, Request

# A gateway may hold several connections that the server has closed, each good for one 502.
_AT_ONCE = 3
_TRIES = 3
LOST = (Ending.CLOSED, Ending.RESET, Ending.REFUSED)
_SHORTEST_S = 0.05
_INSTANT_S = 0.001  # a clock need not notice less
_LONGEST_UNASKED_S = 1.0
# Bytes a second: the assumed speed of the path until long messages measure it, and the least
# that is assumed at all. `_SHARES` requests may share the path.
_CARRIED, _LEAST_CARRIED, _SHARES = 2048.0 * 1024, 8.0 * 1024, 8
_LONG = 1 << 15
# After this many failures in a row, the run no longer waits for the server.
_MOST_FRUITLESS = 3


class Patience:
    """The wait for a server that says it cannot serve right now. Threads can share it.

    `limit_s` bounds the wait for one answer, whatever Retry-After says; without Retry-After it is
    at most a second. `pause` and `clock` are for tests.
    """

    def __init__(
        self,
        limit_s: float,
        *,
        pause: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit_s = limit_s
        self._pause = pause
        self._clock = clock
        self._fruitless = 0
        self._carried = 0.0
        self._running = 0
        self._most_at_once = math.inf
        self._turns = threading.Condition()

    def exchange(
        self,
        connection: Connection,
        request: Request,
        *,
        fresh: bool = False,
        unasked: bool = False,
        at_loss: Callable[[], object] = lambda: None,
    ) -> tuple[Exchange, bool]:
        """Send `request`, again on fresh connections while the answer is 429, 502, 503 or 504.

        Waits for a server that asks to wait and, with `unasked`, for one that does not ask.
        `at_loss` is called once if an immediate retry does not help. Returns the last exchange, and
        whether there were earlier ones.
        """
        exchange = self._sent(connection, request, fresh)
        if not unavailable(exchange):
            return exchange, False
        # A gateway that took its time for this did not find a closed connection.
        hasty = exchange.duration_ms / 1000 < _LONGEST_UNASKED_S
        started, tries = self._clock(), 0 if hasty else _AT_ONCE
        while unavailable(exchange):
            pause = self._before_next(exchange, tries, started, unasked=unasked)
            if tries == _AT_ONCE and not _asks(exchange):
                at_loss()
            if pause is None:
                break
            if pause:
                self._pause(pause)
            tries += 1
            exchange = self._sent(connection, request, fresh=True)
        with self._turns:
            self._fruitless = self._fruitless + 1 if unavailable(exchange) else 0
        return exchange, True

    def _sent(self, connection: Connection, request: Request, fresh: bool) -> Exchange:
        """Exchange when it is this request's turn."""
        with self._turns:
            self._turns.wait_for(lambda: self._running < self._most_at_once, self._limit_s)
            self._running += 1
            carried = max((self._carried or _CARRIED) / _SHARES, _LEAST_CARRIED)
            rate = min(BYTES_A_SECOND, carried)
        exchange = connection.exchange(replace(request, rate=rate), fresh=fresh)
        size = len(exchange.request) + len(exchange.received)
        response = exchange.response  # read before it is this thread's turn
        status = None if response is None else response.status
        whole = status == 200 and exchange.ending is Ending.COMPLETE  # so the server read it all
        with self._turns:
            if whole and size > _LONG and exchange.duration_ms:
                self._carried = max(self._carried, size / exchange.duration_ms * 1000)
            self._running -= 1
            if status in (429, 503):
                self._most_at_once = self._running or math.inf
            self._turns.notify_all()
        return exchange

    def _before_next(
        self, exchange: Exchange, tries: int, started: float, *, unasked: bool
    ) -> float | None:
        """Return the seconds to wait before the next try, None if there is no next try."""
        asked = _asks(exchange)
        if not asked and tries < _AT_ONCE:
            return 0.0
        if self._fruitless >= _MOST_FRUITLESS or not (asked or unasked):
            return None
        limit = self._limit_s if asked else min(self._limit_s, _LONGEST_UNASKED_S)
        left = limit - (self._clock() - started)
        if left < _INSTANT_S:
            return None
        response = exchange.response
        wanted = retry_after_s(response) if response else None
        if wanted is None:
            wanted = _SHORTEST_S * 2 ** min(tries if asked else tries - _AT_ONCE, 4)
        return min(max(wanted, _SHORTEST_S), left)


def _asks(exchange: Exchange) -> bool:
    return exchange.response is not None and asks_to_wait(exchange.response)


def answered(send: Callable[[], Exchange]) -> Exchange:
    """Return what a known-good request gets. If the connection ends before a whole answer, the path
    may have lost it, so it is sent again, up to three times."""
    for _ in range(_TRIES):
        exchange = send()
        if exchange.ending not in LOST:
            return exchange
    return send()


def liveness(connection: Connection, address: Address) -> Exchange:
    """Return the answer to GET /v2/health/live on a fresh connection. Asks again while a gateway
    says that it reached no server, which may be about a connection that it kept."""
    return Patience(0.0).exchange(connection, get_request(address, LIVE), fresh=True)[0]


_ONE = 1.0
_MOST = 3.0
_EARLY = 0.2  # a missing answer within a shortened timeout
_FADE = 0.01  # with each case that gets an answer
_FLOOR_S = 0.25  # more than a delayed acknowledgment takes
_MANY, _FLOOR_AFTER_MANY_S = 50, 0.05  # a server that left so many unanswered leaves hundreds
_CONFIRMING_S = 1.0
_HASTE = 5  # the slowest known-good answer of a busy machine does not measure the others


class Hangs:
    """Recent hangs among negative cases, and among all others, of those that run alone.

    After two, the next of their kind gets a shorter timeout, but never less than four times what
    known-good requests needed at most. A missing answer is then not a failure, since the server had
    less time than promised. A hang is forgotten after a hundred cases of its kind that get an
    answer.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._recent = {True: 0.0, False: 0.0}
        self._missing = 0

    def hurried(self, negative: bool, request: Request, known_good_s: float) -> Request:
        """Return `request`, which a server may refuse if `negative`, with its timeout;
        `known_good_s` is how long known-good ones took."""
        if self._recent[negative] <= _ONE:
            return request
        pauses_s = request.pause_s * len(request.http1)
        floor_s = _FLOOR_S if self._missing < _MANY else _FLOOR_AFTER_MANY_S
        limit = max(floor_s, time_needed_s(0, pauses_s, known_good_s / _HASTE))
        if limit >= self._limits.exchange_s:
            return request
        return replace(request, limit_s=limit)

    def before_s(self, known_good_s: float) -> float:
        """Return the time limit for a request before a case, whose answer says nothing about it."""
        needed = max(self._limits.exchange_s / 3, time_needed_s(0, 0.0, known_good_s))
        return min(needed, self._limits.exchange_s)

    def confirming_s(self, known_good_s: float) -> float:
        """Return the time limit of a request that is sent again because it got no answer."""
        needed = max(_CONFIRMING_S, time_needed_s(0, 0.0, known_good_s))
        return min(needed, self._limits.exchange_s)

    def note(self, case: RequestCase, verdict: Verdict, exchanges: Iterable[Exchange]) -> None:
        """Count the result of a case that was sent, and its `exchanges`."""
        cause = verdict.cause
        early = isinstance(cause, TimedOutEarly)
        hung = isinstance(cause, Hung) or any(
            kept_waiting(one) or (verdict.outcome is Outcome.FAIL and one.ending is Ending.TIMEOUT)
            for one in exchanges
        )
        self._missing += hung or early
        change = _ONE if hung else _EARLY if early else -_FADE
        self._count(case.negative, change)

    def note_before(self) -> None:
        """Count a request before a case that got no answer: most of them are to be refused."""
        self._count(True, _ONE)

    def _count(self, negative: bool, change: float) -> None:
        self._recent[negative] = min(max(self._recent[negative] + change, 0.0), _MOST)


_LEAST_S = 600.0
# A tenth of the timeout for each case, which few need; plus room for some that time out.
_SHARE_OF_TIMEOUT = 0.1
_TIMEOUTS = 20


def default_limit_s(cases: int, timeout_s: float) -> float:
    """Return the default time limit of a run of so many cases: far more than slow servers need."""
    return max(_LEAST_S, (cases * _SHARE_OF_TIMEOUT + _TIMEOUTS) * timeout_s)


@dataclass
class Budget:
    """Time limit of a run, counted from construction. Once it is spent, no more cases are sent.
    `clock` is for tests."""

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
