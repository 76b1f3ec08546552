"""Variants of media types, of the header length and of content codings (RFC 9110, section 8)."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Headers, Request, Response
from v2_mutants.registry import Right, variant

_E3 = "docs/disputes.md, E3: neither required nor forbidden"


@variant.several("media-types-of-its-own", "RFC 9110, section 8.3, and RFC 6839, section 3.1")
class _MediaTypesOfItsOwn(Behaviour):
    """Bodies have vendor types: JSON with the suffix +json, blobs a binary type."""

    def json_content_type(self) -> str:
        return "application/vnd.example.response+json"

    def binary_content_type(self) -> str:
        return "application/vnd.example.tensors"

    def error_content_type(self) -> str:
        return "application/problem+json"


@variant.several("media-types-with-parameters", "RFC 9110, section 8.3.1")
class _MediaTypesWithParameters(Behaviour):
    """Media types are in upper case and have parameters."""

    def json_content_type(self) -> str:
        return 'APPLICATION/JSON;charset="utf-8"'

    def binary_content_type(self) -> str:
        return "Application/Octet-Stream ; charset=binary"

    def error_content_type(self) -> str:
        return "Application/Json;\tcharset=UTF-8; q=1"


@variant("header-length-without-blobs", _E3, Behaviour.inference_headers)
def _(right: Right[Headers], text: bytes, blobs: Sequence[Buffer], binary: bool) -> Headers:
    """JSON responses have a header length, too: the length of their body."""
    return right() if binary else (*right(), (HEADER_LENGTH, str(len(text))))


@variant("header-length-on-errors", "docs/disputes.md, R6", Behaviour.error)
def _(right: Right[Response], status: int, message: str, headers: Headers = ()) -> Response:
    """An error has a header length, that of its whole body, as OpenVINO Model Server sends it."""
    made = right()
    return replace(made, headers=(*made.headers, (HEADER_LENGTH, str(made.size))))


variant("no-header-length-for-no-bytes", "docs/disputes.md, E3", Behaviour.inference_headers)(
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


variant("never-compresses", _IDENTITY, Behaviour.response_coding)(
    "Requests may be compressed; responses never are.",
    lambda right, request: None,
)


class CompressesAll(Behaviour):
    """Compresses errors and metadata, too."""

    def finish(self, request: Request, response: Response) -> Response:
        finished = super().finish(request, response)
        coded = any(name == "Content-Encoding" for name, _ in finished.headers)
        return finished if coded or not finished.size else self.encode_response(request, finished)


@variant.several("compresses-all-responses", "RFC 9110, section 12.5.3")
class _CompressesAllResponses(CompressesAll):
    """Errors and metadata are compressed if the client asks for it, as gateways do."""


variant("compresses-unasked", _ANY_CODING, Behaviour.response_coding, base=CompressesAll)(
    "Every response to a request without Accept-Encoding is in gzip.",
    lambda right, request: right() if request.values("Accept-Encoding") else "gzip",
)


@variant("gzip-in-members", "RFC 1952, sections 2.2 and 2.3.1", Behaviour.compress)
def _(right: Right[tuple[Buffer, ...]], coding: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
    """A gzip response is several members, with file names, and longer than what it encodes."""
    return tuple(map(_member, (b"", *body))) if coding == "gzip" else right()


def _member(data: Buffer) -> bytes:
    stored = zlib.compressobj(0, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = stored.compress(data) + stored.flush()
    trailer = zlib.crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")
    return _NAMED_GZIP + packed + trailer


variant("codings-in-other-words", _NAMES, Behaviour.coding_headers)(
    "Content-Encoding names gzip as X-GZIP and deflate as Deflate.",
    lambda right, coding: (("Content-Encoding", _OTHER_NAMES[coding]), ("Vary", "*")),
)


@variant("prefers-deflate", _CHOICE, Behaviour.response_coding)
def _(right: Right[str | None], request: Request) -> str | None:
    """Of the codings that a client accepts, the last one is used."""
    backwards = ",".join(",".join(request.values("accept-encoding")).split(",")[::-1])
    return right(replace(request, headers=(("accept-encoding", backwards),) if backwards else ()))


@variant("ignores-gzip-trailers", _TRAILERS, Behaviour.damaged_stream)
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
