"""Mistakes of clients: in a request that they send, or in an answer that they read.

A row for each, as in `v2_conformance.suite.causes.kinds`. Text in one that came from a client is
printable ASCII of bounded length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from v2_conformance.suite.causes.base import CauseBase, Count

# A table, so each row is laid out as one block.
# fmt: off

RequestRule = Literal[
    "address", "chunk", "content_length", "field", "host", "line_end", "request_line",
    "transfer_coding", "two_lengths",
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

# Requests


class InvalidRequestHttp(CauseBase, frozen=True):
    """the request violates HTTP/1.1: {broken}: {shown:or none}"""
    rule: RequestRule
    shown: str

    @property
    def broken(self) -> str:
        return _BROKEN_RULES[self.rule]

class NoRequest(CauseBase, frozen=True, omit_defaults=True):
    """the client sent no inference request[, the user got an error: '{error}']"""
    telling = True
    error: str | None = None

class UnreadableRequest(CauseBase, frozen=True):
    """no server can read the request: {problem}"""
    telling = True
    problem: str

class IncompleteRequest(CauseBase, frozen=True):
    """incomplete request: the client stopped after {came} bytes"""
    came: Count

class TooManyRequests(CauseBase, frozen=True):
    """expected the request at most {most:once|# times}, got it {got:once|# times}"""
    most: Count
    got: Count

class RequestSent(CauseBase, frozen=True):
    """expected the client to refuse, because JSON cannot express these values, got a request"""
    misleads = True

class NoHeaderLengthSent(CauseBase, frozen=True):
    """expected {HEADER_LENGTH}, because {blobs} bytes of blobs follow the JSON, got none"""
    blobs: Count

class WrongHeaderLength(CauseBase, frozen=True):
    """expected {HEADER_LENGTH} {expected}, the length of the JSON in bytes, got {got}"""
    expected: Count
    got: str

class WrongTarget(CauseBase, frozen=True):
    """expected {expected}, got {got}"""
    telling = True
    expected: str
    got: str

class WrongInputs(CauseBase, frozen=True):
    """expected the inputs {expected:list}, got {got:list}"""
    expected: tuple[str, ...]
    got: tuple[str, ...]

class WrongOutputsAsked(CauseBase, frozen=True):
    """expected `outputs` to list {expected:list}, got {got:list}"""
    telling = True
    expected: tuple[str, ...]
    got: tuple[str, ...]

class WrongParameter(CauseBase, frozen=True):
    """expected the parameter {name} of {owner} to be {expected:none}, got {got:none}"""
    telling = True
    owner: str  # the request, an input or an output
    name: str
    expected: str | None  # JSON, None if the parameter is not there
    got: str | None

class StaleField(CauseBase, frozen=True):
    """the header field {name} ('{value}') is left over from the previous request"""
    name: str
    value: str

class StaleMember(CauseBase, frozen=True):
    """the {name} '{value}' is left over from an earlier request"""
    name: str  # the id, the version, an output or a parameter
    value: str

class ChangedHeaders(CauseBase, frozen=True):
    """the call changed the caller's own header {name}: expected {before:none}, got {after:none}"""
    name: str
    before: str | None
    after: str | None

# Readings

class NumbersForError(CauseBase, frozen=True):
    """expected an error for the user, got tensors: {outputs:list}"""
    misleads = True
    outputs: tuple[str, ...]

class ExactForError(CauseBase, frozen=True):
    """expected an error for the user, got tensors: {outputs:list}; the values are right, so this
    is only a warning"""
    lenient = True
    outputs: tuple[str, ...]

class ErrorForAnswer(CauseBase, frozen=True):
    """expected the answer's tensors, got an error: '{error}'[ (status {status})]"""
    telling = True
    error: str
    status: int | None

class ErrorLacks(CauseBase, frozen=True):
    """expected an error with {expected}, got '{error}'[ (status {status})]"""
    expected: str  # the server's own words, or the status
    error: str
    status: int | None

class WrongOutputsRead(CauseBase, frozen=True):
    """expected the outputs {expected:list}, got {got:list}"""
    misleads = True
    expected: tuple[str, ...]
    got: tuple[str, ...]

class WrongMemberRead(CauseBase, frozen=True):
    """expected {name} {expected:none}, got {got:none}"""
    misleads = True
    name: str
    expected: str | None
    got: str | None

class ReportedError(CauseBase, frozen=True):
    """the user got an error: '{error}'[ (status {status})]"""
    error: str
    status: int | None

# The client itself

class ClientLacks(CauseBase, frozen=True, omit_defaults=True):
    """the client does not support this: {what}"""
    what: str  # the API that is missing
    basic: bool = False  # the case asks for nothing but tensors in binary form, there and back

    @property
    def lacks_basics(self) -> bool:
        return self.basic

class ClientTimedOut(CauseBase, frozen=True):
    """the client did not finish within {seconds:g} s"""
    seconds: float

class ClientKeptHanging(CauseBase, frozen=True):
    """not run: the client had hung in {number} scenarios in a row"""
    unsent = True
    number: Count

class ClientLate(CauseBase, frozen=True):
    """the user waited {waited:.1f} s, but the caller's time limit is {limit:g} s"""
    waited: float
    limit: float

class ClientFlooded(CauseBase, frozen=True):
    """the client printed more than {limit} bytes"""
    limit: Count

class ClientDied(CauseBase, frozen=True):
    """the client {ended}{stderr:tail}"""
    telling = True
    exit: int
    stderr: str

    @property
    def ended(self) -> str:
        killed = self.exit < 0
        return f"was killed by signal {-self.exit}" if killed else f"exited with code {self.exit}"

class ClientGarbage(CauseBase, frozen=True):
    """the client printed an invalid line: {problem}"""
    telling = True
    problem: str

class ClientSaidLess(CauseBase, frozen=True):
    """expected {expected:# line|# line|# lines} of JSON from the client, got {got} (is standard
    output flushed before the end?){stderr:tail}"""
    telling = True
    expected: Count
    got: Count
    stderr: str
