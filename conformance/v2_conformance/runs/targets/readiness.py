"""Waits for a server to become ready before a run begins."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from v2_conformance.errors import UnreachableError, UsageError
from v2_conformance.judging.availability import unavailable
from v2_conformance.runs.targets.numbers import LONGEST_TIMEOUT_S
from v2_conformance.runs.targets.target import Target
from v2_conformance.runs.targets.unreachable import no_answer
from v2_conformance.wire.encode.requests import LIVE, get_request
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.transport import Connection

READY = "/v2/health/ready"
READY_WITHIN_S = 30.0

_BETWEEN_S = 0.2
_ONE_ANSWER_S = 5.0
# The server lacks this endpoint, or does not let us ask: discovery reports whatever is wrong.
_SAY_NOTHING = frozenset({401, 403, 404, 405, 410, 501})


def wait_until_ready(
    target: Target,
    within_s: float | None = None,
    *,
    pause: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Return once GET /v2/health/ready succeeds, or gives no information.

    Waits for up to `within_s` seconds; by default for READY_WITHIN_S if there is an answer, and not
    at all if there is none, so that a wrong URL is reported at once. Raises UnreachableError for a
    server that stays unready, UsageError for an invalid limit.
    """
    if within_s is not None and not 0 <= within_s <= LONGEST_TIMEOUT_S:  # NaN is neither
        raise UsageError(
            f"the time to become ready must be from 0 to {LONGEST_TIMEOUT_S:.0f} seconds"
        )
    limits = target.limits
    asked = replace(limits, exchange_s=min(limits.exchange_s, _ONE_ANSWER_S))
    connection = replace(target, limits=asked).transport().connection()
    limit = READY_WITHIN_S if within_s is None else within_s
    end = clock() + limit
    try:
        while True:
            exchange = _get(connection, target, READY)
            if exchange.response is None and within_s is None:
                return
            if exchange.response is not None and not _unready(exchange, connection, target):
                return
            left = end - clock()
            if left <= 0:
                break
            pause(min(_BETWEEN_S, left))
    finally:
        connection.close()
    if exchange.hint is not None:
        raise UnreachableError(no_answer(target.public_url, exchange, target))
    got = "no answer" if exchange.response is None else f"status {exchange.response.status}"
    raise UnreachableError(
        f"{target.public_url} is not ready: GET {READY} still gets {got} after {limit:g} s; "
        "--wait-ready changes the limit"
    )


def answers(target: Target) -> bool:
    """Return True if anything answers at the target's URL just now."""
    asked = replace(target.limits, exchange_s=min(target.limits.exchange_s, _ONE_ANSWER_S))
    connection = replace(target, limits=asked).transport().connection()
    try:
        return _get(connection, target, READY).response is not None
    finally:
        connection.close()


def _get(connection: Connection, target: Target, path: str) -> Exchange:
    return connection.exchange(get_request(target.address, path), fresh=True)


def _unready(ready: Exchange, connection: Connection, target: Target) -> bool:
    """Return True if an answer says that the server is not ready.

    The protocol asks for a 4xx, which a server without the endpoint may also send: then it does not
    say that it is alive either.
    """
    status = ready.response.status if ready.response else 0
    if status < 400 or status in _SAY_NOTHING:
        return False
    if unavailable(ready):
        return True
    alive = _get(connection, target, LIVE).response
    return alive is not None and alive.status < 300
