"""One request and its response: the one type for a run, its record, verifying and what is shown.

It holds what went over the wire and what bytes cannot show, such as times. What a message means is
computed from its bytes where that is needed, so a recorded exchange is worth as much as a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.suite.causes.base import Count
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.response import Ending, Response
from v2_conformance.wire.response_reader import read_again

Milliseconds = Annotated[float, Meta(ge=0)]
_COMPLETE = Ending.COMPLETE  # before Python 3.12 looking up a member of an Enum is slow


def milliseconds(seconds: float | None) -> Any:
    """Return a time as an exchange has it, in microseconds at most, None for none."""
    return None if seconds is None else round(seconds * 1000, 3)


class Body:
    """The bytes of a message. Those of a report are unpacked when they are needed.

    It is as long as the bytes that are there; `size` bytes went over the wire.
    """

    __slots__ = ("_data",)

    def __init__(self, data: Buffer = b"") -> None:
        self._data = data

    def __bytes__(self) -> bytes:
        self._data = bytes(self._data)
        return self._data

    def __len__(self) -> int:
        return len(self._data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Body | Buffer) and bytes(self) == bytes(other)

    def __hash__(self) -> int:
        return hash(bytes(self))

    def __repr__(self) -> str:
        return f"Body({self.start(200)!r}{'' if len(self) <= 200 else '...'})"

    @property
    def size(self) -> int:
        """Number of bytes that went over the wire."""
        return len(self)

    def start(self, length: int) -> bytes:
        """Return the first bytes of it, unpacking little more than those."""
        return bytes(self._data[:length])


class Exchange(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    dict=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """One exchange: the bytes, and what they do not show. `note` is for people."""

    purpose: Purpose
    note: str
    request: Body
    """The request as it was to be sent."""
    received: Body = msgspec.field(name="response")
    """All bytes that came."""
    ending: Ending
    detail: str
    """More about the ending, for people."""
    sent: Count
    """Bytes of the request that were sent."""
    reused: bool
    """Whether the connection had been used before."""
    open: bool
    """Whether the server left the connection open."""
    first_byte_ms: Milliseconds | None
    duration_ms: Milliseconds
    expected: str | None = None
    """The answer that a canary must get again, if no answer to it was exact."""
    entry: Mapping[str, Any] | None = None
    """The case of a generated request, as in a case file."""
    pieces: tuple[Count, ...] = ()
    """Bytes of the request in each write, if there were several."""
    pause_ms: Milliseconds = 0.0
    """Pause between two writes."""
    closed_before_ms: Milliseconds | None = None
    """The longest time that the previous connection can have been idle when the server closed it
    without announcing that; null if it did not."""
    shortened_ms: Milliseconds | None = None
    """The time limit, if it was shorter than usual because earlier requests had hung."""
    stray_before: Count = 0
    """Unsolicited bytes that came on the previous connection after its response."""
    answers: Annotated[int, Meta(ge=1, le=4)] = 1
    """How many requests were sent: more than 1 if they were pipelined."""

    def for_purpose(
        self, purpose: Purpose, note: str | None = None, *, expected: str | None = None
    ) -> Exchange:
        """Return the same exchange with what it was for; `note` says so in words."""
        note = purpose.note if note is None else note
        made = replace(self, purpose=purpose, note=note, expected=expected)
        vars(made).update(vars(self))
        return made

    def unpacked(self) -> Exchange:
        """Return the same exchange with all its bytes and its response at hand, to be judged."""
        request, received = Body(bytes(self.request)), Body(bytes(self.received))
        return replace(self, request=request, received=received)

    @cached_property
    def partial(self) -> Response | None:
        """The response as far as it came, None if its head did not come whole."""
        return read_again(
            bytes(self.received), self.ending, self.answers, request=bytes(self.request)
        )

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
        if self.ending is not Ending.RESET:
            return None
        partial = self.partial
        if partial is None or partial.whole:
            return None
        return partial if partial.status >= 400 else None

    @cached_property
    def hint(self) -> str | None:
        """What helps if there was no connection, or another protocol, as a clause; not recorded."""
        return None

    @property
    def omitted(self) -> int:
        """Number of bytes at the ends of its messages that a report had no room for."""
        return sum(body.size - len(body) for body in (self.request, self.received))


def unsent(request: Buffer, ending: Ending, detail: str = "", answers: int = 1) -> Exchange:
    """Return the exchange of a request of which nothing was sent."""
    return Exchange(
        purpose=Purpose.CASE,
        note="",
        request=Body(request),
        received=Body(),
        ending=ending,
        detail=detail,
        sent=0,
        reused=False,
        open=False,
        first_byte_ms=None,
        duration_ms=0.0,
        answers=answers,
    )
