"""What a client can get wrong: in a request that it sends, or in an answer that it reads.

Text in a finding that came from a client is printable ASCII of bounded length, as in `findings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.causes.cause_base import CauseBase, Count, listed

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
_BROKEN_RULES: Mapping[RequestRule, str] = {
    "chunk": "a chunk is not framed as RFC 9112, section 7.1, says",
    "content_length": "expected one Content-Length, a decimal number, got",
    "field": "a header field is none that RFC 9112, section 5, knows",
    "host": "expected exactly one Host, got",
    "line_end": "a line does not end with CRLF, or there is an empty one before the request",
    "request_line": "the first line is no request line",
    "transfer_coding": "the Transfer-Encoding is not chunked",
    "two_lengths": "there is a Content-Length beside a Transfer-Encoding",
}


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _error(error: str, status: int | None) -> str:
    return f"'{error}'" + ("" if status is None else f" (status {status})")


def _absent(value: str | None) -> str:
    return "none" if value is None else value


def _tail(stderr: str) -> str:
    return f": {stderr}" if stderr else ""


# Requests


class InvalidRequestHttp(CauseBase, frozen=True):
    """A request breaks a rule of HTTP/1.1; `shown` is where, printable."""

    rule: RequestRule
    shown: str

    def words(self) -> str:
        return (
            f"the request breaks a rule of HTTP/1.1: {_BROKEN_RULES[self.rule]}: "
            f"{self.shown or 'none'}"
        )


class NoRequest(CauseBase, frozen=True):
    """No inference request came that belongs to the task's."""

    def words(self) -> str:
        return "the client sent no inference request"


class UnreadableRequest(CauseBase, frozen=True):
    """What came is no request that a server can read."""

    problem: str

    def words(self) -> str:
        return f"no server can read the request: {self.problem}"


class IncompleteRequest(CauseBase, frozen=True):
    """The client ended the connection, or stopped sending, before its request was whole."""

    came: Count

    def words(self) -> str:
        return f"the client stopped before its request was whole; {self.came} bytes came"


class TooManyRequests(CauseBase, frozen=True):
    """The client sent the same request `got` times."""

    most: Count
    got: Count

    def words(self) -> str:
        return f"expected the request {_times(self.most)} at most, got it {_times(self.got)}"


class RequestSent(CauseBase, frozen=True):
    """The client sent a request that it has to refuse to send."""

    def words(self) -> str:
        return "expected the client to refuse, since JSON cannot say these values, got a request"


class NoHeaderLengthSent(CauseBase, frozen=True):
    """A request carries blobs, but no header length."""

    blobs: Count

    def words(self) -> str:
        return (
            f"{self.blobs} bytes of blobs follow the JSON, but the request has no {HEADER_LENGTH}"
        )


class WrongHeaderLength(CauseBase, frozen=True):
    """The header length of a request is not the length of its JSON in bytes."""

    expected: Count
    got: str

    def words(self) -> str:
        return (
            f"expected {HEADER_LENGTH} {self.expected}, the length of the JSON in bytes, got "
            f"{self.got}"
        )


class WrongTarget(CauseBase, frozen=True):
    """A request goes to another method or path."""

    expected: str
    got: str

    def words(self) -> str:
        return f"expected {self.expected}, got {self.got}"


class WrongInputs(CauseBase, frozen=True):
    """A request has other inputs than the caller passed."""

    expected: tuple[str, ...]
    got: tuple[str, ...]

    def words(self) -> str:
        return f"expected the inputs {listed(self.expected)}, got {listed(self.got)}"


class WrongOutputsAsked(CauseBase, frozen=True):
    """A request asks for other outputs than the caller named."""

    expected: tuple[str, ...]
    got: tuple[str, ...]

    def words(self) -> str:
        return f"expected `outputs` to list {listed(self.expected)}, got {listed(self.got)}"


class WrongParameter(CauseBase, frozen=True):
    """A parameter of a request, an input or an output is not as the caller gave it.

    `owner` says whose it is; `expected` and `got` are JSON, None if the parameter is not there.
    """

    owner: str
    name: str
    expected: str | None
    got: str | None

    def words(self) -> str:
        return (
            f"expected the parameter {self.name} of {self.owner} to be {_absent(self.expected)}, "
            f"got {_absent(self.got)}"
        )


