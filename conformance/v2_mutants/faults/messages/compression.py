"""Faults of content codings (Z)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_mutants.faults.shared.blobs import resize
from v2_mutants.faults.shared.crashes import CrashingServer
from v2_mutants.faults.shared.deliveries import first_read, loses_behind
from v2_mutants.registry import Right, What, fault, refuse, then

# A deflate stream without the header and checksum of zlib.
_BARE_DEFLATE = -zlib.MAX_WBITS


def _relabeled(plain: Response, encoded: Response, length: int | None) -> Response:
    """An encoded response with another header length, or none; one that is not encoded as it is."""
    if encoded is plain:
        return plain
    headers = [
        (name, str(length) if name == HEADER_LENGTH else value)
        for name, value in encoded.headers
        if name != HEADER_LENGTH or length is not None
    ]
    return replace(encoded, headers=tuple(headers))


fault("compressed-requests-refused", "Z1", Behaviour.zlib_format)(
    "Every compressed request is rejected.", lambda right, coding: None
)
fault("request-coding-ignored", "Z1", Behaviour.request_codings)(
    "The Content-Encoding of a request is ignored.", lambda right, request: []
)


@fault("request-header-length-counts-encoded", "Z1", Behaviour.decode_request)
def _(right: Right[Request], request: Request) -> Request:
    """The header length of a compressed request is rejected if it exceeds the encoded body."""
    decoded = right()
    length = right.server.header_length(request)
    if decoded is not request and length is not None:
        right.server.json_end(request.body, length)
    return decoded


fault("decoded-body-cut-to-content-length", "Z1", Behaviour.decode_request)(
    "A decoded body is cut to the Content-Length, which counts encoded bytes.",
    then(lambda decoded, request: replace(decoded, body=decoded.body[: len(request.body)])),
)
fault("decoded-body-padded-to-content-length", "Z1", Behaviour.decode_request)(
    "A decoded body is padded with zeros to the Content-Length, which counts encoded bytes.",
    then(
        lambda decoded, request: replace(
            decoded,
            body=memoryview(resize(decoded.body, max(len(decoded.body), len(request.body)))),
        )
    ),
)
fault("request-coding-with-capitals-refused", "Z1", Behaviour.request_codings)(
    "A Content-Encoding with a capital letter is rejected.",
    then(
        lambda codings, request: (
            codings
            if all(value.islower() for value in request.values("content-encoding"))
            else refuse(status=415)
        )
    ),
)
fault("compressed-request-without-blobs-only", "Z1", Behaviour.request_codings)(
    "Compressed requests with a header length are rejected, as if only JSON could be encoded.",
    then(
        lambda codings, request: (
            refuse(status=415) if codings and request.values(HEADER_LENGTH) else codings
        )
    ),
)
fault("deflate-read-without-zlib-header", "Z1", Behaviour.zlib_format)(
    "A deflate request is decoded as deflate without zlib's header and checksum.",
    lambda right, coding: _BARE_DEFLATE if coding == "deflate" else right(),
)
fault("compressed-body-read-once", "Z1", Behaviour.decode_request)(
    "A compressed body is read from the socket only once.",
    lambda right, request: right(
        first_read(request) if bool(right.server.request_codings(request)) else request
    ),
)
fault("what-follows-a-coded-answer-lost", "Z1", Behaviour.received)(
    "What comes in the same read behind a request for an answer in gzip is thrown away.",
    loses_behind(rb"Accept-Encoding: gzip.*?"),
)
fault("coding-ignored-in-a-pipeline", "Z1", Behaviour.decode_request)(
    "A body that another request is waiting behind is not decoded.",
    lambda right, request: request if request.followed else right(),
)


@fault("response-header-length-counts-encoded-json", "Z2", Behaviour.encode_response)
def _(right: Right[Response], request: Request, response: Response) -> Response:
    """The header length of a compressed response is the length of its compressed JSON."""
    coding = right.server.response_coding(request)
    compressed = right.server.compress(coding, response.body[:1]) if coding else ()
    return _relabeled(response, right(), sum(map(len, compressed)))


fault("response-header-length-counts-encoded-body", "Z2", Behaviour.encode_response)(
    "The header length of a compressed response is the length of its compressed body.",
    then(lambda encoded, request, response: _relabeled(response, encoded, encoded.size)),
)


fault("compressed-response-without-header-length", "Z2", Behaviour.encode_response)(
    "A compressed response with blobs has no header length.",
    then(lambda encoded, request, response: _relabeled(response, encoded, None)),
)


@fault("content-length-counts-decoded", "Z2", Behaviour.content_length)
def _(right: Right[int], response: Response) -> int:
    """The Content-Length of a compressed response counts the bytes before compression."""
    coding = dict(response.headers).get("Content-Encoding")
    if coding is None:
        return right()
    return len(right.server.decompress(coding, b"".join(response.body)))


fault("blobs-behind-compressed-json", "Z2", Behaviour.compress)(
    "Only the JSON of a response is compressed; its blobs follow uncompressed.",
    lambda right, coding, body: (*right(body=body[:1]), *body[1:]),
)


@fault("unknown-coding-taken-as-it-is", "Z3", Behaviour.request_codings)
def _(right: Right[list[str]], request: Request) -> list[str]:
    """A body in an unknown coding is read as if it had none."""
    codings = right()
    return (
        codings if all(right.server.zlib_format(coding) is not None for coding in codings) else []
    )


fault("response-coding-not-named", "Z4", Behaviour.coding_headers)(
    "A compressed response has no Content-Encoding.", lambda right, coding: ()
)
fault("response-coding-not-done", "Z4", Behaviour.compress)(
    "The Content-Encoding of a response names a coding that was not applied.",
    lambda right, coding, body: tuple(body),
)


@fault("deflate-sent-without-zlib-header", "Z4", Behaviour.compress)
def _(right: Right[tuple[Buffer, ...]], coding: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
    """A deflate response has neither zlib's header nor its checksum."""
    if coding != "deflate":
        return right()
    compressor = zlib.compressobj(wbits=_BARE_DEFLATE)
    return (b"".join([*map(compressor.compress, body), compressor.flush()]),)


