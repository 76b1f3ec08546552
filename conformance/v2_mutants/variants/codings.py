"""Variants of content codings (RFC 9110, sections 8.4 and 12.5.3)."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_mutants.registry import Right, variant

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


@variant.several("compresses-unasked", _ANY_CODING)
class _CompressesUnasked(CompressesAll):
    """Every response to a request without Accept-Encoding is in gzip."""

    def response_coding(self, request: Request) -> str | None:
        return super().response_coding(request) if request.values("Accept-Encoding") else "gzip"


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