class WrongField(CauseBase, frozen=True):
    """A header field of a request is not what it has to be; `got` is None if it is not there."""

    name: str
    expected: str
    got: str | None

    def words(self) -> str:
        return f"expected {self.name} {self.expected}, got {_absent(self.got)}"


class StaleField(CauseBase, frozen=True):
    """A request has a header field of the one before it."""

    name: str
    value: str

    def words(self) -> str:
        return f"the header field {self.name} ('{self.value}') is that of the request before"


class ChangedHeaders(CauseBase, frozen=True):
    """After the call the caller's own headers are not what the caller passed."""

    name: str
    before: str | None
    after: str | None

    def words(self) -> str:
        return (
            f"the caller's own header {self.name} was {_absent(self.before)} before the call, and "
            f"is {_absent(self.after)} after it"
        )


# Readings


class NumbersForError(CauseBase, frozen=True):
    """The user got tensors, but the answer is none, or is not to be trusted."""

    outputs: tuple[str, ...]

    def words(self) -> str:
        return f"expected an error for the user, got tensors: {listed(self.outputs)}"


class ErrorForAnswer(CauseBase, frozen=True):
    """The user got an error, but the answer is well-formed."""

    error: str
    status: int | None

    def words(self) -> str:
        return f"expected the answer's tensors, got an error: {_error(self.error, self.status)}"


class ErrorLacks(CauseBase, frozen=True):
    """The error that the user gets lacks the server's own words, or the status."""

    expected: str
    error: str
    status: int | None

    def words(self) -> str:
        return f"expected an error with {self.expected}, got {_error(self.error, self.status)}"


class WrongOutputsRead(CauseBase, frozen=True):
    """The user got other outputs than the answer has."""

    expected: tuple[str, ...]
    got: tuple[str, ...]

    def words(self) -> str:
        return f"expected the outputs {listed(self.expected)}, got {listed(self.got)}"


class WrongMemberRead(CauseBase, frozen=True):
    """A member of the answer is not what the user got of it."""

    name: str
    expected: str | None
    got: str | None

    def words(self) -> str:
        return f"expected {self.name} {_absent(self.expected)}, got {_absent(self.got)}"


class ReportedError(CauseBase, frozen=True):
    """The user got an error, as the case expects."""

    error: str
    status: int | None

    def words(self) -> str:
        return f"the user got an error: {_error(self.error, self.status)}"


# The client itself


class ClientLacks(CauseBase, frozen=True, omit_defaults=True):
    """The client has no way to do what the case asks for: `what` is the API that is missing.

    `basic` says that the case asks for nothing but tensors in binary form, there and back.
    """

    what: str
    basic: bool = False

    def words(self) -> str:
        return f"the client cannot be asked for this: {self.what}"


class ClientTimedOut(CauseBase, frozen=True):
    """The client did not end within its time."""

    seconds: float

    def words(self) -> str:
        return f"the client did not end within {self.seconds:g} s"


class ClientFlooded(CauseBase, frozen=True):
    """The client printed more than `limit` bytes."""

    limit: Count

    def words(self) -> str:
        return f"the client printed more than {self.limit} bytes"


class ClientDied(CauseBase, frozen=True):
    """The client ended with another exit code than 0, or by a signal if that is negative."""

    exit: int
    stderr: str

    def words(self) -> str:
        how = f"by signal {-self.exit}" if self.exit < 0 else f"with exit code {self.exit}"
        return f"the client ended {how}{_tail(self.stderr)}"


class ClientGarbage(CauseBase, frozen=True):
    """The client printed a line that is none of the documented form."""

    problem: str

    def words(self) -> str:
        return f"the client printed a line of no documented form: {self.problem}"


class ClientSaidLess(CauseBase, frozen=True):
    """The client said nothing of some requests of its task."""

    expected: Count
    got: Count
    stderr: str

    def words(self) -> str:
        return (
            f"expected {self.expected} line{'s' if self.expected > 1 else ''} of JSON from the "
            f"client, got {self.got}{_tail(self.stderr)}"
        )
