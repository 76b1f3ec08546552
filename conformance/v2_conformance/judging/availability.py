"""Recognizes a server, or a gateway in front of it, that says it cannot serve right now."""

from __future__ import annotations

import re

from v2_conformance.judging.messages.response_json import error_problem
from v2_conformance.suite.causes.base import excerpt, printable
from v2_conformance.suite.causes.kinds import Unavailable
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending, Response

GATEWAY_STATUSES = frozenset({502, 503, 504})
"""The statuses by which a gateway says that it got no answer (RFC 9110, section 15.6)."""

_TOO_MANY = 429
_RETRY_AFTER = "retry-after"
_SECONDS = re.compile("[0-9]{1,9}")
_NO_REFUSAL_MS = 4000.0


def unavailable(exchange: Exchange) -> bool:
    """Return True if an answer is 429, 502, 503 or 504, so that another try may succeed: that to
    the request or to one pipelined after it."""
    response = exchange.response
    while response is not None:
        if response.status in GATEWAY_STATUSES or response.status == _TOO_MANY:
            return True
        response = response.following
    return False


def kept_waiting(exchange: Exchange) -> bool:
    """Return True if a server took seconds and then closed, or a gateway gave up on it: the request
    hung, but something else gave up sooner than a run does."""
    gave_up = exchange.ending in (Ending.CLOSED, Ending.RESET) or unavailable(exchange)
    return gave_up and exchange.duration_ms >= _NO_REFUSAL_MS


def hung(exchange: Exchange) -> bool:
    """Return True if no answer came in time, or somebody ended the wait for one."""
    return exchange.ending is Ending.TIMEOUT or kept_waiting(exchange)


def asks_to_wait(response: Response) -> bool:
    """Return True if the server asks for another try later: 429 (RFC 6585, section 4), or 503 with
    Retry-After (RFC 9110, sections 10.2.3 and 15.6.4). Such a response does not answer the request.
    """
    if response.status == _TOO_MANY:
        return True
    return response.status == 503 and response.value(_RETRY_AFTER) is not None


def plea(response: Response) -> Unavailable:
    """Return the cause for a case that could not be judged because the server asked to wait."""
    value = response.value(_RETRY_AFTER)
    after = None if value is None else printable(value, 60)
    return Unavailable(response.status, after, excerpt(response.body))


def retry_after_s(response: Response) -> float | None:
    """Return the seconds that Retry-After asks for; None for a date, which needs equal clocks."""
    value = (response.value(_RETRY_AFTER) or "").strip()
    return float(value) if _SECONDS.fullmatch(value) else None


def down(liveness: Exchange) -> bool:
    """Return True if the answer to a GET of /v2/health/live says that there is no server. A 503
    with {"error": string} is of a server that lives and is busy (RFC 9110, section 15.6.4)."""
    response = liveness.response
    if response is None:
        return True
    if response.status == 503 and error_problem(response) is None:
        return False
    return response.status in GATEWAY_STATUSES and not asks_to_wait(response)
