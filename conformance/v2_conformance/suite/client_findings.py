"""What a client can get wrong: in a request that it sends, or in an answer that it reads.

Text in a finding that came from a client is printable ASCII of bounded length, as in `findings`.
"""

from __future__ import annotations

from typing import Literal

from v2_conformance.suite.findings import CauseBase, Count

RequestRule = Literal[
    "chunk",
    "content_length",
    "field",
    "host",
    "line_end",
    "request_line",
    "transfer_coding",
    "two_lengths",
]
"""A rule of RFC 9112 that a request can break."""

# Requests


class InvalidRequestHttp(CauseBase, frozen=True):
    """A request breaks a rule of HTTP/1.1; `shown` is where, printable."""

    rule: RequestRule
    shown: str


class NoRequest(CauseBase, frozen=True):
    """No inference request came that belongs to the task's."""


class UnreadableRequest(CauseBase, frozen=True):
    """What came is no request that a server can read."""

    problem: str


class IncompleteRequest(CauseBase, frozen=True):
    """The client ended the connection, or stopped sending, before its request was whole."""

    came: Count


class TooManyRequests(CauseBase, frozen=True):
    """The client sent the same request `got` times."""

    most: Count
    got: Count


class RequestSent(CauseBase, frozen=True):
    """The client sent a request that it has to refuse to send."""


class NoHeaderLengthSent(CauseBase, frozen=True):
    """A request carries blobs, but no header length."""

    blobs: Count


class WrongHeaderLength(CauseBase, frozen=True):
    """The header length of a request is not the length of its JSON in bytes."""

    expected: Count
    got: str


class WrongTarget(CauseBase, frozen=True):
    """A request goes to another method or path."""

    expected: str
    got: str


class WrongInputs(CauseBase, frozen=True):
    """A request has other inputs than the caller passed."""

    expected: tuple[str, ...]
    got: tuple[str, ...]


class WrongOutputsAsked(CauseBase, frozen=True):
    """A request asks for other outputs than the caller named."""

    expected: tuple[str, ...]
    got: tuple[str, ...]


class WrongParameter(CauseBase, frozen=True):
    """A parameter of a request, an input or an output is not as the caller gave it.

    `owner` says whose it is; `expected` and `got` are JSON, None if the parameter is not there.
    """

    owner: str
    name: str
    expected: str | None
    got: str | None


class WrongField(CauseBase, frozen=True):
    """A header field of a request is not what it has to be; `got` is None if it is not there."""

    name: str
    expected: str
    got: str | None


class StaleField(CauseBase, frozen=True):
    """A request has a header field of the one before it."""

    name: str
    value: str


class ChangedHeaders(CauseBase, frozen=True):
    """After the call the caller's own headers are not what the caller passed."""

    name: str
    before: str | None
    after: str | None


# Readings


class NumbersForError(CauseBase, frozen=True):
    """The user got tensors, but the answer is none, or is not to be trusted."""

    outputs: tuple[str, ...]


class ErrorForAnswer(CauseBase, frozen=True):
    """The user got an error, but the answer is well-formed."""

    error: str
    status: int | None


class ErrorLacks(CauseBase, frozen=True):
    """The error that the user gets lacks the server's own words, or the status."""

    expected: str
    error: str
    status: int | None


class WrongOutputsRead(CauseBase, frozen=True):
    """The user got other outputs than the answer has."""

    expected: tuple[str, ...]
    got: tuple[str, ...]


class WrongMemberRead(CauseBase, frozen=True):
    """A member of the answer is not what the user got of it."""

    name: str
    expected: str | None
    got: str | None


class ReportedError(CauseBase, frozen=True):
    """The user got an error, as the case expects."""

    error: str
    status: int | None


# The client itself


class ClientLacks(CauseBase, frozen=True, omit_defaults=True):
    """The client has no way to do what the case asks for: `what` is the API that is missing.

    `basic` says that the case asks for nothing but tensors in binary form, there and back.
    """

    what: str
    basic: bool = False


class ClientTimedOut(CauseBase, frozen=True):
    """The client did not end within its time."""

    seconds: float


class ClientFlooded(CauseBase, frozen=True):
    """The client printed more than `limit` bytes."""

    limit: Count


class ClientDied(CauseBase, frozen=True):
    """The client ended with another exit code than 0, or by a signal if that is negative."""

    exit: int
    stderr: str


class ClientGarbage(CauseBase, frozen=True):
    """The client printed a line that is none of the documented form."""

    problem: str


class ClientSaidLess(CauseBase, frozen=True):
    """The client said nothing of some requests of its task."""

    expected: Count
    got: Count
    stderr: str
