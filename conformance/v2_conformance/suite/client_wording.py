"""What a client got wrong, in words: part of `wording`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite import client_findings as found
from v2_conformance.suite.phrases import listed


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _error(error: str, status: int | None) -> str:
    return f"'{error}'" + ("" if status is None else f" (status {status})")


def _absent(value: str | None) -> str:
    return "none" if value is None else value


def _tail(stderr: str) -> str:
    return f": {stderr}" if stderr else ""


def _died(cause: found.ClientDied) -> str:
    how = f"by signal {-cause.exit}" if cause.exit < 0 else f"with exit code {cause.exit}"
    return f"the client ended {how}{_tail(cause.stderr)}"


_BROKEN_RULES = {
    "chunk": "a chunk is not framed as RFC 9112, section 7.1, says",
    "content_length": "expected one Content-Length, a decimal number, got",
    "field": "a header field is none that RFC 9112, section 5, knows",
    "host": "expected exactly one Host, got",
    "line_end": "a line does not end with CRLF, or there is an empty one before the request",
    "request_line": "the first line is no request line",
    "transfer_coding": "the Transfer-Encoding is not chunked",
    "two_lengths": "there is a Content-Length beside a Transfer-Encoding",
}


CLIENT_WORDS: Mapping[type, Callable[[Any], str]] = {
    found.InvalidRequestHttp: lambda c: (
        f"the request breaks a rule of HTTP/1.1: {_BROKEN_RULES[c.rule]}: {c.shown or 'none'}"
    ),
    found.NoRequest: lambda c: "the client sent no inference request",
    found.UnreadableRequest: lambda c: f"no server can read the request: {c.problem}",
    found.IncompleteRequest: lambda c: (
        f"the client stopped before its request was whole; {c.came} bytes came"
    ),
    found.TooManyRequests: lambda c: (
        f"expected the request {_times(c.most)} at most, got it {_times(c.got)}"
    ),
    found.RequestSent: lambda c: (
        "expected the client to refuse, since JSON cannot say these values, got a request"
    ),
    found.NoHeaderLengthSent: lambda c: (
        f"{c.blobs} bytes of blobs follow the JSON, but the request has no {HEADER_LENGTH}"
    ),
    found.WrongHeaderLength: lambda c: (
        f"expected {HEADER_LENGTH} {c.expected}, the length of the JSON in bytes, got {c.got}"
    ),
    found.WrongTarget: lambda c: f"expected {c.expected}, got {c.got}",
    found.WrongInputs: lambda c: f"expected the inputs {listed(c.expected)}, got {listed(c.got)}",
    found.WrongOutputsAsked: lambda c: (
        f"expected `outputs` to list {listed(c.expected)}, got {listed(c.got)}"
    ),
    found.WrongParameter: lambda c: (
        f"expected the parameter {c.name} of {c.owner} to be {_absent(c.expected)}, got "
        f"{_absent(c.got)}"
    ),
    found.WrongField: lambda c: f"expected {c.name} {c.expected}, got {_absent(c.got)}",
    found.StaleField: lambda c: (
        f"the header field {c.name} ('{c.value}') is that of the request before"
    ),
    found.ChangedHeaders: lambda c: (
        f"the caller's own header {c.name} was {_absent(c.before)} before the call, and is "
        f"{_absent(c.after)} after it"
    ),
    found.NumbersForError: lambda c: (
        f"expected an error for the user, got tensors: {listed(c.outputs)}"
    ),
    found.ErrorForAnswer: lambda c: (
        f"expected the answer's tensors, got an error: {_error(c.error, c.status)}"
    ),
    found.ErrorLacks: lambda c: (
        f"expected an error with {c.expected}, got {_error(c.error, c.status)}"
    ),
    found.WrongOutputsRead: lambda c: (
        f"expected the outputs {listed(c.expected)}, got {listed(c.got)}"
    ),
    found.WrongMemberRead: lambda c: (
        f"expected {c.name} {_absent(c.expected)}, got {_absent(c.got)}"
    ),
    found.ReportedError: lambda c: f"the user got an error: {_error(c.error, c.status)}",
    found.ClientLacks: lambda c: f"the client cannot be asked for this: {c.what}",
    found.ClientTimedOut: lambda c: f"the client did not end within {c.seconds:g} s",
    found.ClientFlooded: lambda c: f"the client printed more than {c.limit} bytes",
    found.ClientDied: _died,
    found.ClientGarbage: lambda c: f"the client printed a line of no documented form: {c.problem}",
    found.ClientSaidLess: lambda c: (
        f"expected {c.expected} line{'s' if c.expected > 1 else ''} of JSON from the client, got "
        f"{c.got}{_tail(c.stderr)}"
    ),
}
