"""Variants of servers that cannot always serve (RFC 9110, sections 10.2.3 and 15.6)."""

from __future__ import annotations

import threading
from dataclasses import replace

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Headers, Request, Response
from v2_mutants.registry import variant

_NOW: Headers = (("Retry-After", "0"),)
_HTML = ("Content-Type", "text/html")


class NowAndThen(Behaviour):
    """Answers each twentieth request with `unavailable`."""

    _asked = 0

    def handle(self, request: Request) -> Response:
        self._asked += 1
        return super().handle(request) if self._asked % 20 else self.unavailable()

    def unavailable(self) -> Response:
        """The answer of a server that cannot serve just now."""
        raise NotImplementedError


now_and_then = variant.family(NowAndThen)
now_and_then("overloaded-now-and-then", "RFC 9110, section 15.6.4", NowAndThen.unavailable)(
    "Each twentieth request is answered with 503 and Retry-After.",
    lambda right: right.server.error(503, "overloaded", _NOW),
)


now_and_then("rate-limited", "RFC 6585, section 4", NowAndThen.unavailable)(
    "Each twentieth request is answered with 429 and Retry-After, in HTML.",
    lambda right: Response(429, (_HTML, *_NOW), (b"<html>Too many requests</html>",)),
)


now_and_then("gateway-loses-connections", "RFC 9110, section 15.6.3", NowAndThen.unavailable)(
    "Each twentieth request is answered with 502 by a gateway, which then connects anew.",
    lambda right: Response(502, (("Server", "Caddy"),)),
)


@variant.several("one-request-at-a-time", "RFC 9110, section 15.6.4")
class _OneRequestAtATime(Behaviour):
    """While one inference request is computed, others are answered with 503 and Retry-After."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._computing = threading.Lock()

    def handle(self, request: Request) -> Response:
        if not self._computing.acquire(blocking=False):
            return self.error(503, "busy", _NOW)
        try:
            return super().handle(request)
        finally:
            self._computing.release()


@variant.several("slow-start", "base protocol, Health: a server may be live and not ready")
class _SlowStart(Behaviour):
    """Only when asked for the fourth time is the server ready; before that nothing is served."""

    _asked = 0

    def handle(self, request: Request) -> Response:
        asked_for_readiness = request.target.endswith("/v2/health/ready")
        self._asked += asked_for_readiness
        if self._asked > 3 or request.target.endswith("/v2/health/live"):
            return super().handle(request)
        if asked_for_readiness:
            return self.error(400, "not ready")
        return replace(self.error(503, "the models are being loaded"), keep_open=False)
