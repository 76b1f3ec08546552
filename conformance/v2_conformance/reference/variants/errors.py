"""Variants of errors that are errors all the same."""

from __future__ import annotations

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Rejected, Response
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
