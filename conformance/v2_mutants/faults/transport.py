"""Faults of transport: chunks, pieces, connections (C), how HTTP is written (C, R), and content
codings (Z)."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Framing, Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared import (
    CrashingServer,
    Inputs,
    is_chunked,
    is_coded,
    is_versioned,
    reads_body_once,
)
from v2_mutants.registry import Right, What, fault, refuses, then

# Lets a request of another connection come in between.
_OVERLAP_S = 0.002

fault("coding-of-a-version-ignored", "Z1", Behavior.decode_request)(
    "A Content-Encoding has no effect on a path with the model's version.",
    lambda right, request: request if is_versioned(request) else right(),
)
fault("length-required-in-codings", "C1", Behavior.infer)(
    "The chunked body of an encoded request is rejected with 411, and no other one.",
    refuses(lambda model, request: is_chunked(request) and is_coded(request), 411),
)
fault("small-chunks-refused", "C2", Behavior.handle)(
    "A body of more than 64 chunks is rejected if they have fewer than 16 bytes on average.",
    lambda right, request: (
        right.server.error(400, "the body has too many small chunks")
        if len(request.body) < 16 * len(request.chunk_cuts) > 16 * 64
        else right()
    ),
)
fault("body-read-once", "C4", Behavior.handle)(
    "A body is read from the socket only once, so it ends where its first piece ends.",
    reads_body_once(lambda request: True),
)


@fault.several("header-length-kept-from-last-request", "C5")
class _KeepsHeaderLength(Behavior):
    """A request without a header length is read with that of the last rejected request."""

    kept: int | None = None

    def handle(self, request: Request) -> Response:
        response = super().handle(request)
        length = "".join(request.values(HEADER_LENGTH))
        readable = response.status >= 400 and re.fullmatch("[0-9]{1,18}", length)
        self.kept = int(length) if readable else None
        return response

    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        return super().read_request(model, request, self.kept if length is None else length)


fault("chunks-of-a-get-left-on-connection", "C5", Behavior.left_on_connection)(
    "The body of a GET that comes in chunks is read as the connection's next request.",
    lambda right, request, response: (
        bytes(request.body) if request.method == "GET" and is_chunked(request) else right()
    ),
)
fault("rejected-body-left-on-connection", "C5", Behavior.left_on_connection)(
    "The body of a rejected inference request is read as the connection's next request.",
    lambda right, request, response: (
        bytes(request.body) if response.status >= 400 and request.target.endswith("/infer") else b""
    ),
)


def _keeps_open_if(when: Callable[[Request], object]) -> What[bool]:
    return lambda right, request, response: (
        response.framing is not Framing.CLOSE if when(request) else right()
    )


for _name, _text, _when in (
    ("close-ignored", "A connection is kept open although the client closes it.",
     lambda request: request.values("Connection") == ["close"]),
    ("close-in-a-list-ignored", "A close among other connection options is not known.",
     lambda request: "," in "".join(request.values("Connection"))),
    ("old-client-kept-open", "A connection is kept open after a request of HTTP/1.0.",
     lambda request: request.version == "1.0"),
    ("two-lengths-kept-open", "A connection is kept open after a request with two lengths.",
     lambda request: request.values("Transfer-Encoding") and request.values("Content-Length")),
):  # fmt: skip
    fault(_name, "C19", Behavior.keeps_open)(_text, _keeps_open_if(_when))

fault("head-answered-with-a-body", "C5", Behavior.answers_with_body)(
    "A HEAD is answered as a GET is, with a body.",
    lambda right, request, response: True,
)


@fault.several("chunks-declined-but-left-on-connection", "C5")
class _ChunksDeclinedButLeftOnConnection(Behavior):
    """A chunked request is answered with 411, and its body is read as the next request."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        if is_chunked(request):
            raise Rejected("the request has no Content-Length", 411)
        return super().infer(model, request)

    def left_on_connection(self, request: Request, response: Response) -> bytes:
        return bytes(request.body) if response.status == 411 else b""


