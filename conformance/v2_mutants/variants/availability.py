"""Variants of servers that cannot always serve (RFC 9110, sections 10.2.3 and 15.6)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Headers, Request, Response
from v2_conformance.suite.models import ModelContract
from v2_mutants.registry import Right, What, variant

_NOW: Headers = (("Retry-After", "0"),)
_LIVE = "base protocol, Health: a server may be live and not ready"
_HTML = ("Content-Type", "text/html")


def now_and_then(unavailable: Callable[[Behaviour], Response]) -> What[Response]:
    """Return what answers each twentieth request as a server that cannot serve just now."""

    def what(right: Right[Response], request: Request) -> Response:
        asked = right.state["asked"] = right.state.get("asked", 0) + 1
        return right() if asked % 20 else unavailable(right.server)

    return what


variant("overloaded-now-and-then", "RFC 9110, section 15.6.4", Behaviour.handle)(
    "Each twentieth request is answered with 503 and Retry-After.",
    now_and_then(lambda server: server.error(503, "overloaded", _NOW)),
)
variant("rate-limited", "RFC 6585, section 4", Behaviour.handle)(
    "Each twentieth request is answered with 429 and Retry-After, in HTML.",
    now_and_then(lambda _: Response(429, (_HTML, *_NOW), (b"<html>Too many requests</html>",))),
)
variant("gateway-loses-connections", "RFC 9110, section 15.6.3", Behaviour.handle)(
    "Each twentieth request is answered with 502 by a gateway, which then connects anew.",
    now_and_then(lambda _: Response(502, (("Server", "Caddy"),))),
)


@variant("mistakes-rate-limited", "RFC 6585, section 4", Behaviour.handle)
def _(right: Right[Response], request: Request) -> Response:
    """After five refusals in a row, the next two requests get a 503 with Retry-After."""
    refused = right.state.get("refused", 0)
    if refused >= 5:
        right.state["refused"] = refused + 1 if refused == 5 else 0
        return right.server.error(503, "wait a moment", _NOW)
    response = right()
    right.state["refused"] = refused + 1 if response.status >= 400 else 0
    return response


@variant("models-loaded-when-asked-for", "base protocol, Health", Behaviour.run_model)
def _(
    right: Right[dict[str, Tensor]], model: ModelContract, inputs: dict[str, Tensor]
) -> dict[str, Tensor]:
    """The first inference of each model takes longer."""
    if model.model in right.state:
        return right()
    right.state[model.model] = True
    threading.Event().wait(0.05)
    return right()


@variant("one-request-at-a-time", "RFC 9110, section 15.6.4", Behaviour.handle)
def _(right: Right[Response], request: Request) -> Response:
    """While one inference request is computed, others are answered with 503 and Retry-After."""
    computing = right.state.setdefault("computing", threading.Lock())
    if not computing.acquire(blocking=False):
        return right.server.error(503, "busy", _NOW)
    try:
        return right()
    finally:
        computing.release()


@variant("slow-start", _LIVE, Behaviour.handle)
def _(right: Right[Response], request: Request) -> Response:
    """Only when asked for the fourth time is the server ready; before that nothing is served."""
    asked_for_readiness = request.target.endswith("/v2/health/ready")
    asked = right.state["asked"] = right.state.get("asked", 0) + asked_for_readiness
    if asked > 3 or request.target.endswith("/v2/health/live"):
        return right()
    if asked_for_readiness:
        return right.server.error(400, "not ready")
    return replace(right.server.error(503, "the models are being loaded"), keep_open=False)
