"""Variants of servers that cannot always serve (RFC 9110, sections 10.2.3 and 15.6)."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Headers, Request, Response
from v2_conformance.reference.variants.registry import variant

_NOW: Headers = (("Retry-After", "0"),)
_UNREADY = 3


class NowAndThen(Behaviour):
    """Answers each twentieth request with `unavailable`."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._asked = itertools.count(1)

    def handle(self, request: Request) -> Response:
        return super().handle(request) if next(self._asked) % 20 else self.unavailable()

    def unavailable(self) -> Response:
        """The answer of a server that cannot serve just now."""
        raise NotImplementedError


@variant(
    "overloaded-now-and-then",
    allowed_by="RFC 9110, section 15.6.4",
    text="Each twentieth request is answered with 503 and Retry-After.",
)
class _OverloadedNowAndThen(NowAndThen):
    def unavailable(self) -> Response:
        return self.error(503, "overloaded", _NOW)


@variant(
    "rate-limited",
    allowed_by="RFC 6585, section 4",
    text="Each twentieth request is answered with 429 and Retry-After, in HTML.",
)
class _RateLimited(NowAndThen):
    def unavailable(self) -> Response:
        page = b"<html>Too many requests</html>"
        return Response(429, (("Content-Type", "text/html"), *_NOW), (page,))


@variant(
    "gateway-loses-connections",
    allowed_by="RFC 9110, section 15.6.3",
    text="Each twentieth request is answered with 502 by a gateway, which then connects anew.",
)
class _GatewayLosesConnections(NowAndThen):
    def unavailable(self) -> Response:
        return Response(502, (("Server", "Caddy"),), ())


@variant(
    "one-request-at-a-time",
    allowed_by="RFC 9110, section 15.6.4",
    text="While one inference request is computed, others are answered with 503 and Retry-After.",
)
class _OneRequestAtATime(Behaviour):
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


@variant(
    "slow-start",
    allowed_by="base protocol, Health: a server may be live and not ready",
    text="Only when asked for the fourth time is the server ready; before that nothing is served.",
)
class _SlowStart(Behaviour):
    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._asked = 0

    def handle(self, request: Request) -> Response:
        if request.target.endswith("/v2/health/live"):
            return super().handle(request)
        if request.target.endswith("/v2/health/ready"):
            self._asked += 1
            if self._asked <= _UNREADY:
                return self.error(400, "not ready")
        if self._asked <= _UNREADY:
            return replace(self.error(503, "the models are being loaded"), keep_open=False)
        return super().handle(request)
