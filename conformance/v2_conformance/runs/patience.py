"""Resends a request while the server says that it cannot serve right now.

A gateway answers 502 when the server behind it has closed a connection that it kept; a server that
limits rates answers 429. Neither is an answer to the request, and neither is a death.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone

from v2_conformance.judging.availability import asks_to_wait, retry_after_s, unavailable
from v2_conformance.wire.encode.deployment import Address
from v2_conformance.wire.encode.requests import LIVE, get_request
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.transport import Connection, Request

# A gateway may hold several connections that the server has closed, each good for one 502.
_AT_ONCE = 3
_SHORTEST_S = 0.05
_LONGEST_UNASKED_S = 1.0
# After this many failures in a row, the run no longer waits for the server.
_MOST_FRUITLESS = 3


def _nothing() -> None:
    return None


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
        self._lock = threading.Lock()

    def exchange(
        self,
        connection: Connection,
        request: Request,
        *,
        fresh: bool = False,
        unasked: bool = False,
        at_loss: Callable[[], object] = _nothing,
    ) -> tuple[Exchange, bool]:
        """Send `request`, again on fresh connections while the answer is 429, 502, 503 or 504.

        Waits for a server that asks to wait and, with `unasked`, for one that does not ask.
        `at_loss` is called once if an immediate retry does not help. Returns the last exchange, and
        whether there were earlier ones.
        """
        exchange = connection.exchange(request, fresh=fresh)
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
            exchange = connection.exchange(request, fresh=True)
        with self._lock:
            self._fruitless = self._fruitless + 1 if unavailable(exchange) else 0
        return exchange, True

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
        if left <= 0:
            return None
        response = exchange.response
        wanted = retry_after_s(response, datetime.now(timezone.utc)) if response else None
        if wanted is None:
            wanted = _SHORTEST_S * 2 ** min(tries if asked else tries - _AT_ONCE, 4)
        return min(max(wanted, _SHORTEST_S), left)


def _asks(exchange: Exchange) -> bool:
    return exchange.response is not None and asks_to_wait(exchange.response)


def liveness(connection: Connection, address: Address) -> Exchange:
    """Return the answer to GET /v2/health/live on a fresh connection.

    Asks again while a gateway says that it reached no server, which may be about a connection that
    it kept.
    """
    request = get_request(address, LIVE)
    exchange = connection.exchange(request, fresh=True)
    for _ in range(_AT_ONCE):
        if not unavailable(exchange) or _asks(exchange):
            break
        exchange = connection.exchange(request, fresh=True)
    return exchange
