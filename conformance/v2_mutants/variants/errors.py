"""Variants of errors, of servers that cannot always serve, and of one that keeps its answers."""

from __future__ import annotations

import re
import threading
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Headers, Rejected, Request, Response
from v2_conformance.suite.models import ModelContract
from v2_mutants.registry import Right, What, variant

_WHICH = "RFC 9110, section 15.5: which 4xx fits is the server's choice"
_MORE = "base protocol, Inference Response Errors: further members are not excluded"
_ANY_TEXT = "base protocol, Inference Response Errors: any text"
_NO_HTTP = "RFC 9112, section 2.2: what is not HTTP never reaches the protocol"
_BELOW = "RFC 9112, sections 2.2 and 6.1, and docs/disputes.md, R2 and V2"
_OTHER_WORDS = '"Fehler": {Größe}\r\n\t\x7f\x00<b>模型</b> \U0001f4a5 \\ '
_PAGE, _MOST_FIELDS = 4096, 64
_TAB_IN_HOST = re.compile(rb"\nHost:[ ]*\t")
_OF_NO_ROUTE = re.compile(r"(?i)%(?:[01][0-9a-f]|5c|7f)")

variant("unprocessable-for-bad-requests", "RFC 9110, section 15.5.21", Behavior.error_status)(
    "Requests with mistakes are answered with 422, as frameworks do that validate bodies.",
    lambda right, status: 422 if status == 400 else status,
)
variant("not-found-for-everything", _WHICH, Behavior.error_status)(
    "Requests with mistakes are answered with 404 or 409.",
    lambda right, status: {400: 409, 413: 404, 415: 404}.get(status, status),
)


@variant("refused-by-two-servers", _WHICH, Behavior.error_status)
def _(right: Right[int], status: int) -> int:
    """Requests with mistakes are answered with 400 and 422 in turn, as by two servers behind one
    address.
    """
    refused = right.state["refused"] = right.state.get("refused", 0) + 1
    return 422 if status == 400 and refused % 2 else right()


@variant("errors-with-more", _MORE, Behavior.error_body)
def _(right: Right[bytes], message: str) -> bytes:
    """Errors have further members, such as those of RFC 9457."""
    more = {"type": "about:blank", "status": 400, "details": [{"error": None}], "id": None}
    return right.server.json_text({"code": -1, "error": message, **more})


variant("errors-in-other-words", _ANY_TEXT, Behavior.error_body)(
    "Messages of errors are long and have quotes, line breaks, braces and other scripts.",
    lambda right, message: right(_OTHER_WORDS + message + _OTHER_WORDS * 200),
)
variant("empty-error-messages", _ANY_TEXT, Behavior.error_body)(
    "Messages of errors are empty, so as to give nothing away.",
    lambda right, message: right(""),
)
variant("plain-text-for-broken-http", _NO_HTTP, Behavior.http_error)(
    "What is not HTTP/1.1 is answered with 400 in plain text, as by Go and uvicorn.",
    lambda right, rejection: _plain_text(400, "400 Bad Request", "; charset=utf-8"),
)


def _plain_text(status: int, words: str, parameters: str = "") -> Response:
    return Response(status, (("Content-Type", f"text/plain{parameters}"),), (words.encode(),))


class _OfTheLayerBelow(Rejected):
    """A refusal by what stands before the inference server."""


class _LayerBelow(Behavior):
    """Answers what it refuses itself in plain text."""

    def rejection_response(self, rejection: Rejected) -> Response:
        if not isinstance(rejection, _OfTheLayerBelow):
            return super().rejection_response(rejection)
        return _plain_text(rejection.status, str(rejection))


@variant.several("http-layer-with-errors-of-its-own", _BELOW)
class _HttpLayerWithErrorsOfItsOwn(_LayerBelow):
    """The layer below refuses two lengths, an empty line first, a tab before Host, more than 64
    fields, a head of more than a page, a GET with a body, the absolute form and control characters
    in the path, each in plain text.
    """

    def check_head(self, request: Request) -> None:
        super().check_head(request)
        two_lengths = request.values("content-length") and request.values("transfer-encoding")
        empty_line = request.head.startswith(b"\r\n")
        large = len(request.head) > _PAGE or request.head.count(b"\r\n") > _MOST_FIELDS
        lengths = (*request.values("content-length"), *request.values("transfer-encoding"))
        of_no_use = request.method == "GET" and lengths not in ((), ("0",))
        if large:
            raise _OfTheLayerBelow("Request Header Fields Too Large", 431)
        if two_lengths or empty_line or of_no_use or _TAB_IN_HOST.search(request.head):
            raise _OfTheLayerBelow("Bad Request", 400)
        if not request.target.startswith("/") or _OF_NO_ROUTE.search(request.target):
            raise _OfTheLayerBelow("Not Found", 404)


