"""HTTP requests and responses as the reference server sees them, without sockets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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

    `keep_open` says whether the connection may stay open after this response.
    """

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