@fault("stray-bytes-after-binary-response", "C5", Behavior.serialize)
def _(
    right: Right[list[Buffer]], response: Response, *, keep_open: bool, with_body: bool = True
) -> list[Buffer]:
    """Four zero bytes that Content-Length does not count follow a short response with blobs: behind
    a long one they may come so late that they begin the next answer.
    """
    pieces = right()
    binary = any(name == HEADER_LENGTH for name, _ in response.headers)
    short = sum(map(len, pieces)) < _SIXTY_FOUR_KIB
    return [*pieces, bytes(4)] if binary and short and response.status == 200 else pieces


class _Late(bytes):
    """Bytes that are sent a moment after those before them."""


@fault.several("not-found-longer-than-it-says", "C5")
class _NotFoundLongerThanItSays(Behavior):
    """More bytes come a moment after the body of a 404 that Content-Length does not count."""

    def serialize(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        pieces = super().serialize(response, keep_open=keep_open, with_body=with_body)
        return [*pieces, _Late(b"404 page not found\n")] if response.status == 404 else pieces

    def writes(self, pieces: Sequence[Buffer]) -> Iterator[Buffer]:
        late = [piece for piece in pieces if isinstance(piece, _Late)]
        yield from super().writes([piece for piece in pieces if not isinstance(piece, _Late)])
        for piece in late:
            threading.Event().wait(_OVERLAP_S)
            yield piece


@fault("concurrent-requests-mixed", "C6", Behavior.handle)
def _(right: Right[Response], request: Request) -> Response:
    """Concurrent requests are all answered with the tensors of the last one."""
    right.state["latest"] = request
    threading.Event().wait(_OVERLAP_S)
    return right(right.state["latest"])


@fault("concurrent-json-inputs-mixed", "C6", Behavior.request_inputs)
def _(right: Right[Inputs], model: ModelContract, document: JsonObject) -> Inputs:
    """JSON inputs of concurrent requests all have the values of the last one."""
    entries = right()
    parsed = right.state["latest"] = [entry for entry in entries if entry.has_data]
    if len(parsed) == len(entries):
        return entries
    threading.Event().wait(_OVERLAP_S)
    data = {entry.spec: entry for entry in right.state["latest"]}
    return [data.get(entry.spec, entry) if entry.has_data else entry for entry in entries]


_BUFFER = 2**14

fault("chunks-have-a-buffer", "C2", Behavior.handle)(
    f"A chunk of more than {_BUFFER} bytes is rejected.",
    lambda right, request: (
        right.server.error(400, "a chunk is too large")
        if any(end - start > _BUFFER for start, end in pairwise([0, *request.chunk_cuts]))
        else right()
    ),
)


def _reads_size(pattern: bytes) -> What[bytes]:
    """A server that reads the digits of a first chunk's size of this pattern, in its groups."""
    line = re.compile(rb"(?:\A|(?<=\r\n\r\n))" + pattern + rb"(?=\r\n)")
    return lambda right, data: line.sub(lambda match: b"".join(match.groups()), right())


for _name, _text, _pattern in (
    ("up-to-a-letter", "up to its first wrong character", rb"([0-9a-f]+)x"),
    ("with-prefix", "with the prefix 0x", rb"0x([0-9a-f]+)"),
    ("with-underscore", "with an underscore", rb"([0-9a-f]+)_([0-9a-f]+)"),
    ("with-plus", "with a plus sign", rb"\+([0-9a-f]+)"),
):
    fault(f"chunk-size-read-{_name}", "C8", Behavior.received)(
        f"The size of a chunk is read {_text}.", _reads_size(_pattern)
    )

_SIXTY_FOUR_KIB = 1 << 16
fault("rest-of-long-refused-chunks-left", "C5", Behavior.left_on_connection)(
    "A kilobyte after the first 64 KiB of a refused body in chunks is read as the next request.",
    lambda right, request, response: (
        bytes(request.framing[_SIXTY_FOUR_KIB : _SIXTY_FOUR_KIB + 1024])
        if response.status >= 400 and len(request.framing) > _SIXTY_FOUR_KIB
        else right()
    ),
)
fault("chunks-for-an-unknown-model-left", "C5", Behavior.left_on_connection)(
    "The beginning of up to 64 KiB of chunks for an unknown model is read as the next request.",
    lambda right, request, response: (
        bytes(request.framing[:100])
        if response.status == 404 and 0 < len(request.framing) <= _SIXTY_FOUR_KIB
        else right()
    ),
)


def _head_changed(
    change: Callable[[bytes], bytes], *, errors_only: bool = False
) -> What[list[Buffer]]:
    """A server that changes the head of each response as it is sent."""

    def what(
        right: Right[list[Buffer]], response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        head, *body = right()
        applies = response.status >= 400 or not errors_only
        return [change(bytes(head)) if applies else head, *body]

    return what


def _one_more(line: bytes) -> Callable[[bytes], bytes]:
    """Adds a line behind the status line."""
    return lambda head: head.replace(b"\r\n", b"\r\n" + line + b"\r\n", 1)


def _length(head: bytes) -> bytes:
    """The line of a head that has the Content-Length, with the end of the line before."""
    at = head.index(b"\r\nContent-Length")
    return head[at : head.index(b"\r\n", at + 2)]


for _name, _requirement, _text, _what in (
    ("content-type-twice", "R7", "Errors have two Content-Type fields.",
     _head_changed(_one_more(b"Content-Type: application/json"), errors_only=True)),
    ("status-line-without-last-space", "C12", "The status line ends right after the status code.",
     _head_changed(lambda head: head[:12] + head[head.index(b"\r\n") :])),
    ("field-name-with-space", "C13", "A header field has a name of two words.",
     _head_changed(_one_more(b"Served By: a"))),
    ("control-character-in-field", "C14", "The value of a header field has a control character.",
     _head_changed(_one_more(b"X-Trace: a\x01b"))),
    ("header-field-folded", "C15", "A header field goes on in a second line.",
     _head_changed(_one_more(b"Server: a\r\n b"))),
    ("lines-end-with-lf", "C16", "The lines of a response's head end with LF instead of CRLF.",
     _head_changed(lambda head: head.replace(b"\r\n", b"\n"))),
    ("content-length-list", "C10", "A response has the same Content-Length twice.",
     _head_changed(lambda head: _one_more(_length(head)[2:])(head))),
):  # fmt: skip
    fault(_name, _requirement, Behavior.serialize)(_text, _what)


def _chunked(
    size_line: Callable[[int], bytes],
    *,
    keep_length: bool = False,
    coding: bytes = b"chunked",
    after: bytes = b"",
    old_errors: bool = False,
) -> What[list[Buffer]]:
    """A server that sends each body as one chunk; `size_line` is the line before it. With
    `old_errors` it does so in errors alone, as HTTP/1.0. It sends no chunks before it closes the
    connection: a client of HTTP/1.0, which the connection closes for, knows none (C11)."""

    def what(
        right: Right[list[Buffer]], response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        head, *body = right()
        size = sum(map(len, body))
        if not keep_open or (old_errors and response.status < 400):
            return [head, *body]
        if not size:
            return [head]
        line = _length(bytes(head))
        kept = line if keep_length else b""
        coded = bytes(head).replace(line, kept + b"\r\nTransfer-Encoding: " + coding)
        if old_errors:
            coded = coded.replace(b"HTTP/1.1", b"HTTP/1.0", 1)
        return [coded, size_line(size), *body, b"\r\n0\r\n", after, b"\r\n"]

    return what


for _name, _requirement, _text, _what in (
    ("chunks-beside-content-length", "C9", "A response in chunks also has a Content-Length.",
     _chunked(lambda size: b"%x\r\n" % size, keep_length=True)),
    ("chunked-twice", "C11",
     "The Transfer-Encoding of a response names chunked twice, although it is applied once.",
     _chunked(lambda size: b"%x\r\n" % size, coding=b"chunked, chunked")),
    ("chunk-size-padded", "C17", "The size of a chunk is padded with spaces.",
     _chunked(lambda size: b"%-8x\r\n" % size)),
):  # fmt: skip
    fault(_name, _requirement, Behavior.serialize)(_text, _what)

fault("transfer-coding-for-http-1.0", "C11", Behavior.finish)(
    "A response to HTTP/1.0 ends with its connection and has `Transfer-Encoding: identity`.",
    lambda right, request, response: (
        replace(
            right(),
            framing=Framing.CLOSE,
            headers=(*response.headers, ("Transfer-Encoding", "identity")),
        )
        if request.version == "1.0"
        else right()
    ),
)
fault("interim-response-for-http-1.0", "C18", Behavior.interim_responses)(
    "Each response to a client of HTTP/1.0 is preceded by 103.",
    then(
        lambda sent, request: (
            sent + b"HTTP/1.1 103 Early Hints\r\n\r\n" if request.version == "1.0" else sent
        )
    ),
)
fault("interim-response-with-length", "C18", Behavior.interim_responses)(
    "Each response is preceded by a 103 that has a Content-Length.",
    then(
        lambda sent, request: (
            sent + b"HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n\r\n"
            if request.version == "1.1"
            else sent
        )
    ),
)
fault("request-coding-ignored", "Z1", Behavior.request_codings)(
    "The Content-Encoding of a request is ignored.", lambda right, request: []
)


@fault("request-header-length-counts-encoded", "Z1", Behavior.decode_request)
def _(right: Right[Request], request: Request) -> Request:
    """The header length of a compressed request is rejected if it exceeds the encoded body."""
    decoded = right()
    length = right.server.header_length(request)
    if decoded is not request and length is not None:
        right.server.json_end(request.body, length)
    return decoded


@fault("response-header-length-counts-encoded-body", "Z2", Behavior.encode_response)
def _(right: Right[Response], request: Request, response: Response) -> Response:
    """The header length of a compressed response is the length of its compressed body."""
    encoded = right()
    if encoded is response or HEADER_LENGTH not in dict(encoded.headers):
        return encoded
    headers = dict(encoded.headers) | {HEADER_LENGTH: str(encoded.size)}
    return replace(encoded, headers=tuple(headers.items()))


@fault("unknown-coding-taken-as-it-is", "Z3", Behavior.request_codings)
def _(right: Right[list[str]], request: Request) -> list[str]:
    """A body in an unknown coding is read as if it had none."""
    codings = right()
    return (
        codings if all(right.server.zlib_format(coding) is not None for coding in codings) else []
    )


fault("response-coding-not-named", "Z4", Behavior.coding_headers)(
    "A compressed response has no Content-Encoding.", lambda right, coding: ()
)


@fault("refused-coding-used", "Z4", Behavior.response_coding)
def _(right: Right[str | None], request: Request) -> str | None:
    """A coding that Accept-Encoding refuses with a weight of 0 is used."""
    names = ",".join(request.values("Accept-Encoding")).lower().split(",")
    codings = [name.partition(";")[0].strip() for name in names]
    return next((name for name in codings if name in ("gzip", "deflate")), None)


@fault.several("decompression-bomb-ends-server", "Z5")
class _DecompressionBombEndsServer(CrashingServer):
    """A body that decodes to more than 32 MiB crashes the server."""

    def decompress(self, coding: str, data: Buffer) -> bytes:
        try:
            return super().decompress(coding, data)
        except Rejected as rejection:
            self.crashed = self.crashed or rejection.status == 413
            raise


fault("body-not-in-its-coding-taken-as-it-is", "Z6", Behavior.damaged_stream)(
    "A body that is not in the named coding is read as if it had none.",
    lambda right, coding, data, problem: bytes(data),
)