fault("gzip-sent-for-deflate", "Z4", Behaviour.compress)(
    "A client that asks for deflate gets gzip that is labeled deflate.",
    lambda right, coding, body: right("gzip"),
)


fault("coding-with-a-weight-of-many-zeros-used", "Z4", Behaviour.response_coding)(
    "Gzip is used although Accept-Encoding refuses it, if its weight is written as 0.000.",
    lambda right, request: (
        "gzip"
        if any("gzip;q=0.000" in value for value in request.values("Accept-Encoding"))
        else right()
    ),
)


def _uses_gzip_if(found: str) -> What[str | None]:
    """A server that uses gzip if Accept-Encoding matches somewhere."""
    pattern = re.compile(found)
    return lambda right, request: (
        "gzip" if any(map(pattern.search, request.values("Accept-Encoding"))) else right()
    )


for _name, _text, _found in (
    ("spaces", "there are spaces around its semicolon", r"gzip\s+;\s*q=0"),
    ("capital-q", "its weight has a capital Q", "gzip;Q=0"),
    ("empty-item", "an empty item is before it", r"\A\s*,.*gzip;q=0"),
):  # fmt: skip
    fault(f"refused-coding-with-{_name}-used", "Z4", Behaviour.response_coding)(
        f"Gzip is used although Accept-Encoding refuses it, if {_text}.",
        _uses_gzip_if(_found),
    )
