"""Mistakes of clients: in a request that they send, or in an answer that they read.

Text in a finding that came from a client is printable ASCII of bounded length, as in `findings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from v2_conformance.suite.causes.base import CauseBase, Count

RequestRule = Literal[
    "address",
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
    "address": "expected Host to be the server's address and port, as in the URL, got",
    "chunk": "malformed chunk (RFC 9112, section 7.1)",
    "content_length": "expected one Content-Length, a decimal number, got",
    "field": "malformed header field (RFC 9112, section 5)",
    "host": "expected exactly one Host, got",
    "line_end": "a line does not end with CRLF, or an empty line precedes the request",
    "request_line": "malformed request line",
    "transfer_coding": "expected Transfer-Encoding: chunked, got",
    "two_lengths": "both Content-Length and Transfer-Encoding",
}


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _error(error: str, status: int | None) -> str:
    return f"'{error}'" + ("" if status is None else f" (status {status})")


def _tail(stderr: str) -> str:
    return f": {stderr}" if stderr else ""


# Requests


class InvalidRequestHttp(CauseBase, frozen=True):
    """A request breaks a rule of HTTP/1.1; `shown` is where, printable."""

    rule: RequestRule
    shown: str

    def words(self) -> str:
        return f"the request violates HTTP/1.1: {_BROKEN_RULES[self.rule]}: {self.shown or 'none'}"


class NoRequest(CauseBase, frozen=True, omit_defaults=True):
    """No inference request came that belongs to the task's; `error` is what the user got."""

    telling = True
    error: str | None = None

    def words(self) -> str:
        said = "" if self.error is None else f", the user got an error: {_error(self.error, None)}"
        return f"the client sent no inference request{said}"


class UnreadableRequest(CauseBase, frozen=True):
    """The client sent something that no server can read as a request."""

    telling = True
    says = "no server can read the request: {problem}"
    problem: str


class IncompleteRequest(CauseBase, frozen=True):
    """The client ended the connection, or stopped sending, before its request was whole."""

    says = "incomplete request: the client stopped after {came} bytes"
    came: Count


class TooManyRequests(CauseBase, frozen=True):
    """The client sent the same request `got` times."""

    most: Count
    got: Count

    def words(self) -> str:
        return f"expected the request at most {_times(self.most)}, got it {_times(self.got)}"


class RequestSent(CauseBase, frozen=True):
    """The client sent a request that it has to refuse to send."""

    says = "expected the client to refuse, because JSON cannot express these values, got a request"
    misleads = True


class NoHeaderLengthSent(CauseBase, frozen=True):
    """A request carries blobs, but no header length."""

    says = "expected {HEADER_LENGTH}, because {blobs} bytes of blobs follow the JSON, got none"
    blobs: Count


class WrongHeaderLength(CauseBase, frozen=True):
    """The header length of a request is not the length of its JSON in bytes."""

    says = "expected {HEADER_LENGTH} {expected}, the length of the JSON in bytes, got {got}"
    expected: Count
    got: str


class WrongTarget(CauseBase, frozen=True):
    """A request goes to another method or path."""

    telling = True
    says = "expected {expected}, got {got}"
    expected: str
    got: str


class WrongInputs(CauseBase, frozen=True):
    """A request has other inputs than the caller passed."""

    says = "expected the inputs {expected:list}, got {got:list}"
    expected: tuple[str, ...]
    got: tuple[str, ...]


class WrongOutputsAsked(CauseBase, frozen=True):
    """A request asks for other outputs than the caller named."""

    telling = True
    says = "expected `outputs` to list {expected:list}, got {got:list}"
    expected: tuple[str, ...]
    got: tuple[str, ...]


class WrongParameter(CauseBase, frozen=True):
    """A parameter of a request, an input or an output is not as the caller gave it.

    `owner` says whose it is; `expected` and `got` are JSON, None if the parameter is not there.
    """

    telling = True
    says = "expected the parameter {name} of {owner} to be {expected:none}, got {got:none}"
    owner: str
    name: str
    expected: str | None
    got: str | None


