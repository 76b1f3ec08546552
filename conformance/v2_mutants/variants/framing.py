"""Variants of how responses are framed and written (RFC 9112)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Framing, Headers, Request, Response
from v2_mutants.registry import Right, variant

_OLD_AND_CLOSED = "RFC 9110, section 2.5, and RFC 9112, section 6.3, item 8"
_SINGLE_BYTES = 2048  # a large response in single bytes would take seconds


class InChunks(Behaviour):
    """Responses to HTTP/1.1 requests are in chunks; HTTP/1.0 has none."""

    def finish(self, request: Request, response: Response) -> Response:
        finished = super().finish(request, response)
        if request.version != "1.1" or not finished.size:
            return finished
        return replace(finished, framing=Framing.CHUNKS)


@variant.several("chunked-responses", "RFC 9112, section 7.1")
class _ChunkedResponses(InChunks):
    """Responses are in chunks: one for the JSON and one for each blob."""


@variant.several("tiny-chunks", "RFC 9112, section 7.1")
class _TinyChunks(InChunks):
    """Responses are in chunks of one byte, large ones of 251."""

    def chunks(self, piece: Buffer) -> Iterator[Buffer]:
        size = 1 if len(piece) <= _SINGLE_BYTES else 251
        for start in range(0, len(piece), size):
            yield from super().chunks(piece[start : start + size])


@variant.several("chunk-extensions-and-trailers", "RFC 9112, sections 7.1.1 and 7.1.2")
class _ChunkExtensionsAndTrailers(InChunks):
    """Chunk sizes have leading zeros, upper-case digits and extensions; trailer fields follow."""

    def chunks(self, piece: Buffer) -> Iterator[Buffer]:
        yield b'%08X;part;name="a;\\"b" ; n=1\r\n' % len(piece)
        yield piece
        yield b"\r\n"

    def last_chunk(self) -> bytes:
        return b"000;last\r\nX-Checksum: 0\r\nServer-Timing: infer;dur=1\r\n\r\n"


variant("length-by-close", "RFC 9112, section 6.3, item 8", Behaviour.finish)(
    "Responses have no Content-Length; the end of the connection ends them.",
    lambda right, request, response: replace(right(), framing=Framing.CLOSE),
)


class Http10(Behaviour):
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


variant("zeros-before-lengths", "RFC 9110, section 8.6", Behaviour.field_line)(
    "Content-Length and header length have leading zeros.",
    lambda right, name, value: right(value="00" * name.endswith("Content-Length") + value),
)


@variant("single-byte-writes", "RFC 9293, section 3.8: TCP is a stream", Behaviour.writes)
def _(right: Right[Iterator[Buffer]], pieces: Sequence[Buffer]) -> Iterator[Buffer]:
    """The first 2,048 bytes of a response are written one by one."""
    response = b"".join(pieces)
    yield from (bytes([byte]) for byte in response[:_SINGLE_BYTES])
    if len(response) > _SINGLE_BYTES:
        yield response[_SINGLE_BYTES:]


@variant("pause-before-body", "RFC 9293, section 3.8: TCP is a stream", Behaviour.writes)
def _(right: Right[Iterator[Buffer]], pieces: Sequence[Buffer]) -> Iterator[Buffer]:
    """The head of a response, its JSON and each blob are written with pauses between them."""
    for number, piece in enumerate(pieces):
        if number:
            threading.Event().wait(0.002)
        yield piece
