"""Transcript of an exchange: every byte, how it ended, and the response that was read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import msgspec

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.wire.obstacle import Obstacle

# No server needs more bytes of JSON for a tensor than this for each byte of the request; indented
# booleans come closest. Long tensors have wider elements, as an INT32 has, and the longest ones are
# answered in binary form.
_FACTOR = 32
_FACTOR_IF_LONG = 12
_SHORT = 128 * 1024
_LONG = 1024 * 1024


def tensors_as_json(request: int) -> int:
    """Return the most bytes of JSON that any server needs for the tensors of `request` bytes."""
    short = min(request, _SHORT)
    long = min(request - short, _LONG)
    return _FACTOR * short + _FACTOR_IF_LONG * long + (request - short - long) * 5 // 4


def as_recorded(seconds: float) -> float:
    """Return a time as a report has it, in microseconds, so that judging uses what is recorded."""
    return round(seconds * 1000, 3) / 1000


class Ending(str, Enum):
    """How an exchange ended. The values are those in report.json."""

    COMPLETE = "complete"  # one whole response arrived
    CLOSED = "closed"  # the server closed the connection before a whole response
    RESET = "reset"  # the connection broke, which voids even a response that ends with it
    REFUSED = "refused"  # no connection
    TIMEOUT = "timeout"
    TOO_LARGE = "too-large"  # more bytes than any answer to the request needs
    MALFORMED = "malformed"  # not HTTP
    LEFT = "left"  # the client did not wait for an answer

    __str__ = str.__str__  # without it, what `str` and `format` give depends on Python's version


_COMPLETE = Ending.COMPLETE  # before Python 3.12 looking up a member of an Enum is slow


@dataclass(frozen=True)
class Limits:
    """Bounds on one exchange: seconds to connect and in all, bytes of a head and of a response."""

    connect_s: float = 10.0
    exchange_s: float = 30.0
    head: int = 64 * 1024
    response: int = 80 * 1024 * 1024

    def response_to(self, request: int) -> int:
        """Return the most bytes of a response to `request` bytes: their tensors as JSON, plus a
        MiB.
        """
        return min(self.response, tensors_as_json(request) + 1024 * 1024)


class Response(msgspec.Struct, frozen=True, dict=True):
    """A parsed final response. `body` has no transfer coding; `excess` bytes followed it.

    `whole` says whether all of it came. `following` is the whole response to the request pipelined
    after this one, if there was one and the server has answered both.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: Buffer
    framing: str  # "content-length", "chunked" or "close"
    excess: int
    whole: bool = True
    following: Response | None = None

    def values(self, name: str) -> list[str]:
        """Every value of the field `name`, in any letter case (RFC 9110 5.1)."""
        name = name.lower()
        return [value for key, value in self.headers if key == name]

    def value(self, name: str) -> str | None:
        """The first value of the field `name`."""
        name = name.lower()
        for key, value in self.headers:
            if key == name:
                return value
        return None


class Transcript(msgspec.Struct, frozen=True):
    """Every byte of one exchange. Times are in seconds.

    `request` is the request as it was to be sent, of which `sent` bytes left; `pieces` are the
    lengths of its writes, `pause_s` is the pause between them. It has `answers` requests.
    `received` is all that came. `detail` says more about the ending, for people. `reused` says
    whether the connection had been used before, `open` whether it can be used again.
    `closed_before_s` is None, unless the server was found to have closed the connection that was
    kept open before this exchange: then it is how long it was idle at most. `stray_before` is how
    many bytes that no request asked for came on that connection. `partial` is the response as far
    as it came, None if its head did not come whole. `shortened_s` is the limit of its time, if that
    was shorter than usual. `obstacle` is what TLS says of a connection that failed.
    """

    request: Buffer
    sent: int
    received: Buffer
    ending: Ending
    detail: str = ""
    reused: bool = False
    open: bool = False
    first_byte_s: float | None = None
    duration_s: float = 0.0
    pieces: tuple[int, ...] = ()
    pause_s: float = 0.0
    closed_before_s: float | None = None
    stray_before: int = 0
    answers: int = 1
    partial: Response | None = None
    shortened_s: float | None = None
    obstacle: Obstacle | None = None

    @property
    def response(self) -> Response | None:
        """The response if it arrived whole, else None."""
        return self.partial if self.ending is _COMPLETE else None

    @property
    def refusal(self) -> Response | None:
        """The error whose whole head came before a reset cut off its body, None if there is none.

        A server that closes while bytes of the request are unread resets the connection, and may so
        void the rest of its own answer (RFC 9112, section 9.6).
        """
        partial = self.partial
        if self.ending is not Ending.RESET or partial is None or partial.whole:
            return None
        return partial if partial.status >= 400 else None