fault("unknown-codings-beside-gzip-refused", "Z4", Behaviour.response_coding)(
    "A request is rejected if Accept-Encoding names a coding that the server does not know.",
    lambda right, request: (
        refuse(status=406)
        if any("br" in value or value == "GZIP" for value in request.values("Accept-Encoding"))
        else right()
    ),
)
fault("coding-named-with-its-weight", "Z4", Behaviour.encode_response)(
    "The Content-Encoding of a response repeats the weight that Accept-Encoding gives the coding.",
    then(
        lambda encoded, request, response: (
            replace(
                encoded,
                headers=tuple(
                    (name, f"{value};q=0.5" if name == "Content-Encoding" else value)
                    for name, value in encoded.headers
                ),
            )
            if any(";q=0.5" in value for value in request.values("Accept-Encoding"))
            else encoded
        )
    ),
)


def _decodes_zeros_of_data(right: Right[Request], request: Request) -> Request:
    decoded = right()
    if decoded is request or b'"data"' not in bytes(decoded.body):
        return decoded
    length = int(request.values(HEADER_LENGTH)[0])
    blobs = bytes(len(decoded.body) - length)
    return replace(decoded, body=memoryview(bytes(decoded.body[:length]) + blobs))


fault("blobs-beside-json-in-a-coding-zeroed", "Z1", Behaviour.decode_request)(
    "If an encoded request has both JSON data and blobs, the blobs are read as zeros.",
    lambda right, request: (
        _decodes_zeros_of_data(right, request) if request.values(HEADER_LENGTH) else right()
    ),
)


@fault("refused-coding-used", "Z4", Behaviour.response_coding)
def _(right: Right[str | None], request: Request) -> str | None:
    """A coding that Accept-Encoding refuses with a weight of 0 is used."""
    names = ",".join(request.values("Accept-Encoding")).lower().split(",")
    codings = [name.partition(";")[0].strip() for name in names]
    return next((name for name in codings if name in ("gzip", "deflate")), None)


fault("identity-answered-in-deflate", "Z4", Behaviour.response_coding)(
    "A request with Accept-Encoding: identity is answered in deflate.",
    then(
        lambda coding, request: (
            "deflate" if coding is None and request.values("Accept-Encoding") else coding
        )
    ),
)


@fault("response-in-coding-of-request", "Z4", Behaviour.response_coding)
def _(right: Right[str | None], request: Request) -> str | None:
    """A response has the coding of its request, whatever Accept-Encoding says."""
    codings = right.server.request_codings(request)
    return codings[0] if codings else right()


@fault("decompression-bomb-served", "Z5", Behaviour.decompress)
def _(right: Right[bytes], coding: str, data: Buffer) -> bytes:
    """A body that decodes to too much is served; the zeros after its message are ignored."""
    try:
        return right()
    except Rejected as rejection:
        wbits = right.server.zlib_format(coding)
        if rejection.status != 413 or wbits is None:
            raise
        return zlib.decompressobj(wbits).decompress(data, 2**16).rstrip(b"\x00")


@fault.several("decompression-bomb-ends-server", "Z5")
class _DecompressionBombEndsServer(CrashingServer):
    """A body that decodes to more than 32 MiB crashes the server."""

    def decompress(self, coding: str, data: Buffer) -> bytes:
        try:
            return super().decompress(coding, data)
        except Rejected as rejection:
            self.crashed = self.crashed or rejection.status == 413
            raise


@fault("damaged-stream-taken-as-far-as-it-goes", "Z6", Behaviour.damaged_stream)
def _(right: Right[bytes], coding: str, data: Buffer, problem: str) -> bytes:
    """Whatever can be decoded of a damaged or truncated stream is read as the body."""
    decompressor = zlib.decompressobj(right.server.zlib_format(coding) or zlib.MAX_WBITS)
    decoded = b""
    for at in range(len(data)):
        try:
            decoded += decompressor.decompress(data[at : at + 1])
        except zlib.error:
            break
    return decoded


fault("body-not-in-its-coding-taken-as-it-is", "Z6", Behaviour.damaged_stream)(
    "A body that is not in the named coding is read as if it had none.",
    lambda right, coding, data, problem: bytes(data),
)
