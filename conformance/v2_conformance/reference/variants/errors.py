"""Variants of errors that are errors all the same."""

from __future__ import annotations

import re

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.variants.registry import variant


@variant(
    "unprocessable-for-bad-requests",
    allowed_by="RFC 9110, section 15.5.21",
    text="Requests with mistakes are answered with 422, as frameworks do that validate bodies.",
)
class _UnprocessableForBadRequests(Behaviour):
    def error_status(self, status: int) -> int:
        return 422 if status == 400 else status


@variant(
    "not-found-for-everything",
    allowed_by="RFC 9110, section 15.5: which 4xx fits is the server's choice",
    text="Requests with mistakes are answered with 404 or 409.",
)
class _NotFoundForEverything(Behaviour):
    def error_status(self, status: int) -> int:
        return {400: 409, 413: 404, 415: 404}.get(status, status)


@variant(
    "errors-with-more",
    allowed_by="base protocol, Inference Response Errors: further members are not excluded",
    text="Errors have further members, such as those of RFC 9457.",
)
class _ErrorsWithMore(Behaviour):
    def error_body(self, message: str) -> bytes:
        more = {"type": "about:blank", "status": 400, "details": [{"error": None}], "id": None}
        return self.json_text({"code": -1, "error": message, **more})


@variant(
    "errors-in-other-words",
    allowed_by="base protocol, Inference Response Errors: any text",
    text="Messages of errors are long and have quotes, line breaks, braces and other scripts.",
)
class _ErrorsInOtherWords(Behaviour):
    def error_body(self, message: str) -> bytes:
        words = '"Fehler": {Größe}\r\n\t\x7f\x00<b>模型</b> \U0001f4a5 \\ '
        return super().error_body(words + message + words * 200)


@variant(
    "empty-error-messages",
    allowed_by="base protocol, Inference Response Errors: any text",
    text="Messages of errors are empty, so as to give nothing away.",
)
class _EmptyErrorMessages(Behaviour):
    def error_body(self, message: str) -> bytes:
        return super().error_body("")


@variant(
    "plain-text-for-broken-http",
    allowed_by="RFC 9112, section 2.2: what is not HTTP never reaches the protocol",
    text="What is not HTTP/1.1 is answered with 400 in plain text, as by Go and uvicorn.",
)
class _PlainTextForBrokenHttp(Behaviour):
    def http_error(self, rejection: Rejected) -> Response:
        words = b"400 Bad Request"
        return Response(400, (("Content-Type", "text/plain; charset=utf-8"),), (words,))


_TAB_IN_HOST = re.compile(rb"\nHost:[ ]*\t")
_OF_NO_ROUTE = re.compile(r"(?i)%(?:[01][0-9a-f]|5c|7f)")


class _OfTheLayerBelow(Rejected):
    """A refusal by what stands before the inference server."""


class _LayerBelow(Behaviour):
    """Answers what it refuses itself in plain text."""

    def rejection_response(self, rejection: Rejected) -> Response:
        if not isinstance(rejection, _OfTheLayerBelow):
            return super().rejection_response(rejection)
        return Response(
            rejection.status, (("Content-Type", "text/plain"),), (str(rejection).encode(),)
        )


@variant(
    "http-layer-with-errors-of-its-own",
    allowed_by="RFC 9112, sections 2.2 and 6.1, and docs/disputes.md, R2 and V2",
    text="The layer below refuses two lengths, an empty line first, a tab before Host, the "
    "absolute form and control characters in the path, each in plain text.",
)
class _HttpLayerWithErrorsOfItsOwn(_LayerBelow):
    def check_head(self, request: Request) -> None:
        super().check_head(request)
        two_lengths = request.values("content-length") and request.values("transfer-encoding")
        empty_line = request.head.startswith(b"\r\n")
        if two_lengths or empty_line or _TAB_IN_HOST.search(request.head):
            raise _OfTheLayerBelow("Bad Request", 400)
        if not request.target.startswith("/") or _OF_NO_ROUTE.search(request.target):
            raise _OfTheLayerBelow("Not Found", 404)


@variant(
    "decoder-with-errors-of-its-own",
    allowed_by="docs/disputes.md, R2: codings are HTTP's",
    text="A body that is not in its coding is answered with 400 in plain text, an unknown coding "
    "with 415.",
)
class _DecoderWithErrorsOfItsOwn(_LayerBelow):
    def decode_request(self, request: Request) -> Request:
        try:
            return super().decode_request(request)
        except Rejected as rejection:
            raise _OfTheLayerBelow(str(rejection), rejection.status) from rejection