@variant.several("decoder-with-errors-of-its-own", "docs/disputes.md, R2: codings are HTTP's")
class _DecoderWithErrorsOfItsOwn(_LayerBelow):
    """A body that is not in its coding, or has a second member, is answered with 400 in plain text,
    an unknown coding with 415.
    """

    def decode_request(self, request: Request) -> Request:
        try:
            decoded = super().decode_request(request)
        except Rejected as rejection:
            raise _OfTheLayerBelow(str(rejection), rejection.status) from rejection
        stream = zlib.decompressobj(31)
        if request.values("content-encoding") == ["gzip"]:
            stream.decompress(request.body)
        if stream.unused_data:
            raise _OfTheLayerBelow("bytes follow the stream", 400)
        return decoded


_NOW: Headers = (("Retry-After", "0"),)
_LIVE = "base protocol, Health: a server may be live and not ready"
_HTML = ("Content-Type", "text/html")


def now_and_then(unavailable: Callable[[Behavior], Response]) -> What[Response]:
    """Return what answers each twentieth request as a server that cannot serve just now."""

    def what(right: Right[Response], request: Request) -> Response:
        asked = right.state["asked"] = right.state.get("asked", 0) + 1
        return right() if asked % 20 else unavailable(right.server)

    return what


variant("overloaded-now-and-then", "RFC 9110, section 15.6.4", Behavior.handle)(
    "Each twentieth request is answered with 503 and Retry-After.",
    now_and_then(lambda server: server.error(503, "overloaded", _NOW)),
)
variant("rate-limited", "RFC 6585, section 4", Behavior.handle)(
    "Each twentieth request is answered with 429 and Retry-After, in HTML.",
    now_and_then(lambda _: Response(429, (_HTML, *_NOW), (b"<html>Too many requests</html>",))),
)
variant("gateway-loses-connections", "RFC 9110, section 15.6.3", Behavior.handle)(
    "Each twentieth request is answered with 502 by a gateway, which then connects again.",
    now_and_then(lambda _: Response(502, (("Server", "Caddy"),))),
)


@variant("mistakes-rate-limited", "RFC 6585, section 4", Behavior.handle)
def _(right: Right[Response], request: Request) -> Response:
    """After five refusals in a row, the next two requests get a 503 with Retry-After."""
    refused = right.state.get("refused", 0)
    if refused >= 5:
        right.state["refused"] = refused + 1 if refused == 5 else 0
        return right.server.error(503, "wait a moment", _NOW)
    response = right()
    right.state["refused"] = refused + 1 if response.status >= 400 else 0
    return response


@variant("models-loaded-when-asked-for", "base protocol, Health", Behavior.run_model)
def _(
    right: Right[dict[str, Tensor]], model: ModelContract, inputs: dict[str, Tensor]
) -> dict[str, Tensor]:
    """The first inference of each model takes longer."""
    if model.model in right.state:
        return right()
    right.state[model.model] = True
    threading.Event().wait(0.05)
    return right()


@variant("one-request-at-a-time", "RFC 9110, section 15.6.4", Behavior.handle)
def _(right: Right[Response], request: Request) -> Response:
    """While one inference request is computed, others are answered with 503 and Retry-After."""
    computing = right.state.setdefault("computing", threading.Lock())
    if not computing.acquire(blocking=False):
        return right.server.error(503, "busy", _NOW)
    try:
        return right()
    finally:
        computing.release()


@variant("slow-start", _LIVE, Behavior.handle)
def _(right: Right[Response], request: Request) -> Response:
    """Only when asked for the fourth time is the server ready; before that nothing is served."""
    asked_for_readiness = request.target.endswith("/v2/health/ready")
    asked = right.state["asked"] = right.state.get("asked", 0) + asked_for_readiness
    if asked > 3 or request.target.endswith("/v2/health/live"):
        return right()
    if asked_for_readiness:
        return right.server.error(400, "not ready")
    return replace(right.server.error(503, "the models are being loaded"), keep_open=False)


_KEPT = 100
_SAME_ANSWER = "RFC 9110, section 3.3: the same request may get the same answer"


@variant("answers-kept-by-whole-requests", _SAME_ANSWER, Behavior.handle)
def _(right: Right[Response], request: Request) -> Response:
    """The last hundred answers are kept, and sent again if a request comes byte for byte."""
    kept = right.state.setdefault("answers", deque(maxlen=_KEPT))
    key = request.head, request.framing, sha256(request.body).digest()
    for own, answer in list(kept):
        if own == key:
            result: Response = answer
            return result
    response = right()
    kept.append((key, response))
    return response
