"""Explains why a server cannot be tested, in one whole sentence, with the option or step that
helps.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from v2_conformance.judging.metadata import status_words
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.causes.base import printable
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending, Response
from v2_conformance.wire.sockets import ONLY_TLS

_SHOWN = 200
_LONGEST_URL = 300
_REDIRECTIONS = frozenset({301, 302, 303, 307, 308})
_CREDENTIALS = "--bearer-env, --header or `auth` in a target file"
# How HTTPS servers answer plain HTTP: all send 400, nginx also 497 in its log.
_SAYS_HTTPS = re.compile(rb"HTTPS (?:port|server)|SSL-enabled server port", re.IGNORECASE)


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
        return f"{url} cannot be reached: {detail}"
    silent = not exchange.received and exchange.ending in (Ending.CLOSED, Ending.RESET)
    if silent and target.url.lower().startswith("http:"):
        return (
            f"{url} gave no answer that can be read: {detail}; if it speaks TLS, the URL must "
            "begin with https://"
        )
    if silent and target.cert is None:
        return (
            f"{url} gave no answer that can be read: {detail}; if it wants a client certificate, "
            "give it one with --cert"
        )
    return f"{url} gave no answer that can be read: {detail}"


def of_status(where: str, response: Response, target: Target) -> str:
    """Return why `where`, a GET of server metadata, was answered with a status other than 200."""
    status = response.status
    got = f"{where} answered with status {status}"
    if status in _REDIRECTIONS and response.value("location"):
        return f"{where} answered with {status_words(response)}; {_redirected(response, target)}"
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
    if status == 404 and urlsplit(target.url).path.rstrip("/").endswith("/v2"):
        return f"{got}: leave /v2 out of the URL, because the suite adds it"
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


def _redirected(response: Response, target: Target) -> str:
    """Return advice for a redirection, which a run does not follow."""
    base = _base_of(response.value("location") or "", target)
    if base is not None:
        return f"a run follows no redirect: use the URL {base}"
    credentials = "" if _has_credentials(target) else f", or give credentials with {_CREDENTIALS}"
    return f"a run follows no redirect: use the URL of the server itself{credentials}"


def _base_of(location: str, target: Target) -> str | None:
    """Return the base URL of a target whose /v2 is at `location`, None if that is
    something else.
    """
    if not (location.isascii() and location.isprintable()) or len(location) > _LONGEST_URL:
        return None
    try:
        there, here = urlsplit(location), urlsplit(target.public_url)
        path = there.path.rstrip("/")
        if there.query or there.username is not None or not path.endswith("/v2"):
            return None
        scheme, host = there.scheme or here.scheme, there.netloc or here.netloc
    except ValueError:
        return None
    base = f"{scheme}://{host}{path.removesuffix('/v2')}"
    return base if scheme in ("http", "https") and base != target.public_url.rstrip("/") else None
