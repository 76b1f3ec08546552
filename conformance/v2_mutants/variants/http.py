"""Variants of HTTP: framing, fields, connections, media types and content codings."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Framing, Headers, Rejected, Request, Response
from v2_mutants.registry import Right, refuses, variant

_OLD_AND_CLOSED = "RFC 9110, section 2.5, and RFC 9112, section 6.3, item 8"
_SINGLE_BYTES = 2048  # a large response in single bytes would take seconds


class InChunks(Behavior):
    """Responses to HTTP/1.1 requests are in chunks; HTTP/1.0 has none."""

    def finish(self, request: Request, response: Response) -> Response:
        finished = super().finish(request, response)
        if request.version != "1.1" or not finished.size:
            return finished
        return replace(finished, framing=Framing.CHUNKS)


@variant.several("chunked-responses", "RFC 9112, section 7.1")
class _ChunkedResponses(InChunks):
    """Responses are in chunks: one for the JSON and one for each blob."""


@variant("tiny-chunks", "RFC 9112, section 7.1", Behavior.chunks, base=InChunks)
def _(right: Right[Iterator[Buffer]], piece: Buffer) -> Iterator[Buffer]:
    """Responses are in chunks of one byte, large ones of 251."""
    size = 1 if len(piece) <= _SINGLE_BYTES else 251
    for start in range(0, len(piece), size):
        yield from right(piece[start : start + size])


@variant.several("chunk-extensions-and-trailers", "RFC 9112, sections 7.1.1 and 7.1.2")
class _ChunkExtensionsAndTrailers(InChunks):
    """Chunk sizes have leading zeros, upper-case digits and extensions; trailer fields follow."""

    def chunks(self, piece: Buffer) -> Iterator[Buffer]:
        yield b'%08X;part;name="a;\\"b" ; n=1\r\n' % len(piece)
        yield piece
        yield b"\r\n"

    def last_chunk(self) -> bytes:
        return b"000;last\r\nX-Checksum: 0\r\nServer-Timing: infer;dur=1\r\n\r\n"


variant("length-by-close", "RFC 9112, section 6.3, item 8", Behavior.finish)(
    "Responses have no Content-Length; the end of the connection ends them.",
    lambda right, request, response: replace(right(), framing=Framing.CLOSE),
)


class Http10(Behavior):
    """Responses are HTTP/1.0, and each ends its connection."""

    def status_line(self, response: Response) -> str:
        return super().status_line(response).replace("HTTP/1.1", "HTTP/1.0")

    def keeps_open(self, request: Request, response: Response) -> bool:
        return False


@variant.several("http-1.0-responses", "RFC 9110, section 2.5, and RFC 9112, section 9.3")
class _Http10(Http10):
    """Responses are HTTP/1.0 with a Content-Length, and each ends its connection."""


@variant.several("http-1.0-responses-by-close", _OLD_AND_CLOSED)
class _Http10ByClose(Http10):
    """Responses are HTTP/1.0 without a Content-Length, and say nothing of the connection."""

    def finish(self, request: Request, response: Response) -> Response:
        return replace(super().finish(request, response), framing=Framing.CLOSE)

    def fields_to_send(self, response: Response, *, keep_open: bool) -> Headers:
        return super().fields_to_send(response, keep_open=True)


variant("zeros-before-lengths", "RFC 9110, section 8.6", Behavior.field_line)(
    "Content-Length and header length have leading zeros.",
    lambda right, name, value: right(value="00" * name.endswith("Content-Length") + value),
)


@variant("single-byte-writes", "RFC 9293, section 3.8: TCP is a stream", Behavior.writes)
def _(right: Right[Iterator[Buffer]], pieces: Sequence[Buffer]) -> Iterator[Buffer]:
    """The first 2,048 bytes of a response are written one by one."""
    response = b"".join(pieces)
    yield from (bytes([byte]) for byte in response[:_SINGLE_BYTES])
    if len(response) > _SINGLE_BYTES:
        yield response[_SINGLE_BYTES:]


@variant("pause-before-body", "RFC 9293, section 3.8: TCP is a stream", Behavior.writes)
def _(right: Right[Iterator[Buffer]], pieces: Sequence[Buffer]) -> Iterator[Buffer]:
    """The head of a response, its JSON and each blob are written with pauses between them."""
    for number, piece in enumerate(pieces):
        if number:
            threading.Event().wait(0.002)
        yield piece


_PROXIES = "RFC 9110, sections 6.6.1, 7.6.3, 7.8 and 8.8.3, and RFC 9111, section 5"
_INTERIM = "RFC 9110, section 15.2, RFC 2518, section 10.1, and RFC 8297"
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_HINTS = (
    b"HTTP/1.1 102 Processing\r\n\r\n"
    b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
    b"HTTP/1.1 103 \r\nInference-Header-Content-Length: 7\r\n\r\n"
)
_FIELDS_OF_A_PROXY = (
    ("Date", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ("Server", "envoy"),
    ("Via", "1.1 varnish, 1.1 example.org (nginx/1.27)"),
    ("ETag", 'W/"123"'),
    ("Cache-Control", "no-store"),
    ("Age", "0"),
    ("Alt-Svc", 'h3=":443"; ma=2592000'),
    ("Strict-Transport-Security", "max-age=31536000"),
    ("Access-Control-Allow-Origin", "*"),
    ("Upgrade", "h2c"),
)
_SO = "so " * 40

variant("lower-case-field-names", "RFC 9110, section 5.1", Behavior.field_line)(
    "The names of header fields are in lower case, as hyper and node write them.",
    lambda right, name, value: right(name.lower()),
)
variant("upper-case-field-names", "RFC 9110, section 5.1", Behavior.field_line)(
    "The names of header fields are in upper case.",
    lambda right, name, value: right(name.upper()),
)
variant("no-space-before-values", "RFC 9112, section 5", Behavior.field_line)(
    "Nothing stands between the colon and the value of a header field.",
    lambda right, name, value: f"{name}:{value}",
)
variant("space-around-values", "RFC 9112, section 5", Behavior.field_line)(
    "Tabs and spaces surround the values of header fields.",
    lambda right, name, value: f"{name}:\t  {value} \t ",
)
variant("fields-in-reverse", "RFC 9110, section 5.3", Behavior.fields_to_send)(
    "The header fields come in reverse order, those of the framing first.",
    lambda right, response, *, keep_open: right()[::-1],
)


@variant("many-fields", "RFC 9110, section 5.4", Behavior.fields_to_send)
def _(right: Right[Headers], response: Response, *, keep_open: bool) -> Headers:
    """Responses have 120 more header fields, some of them repeated, empty or 8,000 bytes long."""
    more = [(f"X-Field-{number}", "value") for number in range(115)]
    more += [("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2; HttpOnly")]
    more += [("X-Empty", ""), ("X-Long", "x" * 8000), ("X-Text", "Grüße")]
    return (*more, *right())


@variant("fields-of-a-proxy", _PROXIES, Behavior.fields_to_send)
def _(right: Right[Headers], response: Response, *, keep_open: bool) -> Headers:
    """Responses have the fields of gateways: Date, Server, Via, ETag, an offer to upgrade."""
    if keep_open:
        kept = (("Connection", "Upgrade, Keep-Alive"), ("Keep-Alive", "timeout=5, max=1000"))
        return (*_FIELDS_OF_A_PROXY, *kept, *right())
    return (*_FIELDS_OF_A_PROXY, ("Connection", "Upgrade, Close"), *right(keep_open=True))


variant("no-reason-phrase", "RFC 9112, section 4", Behavior.status_line)(
    "The status line has no reason phrase.",
    lambda right, response: f"HTTP/1.1 {response.status} ",
)
variant("reason-phrase-of-its-own", "RFC 9112, section 4", Behavior.status_line)(
    "The status line has a long reason phrase with characters other than ASCII.",
    lambda right, response: f"HTTP/1.1 {response.status} Ergebnis \xfc\t{response.status}: {_SO}",
)
variant("continue-before-each-response", "RFC 9110, section 15.2", Behavior.interim_responses)(
    "Each response is preceded by 100 Continue, asked for or not.",
    lambda right, request: right() + (_CONTINUE if request.version == "1.1" else b""),
)
variant("interim-responses", _INTERIM, Behavior.interim_responses)(
    "Each response is preceded by 102 Processing and 103 Early Hints.",
    lambda right, request: right() + (_HINTS if request.version == "1.1" else b""),
)

_FEW = "RFC 9112, section 9.4: a server may limit connections"
_EARLY = "RFC 9112, section 9.3, and RFC 9110, section 10.1.1"
_RESET = "RFC 9112, sections 6.3, item 8, and 9.6: a reset, as bytes are unread, is to be expected"
_AGAIN = "RFC 9112, section 9.3.2: the client sends again what was not answered"
_NO_WAITING = "RFC 9110, section 10.1.1: a client must not wait indefinitely"

variant("closes-after-each-response", "RFC 9112, section 9.6", Behavior.keeps_open)(
    "Each response has `Connection: close`.",
    lambda right, request, response: False,
)
variant("closes-after-errors", "RFC 9112, section 9.6", Behavior.keeps_open)(
    "Each error has `Connection: close`.",
    lambda right, request, response: response.status < 400 and right(),
)


@variant("closes-now-and-then", "RFC 9112, section 9.6", Behavior.keeps_open)
def _(right: Right[bool], request: Request, response: Response) -> bool:
    """Every third response has `Connection: close`, as if a limit of requests were reached."""
    served = right.state["served"] = right.state.get("served", 0) + 1
    return served % 3 != 0 and right()


@variant("closes-after-a-hundred", "RFC 9112, section 9.6", Behavior.keeps_open)
def _(right: Right[bool], request: Request, response: Response) -> bool:
    """The hundredth response on a connection has `Connection: close`, as nginx limits requests."""
    served = right.state.setdefault("served", threading.local())  # a connection has a thread
    served.count = getattr(served, "count", 0) + 1
    return served.count < 100 and right()


variant("short-idle-timeout", "RFC 9112, section 9.5", Behavior.idle_seconds)(
    "A connection is kept for 0.6 s after a response.",
    lambda right: 0.6,
)


@variant.several("idle-timeout-with-408", "RFC 9110, section 15.5.9")
class _IdleTimeoutWith408(Behavior):
    """A connection that is idle for a second gets an unasked 408 and is closed."""

    def idle_seconds(self) -> float:
        return 1.0

    def farewell(self) -> bytes:
        response = self.error(408, "no request came")
        return b"".join(self.serialize(response, keep_open=False))


variant("one-connection-at-a-time", _FEW, Behavior.serves_one_at_a_time)(
    "A connection is served only when the one before it has been closed.",
    lambda right: True,
)


class _Resets(Behavior):
    """Refuses with an error that only the end of the connection ends, and ends it by a reset."""

    def rejection_response(self, rejection: Rejected) -> Response:
        return replace(super().rejection_response(rejection), framing=Framing.CLOSE)

    def closes_in_stages(self) -> bool:
        return False


@variant("refuses-before-the-body", _EARLY, Behavior.check_head)
def _refuses_early(right: Right[None], request: Request) -> None:
    """What the head shows to be wrong is refused before the body is read, and the connection
    closed.
    """
    right()
    right.server.header_length(request)
    for coding in right.server.request_codings(request):
        if right.server.zlib_format(coding) is None:
            right.server.unknown_coding(coding, b"")


variant("resets-before-the-body", _RESET, Behavior.check_head, base=_Resets)(
    "What the head shows to be wrong, and what is not HTTP, is refused with an error without a "
    "length, and the connection is reset.",
    _refuses_early,
)
variant("no-pipelining", _AGAIN, Behavior.keeps_open)(
    "If another request has come with one, the connection is closed after the first response.",
    lambda right, request, response: not request.followed and right(),
)
variant("never-sends-continue", _NO_WAITING, Behavior.before_expected_body)(
    "A client that expects 100 Continue gets none.",
    lambda right, request: b"",
)
variant("expectations-refused", "RFC 9110, section 15.5.18", Behavior.check_head)(
    "A request with Expect is answered with 417.",
    refuses(lambda request: bool(request.values("expect")), 417),
)
variant("http-1.0-refused", "RFC 9110, section 15.6.6", Behavior.check_head)(
    "An HTTP/1.0 request is answered with 505.",
    refuses(lambda request: request.version == "1.0", 505),
)

_E3 = "docs/disputes.md, E3: neither required nor forbidden"


@variant.several("media-types-of-its-own", "RFC 9110, section 8.3, and RFC 6839, section 3.1")
class _MediaTypesOfItsOwn(Behavior):
    """Bodies have vendor types: JSON with the suffix +json, blobs a binary type."""

    def json_content_type(self) -> str:
        return "application/vnd.example.response+json"

    def binary_content_type(self) -> str:
        return "application/vnd.example.tensors"

    def error_content_type(self) -> str:
        return "application/problem+json"


@variant.several("media-types-with-parameters", "RFC 9110, section 8.3.1")
class _MediaTypesWithParameters(Behavior):
    """Media types are in upper case and have parameters."""

    def json_content_type(self) -> str:
        return 'APPLICATION/JSON;charset="utf-8"'

    def binary_content_type(self) -> str:
        return "Application/Octet-Stream ; charset=binary"

    def error_content_type(self) -> str:
        return "Application/Json;\tcharset=UTF-8; q=1"


@variant("header-length-without-blobs", _E3, Behavior.inference_headers)
def _(right: Right[Headers], text: bytes, blobs: Sequence[Buffer], binary: bool) -> Headers:
    """JSON responses have a header length, too: the length of their body."""
    return right() if binary else (*right(), (HEADER_LENGTH, str(len(text))))


@variant("header-length-on-errors", "docs/disputes.md, R6", Behavior.error)
def _(right: Right[Response], status: int, message: str, headers: Headers = ()) -> Response:
    """An error has a header length, that of its whole body, as OpenVINO Model Server sends it."""
    made = right()
    return replace(made, headers=(*made.headers, (HEADER_LENGTH, str(made.size))))


variant("no-header-length-for-no-bytes", "docs/disputes.md, E3", Behavior.inference_headers)(
    "A response whose binary outputs are all empty is typed as JSON, without header length.",
    lambda right, text, blobs, binary: right(binary=binary and any(map(len, blobs))),
)

_IDENTITY = "RFC 9110, section 12.5.3: a server may always send identity"
_ANY_CODING = "RFC 9110, section 12.5.3: without Accept-Encoding, any coding is acceptable"
_CHOICE = "RFC 9110, section 12.5.3: the choice among the acceptable is the server's"
_NAMES = "RFC 9110, section 8.4.1: names are case-insensitive, x-gzip is gzip"
_TRAILERS = "docs/disputes.md, Z6, and RFC 1952, section 2.3.1.2"
_OTHER_NAMES = {"gzip": "X-GZIP", "deflate": "Deflate"}
_NAMED_GZIP = b"\x1f\x8b\x08\x08\0\0\0\0\0\xffbody\0"  # with a file name (RFC 1952, 2.3)

variant("never-compresses", _IDENTITY, Behavior.response_coding)(
    "Requests may be compressed; responses never are.",
    lambda right, request: None,
)


class CompressesAll(Behavior):
    """Compresses errors and metadata, too."""

    def finish(self, request: Request, response: Response) -> Response:
        finished = super().finish(request, response)
        coded = any(name == "Content-Encoding" for name, _ in finished.headers)
        return finished if coded or not finished.size else self.encode_response(request, finished)


@variant.several("compresses-all-responses", "RFC 9110, section 12.5.3")
class _CompressesAllResponses(CompressesAll):
    """Errors and metadata are compressed if the client asks for it, as gateways do."""


variant("compresses-unasked", _ANY_CODING, Behavior.response_coding, base=CompressesAll)(
    "Every response to a request without Accept-Encoding is in gzip.",
    lambda right, request: right() if request.values("Accept-Encoding") else "gzip",
)


@variant("gzip-in-members", "RFC 1952, sections 2.2 and 2.3.1", Behavior.compress)
def _(right: Right[tuple[Buffer, ...]], coding: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
    """A gzip response is several members, with file names, and longer than what it encodes."""
    return tuple(map(_member, (b"", *body))) if coding == "gzip" else right()


def _member(data: Buffer) -> bytes:
    stored = zlib.compressobj(0, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = stored.compress(data) + stored.flush()
    trailer = zlib.crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")
    return _NAMED_GZIP + packed + trailer


variant("codings-in-other-words", _NAMES, Behavior.coding_headers)(
    "Content-Encoding names gzip as X-GZIP and deflate as Deflate.",
    lambda right, coding: (("Content-Encoding", _OTHER_NAMES[coding]), ("Vary", "*")),
)


@variant("prefers-deflate", _CHOICE, Behavior.response_coding)
def _(right: Right[str | None], request: Request) -> str | None:
    """Of the codings that a client accepts, the last one is used."""
    backwards = ",".join(",".join(request.values("accept-encoding")).split(",")[::-1])
    return right(replace(request, headers=(("accept-encoding", backwards),) if backwards else ()))


@variant("ignores-gzip-trailers", _TRAILERS, Behavior.damaged_stream)
def _(right: Right[bytes], coding: str, data: Buffer, problem: str) -> bytes:
    """The checksum and the length at the end of a gzip request are not looked at."""
    if coding != "gzip" or bytes(data[:3]) != b"\x1f\x8b\x08":
        return right()
    stream = zlib.decompressobj(-zlib.MAX_WBITS)  # its header has ten bytes
    try:
        decoded = stream.decompress(data[10:])
    except zlib.error:
        return right()
    return decoded if stream.eof else right()
