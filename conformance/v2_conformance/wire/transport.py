"""The interface of a transport: a Connection takes a Request and returns an Exchange.

Tests have another Connection, to a server in memory.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

import msgspec

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.messages import read_head

WAKING_S = 0.02
"""A longer pause between two writes has a meaning of its own; any other only has to be long enough
for a server to be woken by each piece."""
_LONGEST_HEAD = 64 * 1024


class Head(msgspec.Struct, frozen=True):
    """A request's head; `fields` are in HTTP/1.1's order, including Host and framing."""

    method: str
    target: str
    fields: tuple[tuple[str, str], ...] = ()


def write_head(head: Head) -> bytes:
    """Return the request line, the fields exactly as given, and the empty line."""
    lines = [f"{head.method} {head.target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in head.fields]
    return "\r\n".join([*lines, "", ""]).encode()


class Parting(str, Enum):
    """Action of a client that does not wait for the whole answer, once it has sent its bytes.

    The values are those of `client.then` in case files.
    """

    WAITS = "waits"  # for an answer, but no longer than a moment
    LEAVES = "leaves"  # close the connection, and read nothing
    RESETS = "resets"  # the same, with a TCP reset
    HALF_CLOSES = "half_closes"  # say that nothing more comes, and wait for a moment


BYTES_A_SECOND = 1024.0 * 1024
"""The least that a server and the path to it carry, unless the path was seen to be slower."""


class Request(msgspec.Struct, frozen=True):
    """One request: in parts, and as the bytes of HTTP/1.1.

    `body` is the body without framing, in the pieces in which it leaves: one write or HTTP chunk
    each. `http1` is the whole request in HTTP/1.1, one write each. A transport waits `pause_s`
    seconds between pieces, or until the server says something. With a `parting` it does not wait
    for the whole answer.

    `answers` is how many requests `http1` has: if a second one is pipelined after the first,
    `head` and `body` are those of the first.

    With `limit_s` an exchange may take only this many seconds, if that is less than usual; more
    than that is what its bytes take at `rate` a second, within bounds. The client reads nothing for
    `unread_s` seconds after it has sent everything, which do not count.

    A large body is held once: `body` and `http1` share its memory unless it is chunked.
    """

    head: Head
    body: tuple[Buffer, ...]
    http1: tuple[Buffer, ...]
    pause_s: float = 0.0
    answers: int = 1
    parting: Parting | None = None
    limit_s: float | None = None
    rate: float = BYTES_A_SECOND
    unread_s: float = 0.0

    @property
    def data(self) -> Buffer:
        """The whole request in HTTP/1.1; no copy if it is one write."""
        return self.http1[0] if len(self.http1) == 1 else b"".join(self.http1)

    @property
    def size(self) -> int:
        """Bytes of the whole request in HTTP/1.1."""
        return sum(len(piece) for piece in self.http1)


def asks_to_close(request: Buffer) -> bool:
    """Return True if a server must close the connection after it has answered a request."""
    head = read_head(bytes(request[:_LONGEST_HEAD]))
    options = head.listed("connection")
    kept = head.first.lower().endswith(b"http/1.1") or "keep-alive" in options
    return "close" in options or not kept


class Connection(Protocol):
    """A connection to the server under test, for one exchange at a time in one thread at a time.

    It opens when an exchange needs it, and stays open as long as HTTP and the server allow.
    """

    @property
    def open(self) -> bool:
        """True if the next exchange can use a connection that is already there.

        False as soon as the server is seen to have closed it.
        """

    def pending(self) -> bool:
        """True if unsolicited bytes wait on the open connection."""

    def connect(self) -> None:
        """Open the connection before its first exchange, which reports if that failed."""

    def exchange(self, request: Request, *, fresh: bool = False) -> Exchange:
        """Send `request` exactly, read one response, and return every byte of both.

        With `fresh` it closes an open connection and opens another. It never sends a request twice:
        if the server closes a kept connection, the exchange says so, and the caller decides.

        It never raises for what the network or the server does: the exchange's `ending` tells.
        It ends within the time limit, and reads little more than the longest response that the
        request can call for. If a whole response arrives early, the rest of the request stays
        unsent.
        """

    def close(self) -> None:
        """Close the connection if it is open. The next exchange opens a new one."""
