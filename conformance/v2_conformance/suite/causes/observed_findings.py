"""Findings about rules that every exchange of a run must keep, and what their cases come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from v2_conformance.suite.causes.base import CauseBase, Count, body_words

HttpRule = Literal[
    "chunk",
    "content_length",
    "content_length_not_allowed",
    "field_name",
    "field_value",
    "folded_line",
    "interim_response",
    "line_end",
    "repeated_field",
    "space_before_colon",
    "status_line",
    "transfer_coding",
]
"""A rule of RFC 9112 that a response can break."""
_BROKEN_RULES: Mapping[HttpRule, str] = {
    "chunk": "malformed chunk (RFC 9112, section 7.1)",
    "content_length": "Content-Length is not one decimal number",
    "content_length_not_allowed": "Content-Length in a message with a transfer coding or "
    "without a body, or a field in a trailer that frames the message",
    "field_name": "invalid character in the name of a header field",
    "field_value": "control character in the value of a header field",
    "folded_line": "a header field continues on the next line",
    "interim_response": "an interim response has a body, has fields that frame one, or was not "
    "allowed by the client",
    "line_end": "a line ends with LF instead of CRLF",
    "repeated_field": "a header field that may occur only once occurs twice",
    "space_before_colon": "white space between the name of a header field and its colon",
    "status_line": "malformed status line, expected HTTP/1.1 or HTTP/1.0, a space, a status "
    "from 100 to 599, a space and a reason, which may be empty",
    "transfer_coding": "Transfer-Encoding is not one that HTTP/1.1 allows here",
}


class InvalidHttp(CauseBase, frozen=True):
    """A response breaks a rule of HTTP/1.1's syntax; `shown` is where, printable."""

    stable = ("rule",)
    rule: HttpRule
    shown: str

    def words(self) -> str:
        return (
            f"the response violates HTTP/1.1: {_BROKEN_RULES[self.rule]}: {body_words(self.shown)}"
        )


class StrayBytes(CauseBase, frozen=True):
    """`count` bytes came on a kept connection after its response, before any other request."""

    says = "expected nothing on the idle connection after the previous response, got {count:byte}"
    count: Count


class UnannouncedClose(CauseBase, frozen=True):
    """A kept connection was closed within `after_ms` of a response that did not say so."""

    says = (
        "expected Connection: close in the previous response, got none, although the server closed "
        "the connection within {after_ms} ms"
    )
    after_ms: Count


class NotContinued(CauseBase, frozen=True):
    """A client that waits for 100 Continue heard nothing for `waited_ms`, and sent its body."""

    says = (
        "expected 100 Continue or a final status, got nothing in {waited_ms} ms, so the client "
        "sent the body"
    )
    waited_ms: Count


class NothingObserved(CauseBase, frozen=True):
    """No exchange of the run shows whether the requirement is kept; `answers` came whole."""

    says = "none of {answers:answer} shows whether the server does this"
    answers: Count


class AllKept(CauseBase, frozen=True):
    """All `judged` exchanges that the requirement is about keep it."""

    judged: Count

    def words(self) -> str:
        return (
            "held in the only exchange"
            if self.judged == 1
            else f"held in all {self.judged} exchanges"
        )


class NoErrorToJudge(CauseBase, frozen=True):
    """The case is about the error alone, but the server accepted the request."""

    says = "the server accepted the request with {status}, so there is no error to judge"
    status: int