class WrongField(CauseBase, frozen=True):
    """A header field of a request is wrong; `got` is None if it is missing."""

    telling = True
    says = "expected {name} {expected}, got {got:none}"
    name: str
    expected: str
    got: str | None


class StaleField(CauseBase, frozen=True):
    """A request has a header field of the one before it."""

    says = "the header field {name} ('{value}') is left over from the previous request"
    name: str
    value: str


class StaleMember(CauseBase, frozen=True):
    """A request has the id, the version, an output or a parameter of an earlier one."""

    says = "the {name} '{value}' is left over from an earlier request"
    name: str
    value: str


class ChangedHeaders(CauseBase, frozen=True):
    """After the call the caller's own headers are not what the caller passed."""

    says = (
        "the call changed the caller's own header {name}: expected {before:none}, got {after:none}"
    )
    name: str
    before: str | None
    after: str | None


# Readings


class NumbersForError(CauseBase, frozen=True):
    """The user got tensors, but the answer has none, or is not to be trusted."""

    says = "expected an error for the user, got tensors: {outputs:list}"
    misleads = True
    outputs: tuple[str, ...]


class ExactForError(CauseBase, frozen=True):
    """The user got the exact tensors of an answer that contradicts itself."""

    says = (
        "expected an error for the user, got tensors: {outputs:list}; they are exact, so nothing "
        "was made up, and the error is a SHOULD"
    )
    outputs: tuple[str, ...]

    @property
    def lenient(self) -> bool:
        return True


class ErrorForAnswer(CauseBase, frozen=True):
    """The user got an error, but the answer is well-formed."""

    telling = True
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

    says = "expected the outputs {expected:list}, got {got:list}"
    misleads = True
    expected: tuple[str, ...]
    got: tuple[str, ...]


class WrongMemberRead(CauseBase, frozen=True):
    """A member of the answer is not what the user got of it."""

    says = "expected {name} {expected:none}, got {got:none}"
    misleads = True
    name: str
    expected: str | None
    got: str | None


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

    says = "the client does not support this: {what}"
    what: str
    basic: bool = False

    @property
    def lacks_basics(self) -> bool:
        return self.basic


class ClientTimedOut(CauseBase, frozen=True):
    """The client did not end within its time."""

    says = "the client did not finish within {seconds:g} s"
    seconds: float


class ClientKeptHanging(CauseBase, frozen=True):
    """Not run: the client had hung in so many scenarios in a row."""

    unsent = True
    says = "not run: the client had hung in {number} scenarios in a row"
    number: Count


class ClientLate(CauseBase, frozen=True):
    """The caller got its error, but long after its time limit."""

    says = "the user waited {waited:.1f} s, but the caller's time limit is {limit:g} s"
    waited: float
    limit: float


class ClientFlooded(CauseBase, frozen=True):
    """The client printed more than `limit` bytes."""

    says = "the client printed more than {limit} bytes"
    limit: Count


class ClientDied(CauseBase, frozen=True):
    """The client ended with another exit code than 0, or by a signal if that is negative."""

    telling = True
    exit: int
    stderr: str

    def words(self) -> str:
        if self.exit < 0:
            return f"the client was killed by signal {-self.exit}{_tail(self.stderr)}"
        return f"the client exited with code {self.exit}{_tail(self.stderr)}"


class ClientGarbage(CauseBase, frozen=True):
    """The client printed a line that does not have the documented form."""

    telling = True
    says = "the client printed an invalid line: {problem}"
    problem: str


class ClientSaidLess(CauseBase, frozen=True):
    """The client said nothing of some requests of its task."""

    telling = True
    expected: Count
    got: Count
    stderr: str

    def words(self) -> str:
        return (
            f"expected {self.expected} line{'s' if self.expected > 1 else ''} of JSON from the "
            f"client, got {self.got} (is standard output flushed before the end?)"
            f"{_tail(self.stderr)}"
        )
