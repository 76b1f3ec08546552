"""Waits for a server before a run, and explains in one sentence why one cannot be tested."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from v2_conformance.errors import UnreachableError
from v2_conformance.judging.availability import unavailable
from v2_conformance.judging.metadata import status_words
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.causes.base import printable
from v2_conformance.wire.encode.requests import LIVE, get_request
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending, Response
from v2_conformance.wire.sockets import ONLY_TLS
from v2_conformance.wire.transport import Connection

READY = "/v2/health/ready"
READY_WITHIN_S = 30.0

_BETWEEN_S = 0.2
_ONE_ANSWER_S = 5.0
# The server lacks this endpoint, or does not let us ask: discovery reports whatever is wrong.
_SAY_NOTHING = frozenset({401, 403, 404, 405, 410, 501})
_SHOWN = 200
_REDIRECTIONS = frozenset({301, 302, 303, 307, 308})
WITHOUT_ACCESS = frozenset({401, 403, 407})
"""Statuses about the credentials of a request, not about what it asks for."""
_CREDENTIALS = "--bearer-env, --header or `auth` in a target file"
# How HTTPS servers answer plain HTTP: all send 400, nginx also 497 in its log.
_SAYS_HTTPS = re.compile(rb"HTTPS (?:port|server)|SSL-enabled server port", re.IGNORECASE)


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
    server that stays unready.
    """
    limit = READY_WITHIN_S if within_s is None else within_s
    end = clock() + limit
    with closing(_connection(target)) as connection:
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
    if exchange.hint is not None:
        raise UnreachableError(no_answer(target.public_url, exchange, target))
    got = "no answer" if exchange.response is None else f"status {exchange.response.status}"
    raise UnreachableError(
        f"{target.public_url} is not ready: GET {READY} still gets {got} after {limit:g} s; "
        "--wait-ready changes the limit"
    )


def answers(target: Target) -> bool:
    """Return True if anything answers at the target's URL just now."""
    with closing(_connection(target)) as connection:
        return _get(connection, target, READY).response is not None


def _connection(target: Target) -> Connection:
    asked = replace(target.limits, exchange_s=min(target.limits.exchange_s, _ONE_ANSWER_S))
    return replace(target, limits=asked).connection()


def _get(connection: Connection, target: Target, path: str) -> Exchange:
    return connection.exchange(get_request(target.address, path), fresh=True)


def _unready(ready: Exchange, connection: Connection, target: Target) -> bool:
    """Return True if an answer says that the server is not ready. The protocol asks for a 4xx,
    which a server without the endpoint may also send: then it does not say that it is alive
    either."""
    status = ready.response.status if ready.response else 0
    if status < 400 or status in _SAY_NOTHING:
        return False
    if unavailable(ready):
        return True
    alive = _get(connection, target, LIVE).response
    return alive is not None and alive.status < 300


def no_answer(url: str, exchange: Exchange, target: Target) -> str:
    """Return why an exchange with `url` brought no response."""
    if exchange.hint is not None:
        return f"{url} cannot be reached: {exchange.hint}"
    detail = printable(exchange.detail, _SHOWN)
    if exchange.ending is Ending.TIMEOUT and exchange.sent:
        return (
            f"{url} gave no complete answer within {target.limits.exchange_s:g} s; is the server "
            "busy or the URL wrong? (--timeout changes the limit)"
        )
    if not exchange.sent:
        return f"{url} cannot be reached: {detail}; is the URL right, and does the server run?"
    hint = ""
    if not exchange.received and exchange.ending in (Ending.CLOSED, Ending.RESET):
        if target.url.lower().startswith("http:"):
            hint = "; if it speaks TLS, the URL must begin with https://"
        elif target.cert is None:
            hint = "; if it wants a client certificate, give it one with --cert"
    return f"{url} gave no answer that can be read: {detail}{hint}"


def of_status(where: str, response: Response, target: Target) -> str:
    """Return why `where`, a GET of metadata, was answered with a status other than 200."""
    status = response.status
    got = f"{where} answered with status {status}"
    if status in _REDIRECTIONS and response.value("location"):
        return (
            f"{where} answered with {status_words(response)}; a run follows no redirect: use the "
            f"URL of the server itself, or give credentials with {_CREDENTIALS}"
        )
    if status == 401:
        wanted = response.value("www-authenticate")
        scheme = f" ({printable(wanted, 80)})" if wanted else ""
        if _has_credentials(target):
            return f"{got}: it did not accept the credentials{scheme}; give others"
        return f"{got}: it wants credentials{scheme}; give them with {_CREDENTIALS}"
    if status == 403:
        if _has_credentials(target):
            return f"{got}: these credentials have no access; give others with {_CREDENTIALS}"
        return (
            f"{got}: it refuses access; it may want credentials ({_CREDENTIALS}) or another Host "
            "(--header 'Host: NAME')"
        )
    if status == 407:
        return f"{got}: a proxy wants credentials; give them with --header 'Proxy-Authorization: …'"
    base, path, _ = f"{target.public_url}/".partition("/v2/")
    if status == 404 and path:
        return f"{got}: did you mean {base}? (the suite adds /v2 itself)"
    if status == 404:
        return (
            f"{got}: no V2 server is at this path; the URL must have the server's base path, and "
            "behind a gateway that chooses by name --header 'Host: NAME' must name the server"
        )
    if status == 400 and _SAYS_HTTPS.search(bytes(response.body[:4096])):
        return f"{got}: {ONLY_TLS}"
    return f"{got}, not with V2 server metadata; is this the base URL of a V2 server?"


def _has_credentials(target: Target) -> bool:
    return any(name.lower() == "authorization" for name, _ in target.address.headers)
