"""Variants of errors that are errors all the same."""

from __future__ import annotations

import re
import zlib

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_mutants.registry import Right, variant

_WHICH = "RFC 9110, section 15.5: which 4xx fits is the server's choice"
_MORE = "base protocol, Inference Response Errors: further members are not excluded"
_ANY_TEXT = "base protocol, Inference Response Errors: any text"
_NO_HTTP = "RFC 9112, section 2.2: what is not HTTP never reaches the protocol"
_BELOW = "RFC 9112, sections 2.2 and 6.1, and docs/disputes.md, R2 and V2"
_OTHER_WORDS = '"Fehler": {Größe}\r\n\t\x7f\x00<b>模型</b> \U0001f4a5 \\ '
_PAGE, _MOST_FIELDS = 4096, 64
_TAB_IN_HOST = re.compile(rb"\nHost:[ ]*\t")
_OF_NO_ROUTE = re.compile(r"(?i)%(?:[01][0-9a-f]|5c|7f)")

variant("unprocessable-for-bad-requests", "RFC 9110, section 15.5.21", Behaviour.error_status)(
    "Requests with mistakes are answered with 422, as frameworks do that validate bodies.",
    lambda right, status: 422 if status == 400 else status,
)
variant("not-found-for-everything", _WHICH, Behaviour.error_status)(
    "Requests with mistakes are answered with 404 or 409.",
    lambda right, status: {400: 409, 413: 404, 415: 404}.get(status, status),
)


@variant("refused-by-two-servers", _WHICH, Behaviour.error_status)
def _(right: Right[int], status: int) -> int:
    """Requests with mistakes are answered with 400 and 422 in turn, as by two servers behind one
    address.
    """
    refused = right.state["refused"] = right.state.get("refused", 0) + 1
    return 422 if status == 400 and refused % 2 else right()


@variant("errors-with-more", _MORE, Behaviour.error_body)
def _(right: Right[bytes], message: str) -> bytes:
    """Errors have further members, such as those of RFC 9457."""
    more = {"type": "about:blank", "status": 400, "details": [{"error": None}], "id": None}
    return right.server.json_text({"code": -1, "error": message, **more})


variant("errors-in-other-words", _ANY_TEXT, Behaviour.error_body)(
    "Messages of errors are long and have quotes, line breaks, braces and other scripts.",
    lambda right, message: right(_OTHER_WORDS + message + _OTHER_WORDS * 200),
)
variant("empty-error-messages", _ANY_TEXT, Behaviour.error_body)(
    "Messages of errors are empty, so as to give nothing away.",
    lambda right, message: right(""),
)
variant("plain-text-for-broken-http", _NO_HTTP, Behaviour.http_error)(
    "What is not HTTP/1.1 is answered with 400 in plain text, as by Go and uvicorn.",
    lambda right, rejection: _plain_text(400, "400 Bad Request", "; charset=utf-8"),
)


def _plain_text(status: int, words: str, parameters: str = "") -> Response:
    return Response(status, (("Content-Type", f"text/plain{parameters}"),), (words.encode(),))


class _OfTheLayerBelow(Rejected):
    """A refusal by what stands before the inference server."""


class _LayerBelow(Behaviour):
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
        if two_lengths or empty_line or large or of_no_use or _TAB_IN_HOST.search(request.head):
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
