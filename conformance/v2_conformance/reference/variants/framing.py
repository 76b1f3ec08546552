"""Variants of how responses are framed and written (RFC 9112)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Framing, Headers, Request, Response
from v2_conformance.reference.variants.registry import variant

_SINGLE_BYTES = 2048  # a large response in single bytes would take seconds
_PAUSE_S = 0.002


class InChunks(Behaviour):
    """Responses to HTTP/1.1 requests are in chunks; HTTP/1.0 has none."""

    def finish(self, request: Request, response: Response) -> Response:
        finished = super().finish(request, response)
        if request.version != "1.1" or not finished.size:
            return finished
        return replace(finished, framing=Framing.CHUNKS)


@variant(
    "chunked-responses",
    allowed_by="RFC 9112, section 7.1",
    text="Responses are in chunks: one for the JSON and one for each blob.",
)
class _ChunkedResponses(InChunks):
    pass


@variant(
    "tiny-chunks",
    allowed_by="RFC 9112, section 7.1",
    text="Responses are in chunks of one byte, large ones of 251.",
)
class _TinyChunks(InChunks):
    def chunks(self, piece: Buffer) -> Iterator[Buffer]:
        size = 1 if len(piece) <= _SINGLE_BYTES else 251
        for start in range(0, len(piece), size):
            yield from super().chunks(piece[start : start + size])


@variant(
    "chunk-extensions-and-trailers",
    allowed_by="RFC 9112, sections 7.1.1 and 7.1.2",
    text="Chunk sizes have leading zeros, upper-case digits and extensions; trailer fields follow.",
)
class _ChunkExtensionsAndTrailers(InChunks):
    def chunks(self, piece: Buffer) -> Iterator[Buffer]:
        yield b'%08X;part;name="a;\\"b" ; n=1\r\n' % len(piece)
        yield piece
        yield b"\r\n"

    def last_chunk(self) -> bytes:
        return b"000;last\r\nX-Checksum: 0\r\nServer-Timing: infer;dur=1\r\n\r\n"


@variant(
    "length-by-close",
    allowed_by="RFC 9112, section 6.3, item 8",
    text="Responses have no Content-Length; the end of the connection ends them.",
)
class _LengthByClose(Behaviour):
    def finish(self, request: Request, response: Response) -> Response:
        return replace(super().finish(request, response), framing=Framing.CLOSE)


class Http10(Behaviour):
    """Responses are HTTP/1.0, and each ends its connection."""

    def status_line(self, response: Response) -> str:
        return super().status_line(response).replace("HTTP/1.1", "HTTP/1.0")

    def keeps_open(self, request: Request, response: Response) -> bool:
        return False


@variant(
    "http-1.0-responses",
    allowed_by="RFC 9110, section 2.5, and RFC 9112, section 9.3",
    text="Responses are HTTP/1.0 with a Content-Length, and each ends its connection.",
)
class _Http10(Http10):
    pass


@variant(
    "http-1.0-responses-by-close",
    allowed_by="RFC 9110, section 2.5, and RFC 9112, section 6.3, item 8",
    text="Responses are HTTP/1.0 without a Content-Length, and say nothing of the connection.",
)
class _Http10ByClose(Http10):
    def finish(self, request: Request, response: Response) -> Response:
        return replace(super().finish(request, response), framing=Framing.CLOSE)

    def fields_to_send(self, response: Response, *, keep_open: bool) -> Headers:
        return super().fields_to_send(response, keep_open=True)


@variant(
    "zeros-before-lengths",
    allowed_by="RFC 9110, section 8.6",
    text="Content-Length and header length have leading zeros.",
)
class _ZerosBeforeLengths(Behaviour):
    def fields_to_send(self, response: Response, *, keep_open: bool) -> Headers:
        fields = super().fields_to_send(response, keep_open=keep_open)
        return tuple((n, f"00{v}" if n.endswith("Content-Length") else v) for n, v in fields)


@variant(
    "single-byte-writes",
    allowed_by="RFC 9293, section 3.8: TCP is a stream",
    text="The first 2,048 bytes of a response are written one by one.",
)
class _SingleByteWrites(Behaviour):
    def writes(self, pieces: Sequence[Buffer]) -> Iterator[Buffer]:
        response = b"".join(pieces)
        yield from (response[n : n + 1] for n in range(min(len(response), _SINGLE_BYTES)))
        if len(response) > _SINGLE_BYTES:
            yield response[_SINGLE_BYTES:]


@variant(
    "pause-before-body",
    allowed_by="RFC 9293, section 3.8: TCP is a stream",
    text="The head of a response, its JSON and each blob are written with pauses between them.",
)
class _PauseBeforeBody(Behaviour):
    def writes(self, pieces: Sequence[Buffer]) -> Iterator[Buffer]:
        for number, piece in enumerate(pieces):
            if number:
                threading.Event().wait(_PAUSE_S)
            yield piece
