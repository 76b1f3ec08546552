"""Variants of content codings (RFC 9110, sections 8.4 and 12.5.3)."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Headers, Request, Response
from v2_conformance.reference.variants.registry import variant

_NAMED_GZIP = b"\x1f\x8b\x08\x08\0\0\0\0\0\xffbody\0"  # with a file name (RFC 1952, 2.3)


@variant(
    "never-compresses",
    allowed_by="RFC 9110, section 12.5.3: a server may always send identity",
    text="Requests may be compressed; responses never are.",
)
class _NeverCompresses(Behaviour):
    def response_coding(self, request: Request) -> str | None:
        return None


class CompressesAll(Behaviour):
    """Compresses errors and metadata, too."""

    def finish(self, request: Request, response: Response) -> Response:
        finished = super().finish(request, response)
        coded = any(name == "Content-Encoding" for name, _ in finished.headers)
        return finished if coded or not finished.size else self.encode_response(request, finished)


@variant(
    "compresses-all-responses",
    allowed_by="RFC 9110, section 12.5.3",
    text="Errors and metadata are compressed if the client asks for it, as gateways do.",
)
class _CompressesAllResponses(CompressesAll):
    pass


@variant(
    "compresses-unasked",
    allowed_by="RFC 9110, section 12.5.3: without Accept-Encoding, any coding is acceptable",
    text="Every response to a request without Accept-Encoding is in gzip.",
)
class _CompressesUnasked(CompressesAll):
    def response_coding(self, request: Request) -> str | None:
        return super().response_coding(request) if request.values("Accept-Encoding") else "gzip"


@variant(
    "gzip-in-members",
    allowed_by="RFC 1952, sections 2.2 and 2.3.1",
    text="A gzip response is several members, with file names, and longer than what it encodes.",
)
class _GzipInMembers(Behaviour):
    def compress(self, coding: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
        if coding != "gzip":
            return super().compress(coding, body)
        return tuple(_member(piece) for piece in (b"", *body))


def _member(data: Buffer) -> bytes:
    stored = zlib.compressobj(0, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = stored.compress(data) + stored.flush()
    trailer = zlib.crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")
    return _NAMED_GZIP + packed + trailer


@variant(
    "codings-in-other-words",
    allowed_by="RFC 9110, section 8.4.1: names are case-insensitive, x-gzip is gzip",
    text="Content-Encoding names gzip as X-GZIP and deflate as Deflate.",
)
class _CodingsInOtherWords(Behaviour):
    def coding_headers(self, coding: str) -> Headers:
        name = {"gzip": "X-GZIP", "deflate": "Deflate"}[coding]
        return (("Content-Encoding", name), ("Vary", "*"))


@variant(
    "prefers-deflate",
    allowed_by="RFC 9110, section 12.5.3: the choice among the acceptable is the server's",
    text="Of the codings that a client accepts, the last one is used.",
)
class _PrefersDeflate(Behaviour):
    def response_coding(self, request: Request) -> str | None:
        accepted = ",".join(request.values("accept-encoding")).split(",")
        backwards = ",".join(reversed(accepted))
        fields = (("accept-encoding", backwards),) if backwards else ()
        return super().response_coding(replace(request, headers=fields))


@variant(
    "ignores-gzip-trailers",
    allowed_by="docs/disputes.md, Z6, and RFC 1952, section 2.3.1.2",
    text="The checksum and the length at the end of a gzip request are not looked at.",
)
class _IgnoresGzipTrailers(Behaviour):
    def damaged_stream(self, coding: str, data: Buffer, problem: str) -> bytes:
        if coding != "gzip" or bytes(data[:3]) != b"\x1f\x8b\x08":
            return super().damaged_stream(coding, data, problem)
        stream = zlib.decompressobj(-zlib.MAX_WBITS)  # its header has ten bytes
        try:
            decoded = stream.decompress(data[10:])
        except zlib.error:
            return super().damaged_stream(coding, data, problem)
        return decoded if stream.eof else super().damaged_stream(coding, data, problem)
