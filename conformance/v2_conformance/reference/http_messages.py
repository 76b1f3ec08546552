"""HTTP requests and responses as the reference server sees them, without sockets."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from v2_conformance.protocol.datatypes import Buffer

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Request:
    """A whole request. Header names are lowercase, values have no white space around them.

    `head` is the request line and the header section as received. The cuts are offsets into `body`
    at which one piece ended: `chunk_cuts` for chunks of the chunked coding, `segment_cuts` for
    reads from the socket (only if the body is not chunked). `framing` is a chunked body as it was
    received, with the lines and fields around its chunks. `head_reads` are the lengths of the reads
    that brought the head, `waited_s` the seconds from there until some of the body came. `followed`
    says whether bytes of another request had arrived with this one.
    """

    method: str
    target: str
    version: str
    headers: Headers
    head: bytes
    body: memoryview
    chunk_cuts: tuple[int, ...] = ()
    segment_cuts: tuple[int, ...] = ()
    framing: bytes = b""
    head_reads: tuple[int, ...] = ()
    waited_s: float = 0.0
    followed: bool = False

    def values(self, name: str) -> list[str]:
        """The values of all header lines called `name` (in any case), in their order."""
        name = name.lower()
        return [value for key, value in self.headers if key == name]


class Framing(Enum):
    """The way a response says where its body ends (RFC 9112, section 6.3)."""

    LENGTH = "Content-Length"
    CHUNKS = "Transfer-Encoding"
    CLOSE = "Connection"


@dataclass(frozen=True)
class Response:
    """A response to send. `body` is sent piece by piece, so that large blobs are never joined.
    `keep_open` says whether the connection may stay open after this response."""

    status: int
    headers: Headers = ()
    body: tuple[Buffer, ...] = ()
    keep_open: bool = True
    framing: Framing = Framing.LENGTH

    @property
    def size(self) -> int:
        """The body's length in bytes."""
        return sum(map(len, self.body))


@dataclass(frozen=True)
class Blobs:
    """The part of a request's body after the JSON. Cuts count from its start (see Request)."""

    view: memoryview
    chunk_cuts: Sequence[int] = ()
    segment_cuts: Sequence[int] = ()


class Breach(Enum):
    """The way a client broke off."""

    LEFT_IN_HEAD = "it left in the middle of a head"
    LEFT_IN_BODY = "it left in the middle of a body"
    LEFT_IN_CHUNKS = "it left in the middle of a body in chunks"
    RESET = "it reset the connection, or did not read its response"
    FRAMING = "its request is not HTTP/1.1"
    TOO_LONG = "its Content-Length is longer than any body"


class Rejected(Exception):
    """The request is answered with an HTTP error. The text becomes the `error` of the body."""

    def __init__(self, message: str, status: int = 400, headers: Headers = ()) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


MAX_DECODED = 2**25

_GZIP_MAGIC = b"\x1f\x8b"
# zlib's `wbits` for a gzip stream and for a zlib stream, which HTTP calls deflate.
_FORMATS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


class ContentCoding:
    """Removes and applies content codings. Every method makes one decision, for a fault to replace.
    `coding` is always the name of a coding, such as "gzip"."""

    profiles: frozenset[str]

    # --- requests ----------------------------------------------------------------------------

    def decode_request(self, request: Request) -> Request:
        """The request before its content coding, which is what header length and sizes count."""
        codings = self.request_codings(request)
        if not codings:
            return request
        body = request.body
        for coding in reversed(codings):
            body = memoryview(self.decompress(coding, body))
        return replace(request, body=body, chunk_cuts=(), segment_cuts=())

    def request_codings(self, request: Request) -> list[str]:
        """The codings of a request, in the order in which they were applied."""
        named = ",".join(request.values("content-encoding")).lower().split(",")
        codings = [coding.strip() for coding in named if coding.strip() not in ("", "identity")]
        if codings and "compression" not in self.profiles:
            raise Rejected("this server does not accept compressed bodies", 415)
        return codings

    def decompress(self, coding: str, data: Buffer) -> bytes:
        """A whole stream decoded (Z6), up to a limit (Z5). Refuses unknown codings (Z3)."""
        wbits = self.zlib_format(coding)
        if wbits is None:
            return self.unknown_coding(coding, data)
        decoded = bytearray()
        rest = data
        while True:
            decompressor = zlib.decompressobj(wbits)
            try:
                decoded += decompressor.decompress(rest, MAX_DECODED + 1 - len(decoded))
            except zlib.error as error:
                return self.damaged_stream(coding, data, str(error))
            if len(decoded) > MAX_DECODED:
                raise Rejected(f"the body decodes to more than {MAX_DECODED} bytes", 413)
            if not decompressor.eof:
                return self.damaged_stream(coding, data, "the stream is truncated")
            rest = decompressor.unused_data
            if not rest:
                return bytes(decoded)
            if not self.is_next_member(coding, rest):
                return self.damaged_stream(coding, data, "bytes follow the end of the stream")

    def is_next_member(self, coding: str, rest: Buffer) -> bool:
        """Return True if what follows a stream is another member of it (RFC 1952, section 2.2)."""
        return coding != "deflate" and bytes(rest[:2]) == _GZIP_MAGIC

    def zlib_format(self, coding: str) -> int | None:
        """zlib's `wbits` for the coding of a request, or None if the coding is unknown."""
        return _FORMATS.get(coding)

    def unknown_coding(self, coding: str, data: Buffer) -> bytes:
        """A body in an unknown coding is rejected (Z3)."""
        raise Rejected(f"the content coding {coding!a} is not supported", 415)

    def damaged_stream(self, coding: str, data: Buffer, problem: str) -> bytes:
        """A damaged stream is rejected (Z6)."""
        raise Rejected(f"the body is not valid {coding}: {problem}")

    # --- responses ---------------------------------------------------------------------------

    def encode_response(self, request: Request, response: Response) -> Response:
        """The response in the coding that the client asked for, if any (Z2, Z4)."""
        coding = self.response_coding(request)
        if coding is None:
            return response
        headers = (*response.headers, *self.coding_headers(coding))
        return replace(response, headers=headers, body=self.compress(coding, response.body))

    def response_coding(self, request: Request) -> str | None:
        """The first supported coding in Accept-Encoding, or None."""
        if "compression-responses" not in self.profiles:
            return None
        for item in ",".join(request.values("accept-encoding")).lower().split(","):
            coding, _, weight = item.replace(" ", "").partition(";")
            refused = weight in ("q=0", "q=0.0", "q=0.00", "q=0.000")
            if coding in ("gzip", "deflate") and not refused:
                return coding
        return None

    def coding_headers(self, coding: str) -> Headers:
        """The header fields that name the coding that was applied (Z4)."""
        return (("Content-Encoding", coding), ("Vary", "Accept-Encoding"))

    def compress(self, coding: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
        """The body in the given coding."""
        compressor = zlib.compressobj(wbits=_FORMATS[coding])
        return (b"".join([*map(compressor.compress, body), compressor.flush()]),)
