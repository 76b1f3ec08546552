"""A response as it was read, how an exchange can end, and the bounds on one."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.suite.outcomes import Word

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


class Ending(Word):
    """How an exchange ended. The values are those in report.json."""

    COMPLETE = "complete"  # one whole response arrived
    CLOSED = "closed"  # the server closed the connection before a whole response
    RESET = "reset"  # the connection broke, which voids even a response that ends with it
    REFUSED = "refused"  # no connection
    TIMEOUT = "timeout"
    TOO_LARGE = "too-large"  # more bytes than any answer to the request needs
    MALFORMED = "malformed"  # not HTTP
    LEFT = "left"  # the client did not wait for an answer


@dataclass(frozen=True)
class Limits:
    """Bounds on one exchange: seconds to connect and in all, bytes of a head and of a response."""

    connect_s: float = 10.0
    exchange_s: float = 30.0
    head: int = 64 * 1024
    response: int = 80 * 1024 * 1024

    def response_to(self, request: int) -> int:
        """Return the most bytes of a response to `request` bytes: their tensors as JSON, plus 4
        MiB, for a model that makes an image from a few words.
        """
        return min(self.response, tensors_as_json(request) + 4 * 1024 * 1024)


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
        return next(iter(self.values(name)), None)
