"""Rules that every exchange of a run must keep, and the findings of cases about them.

An observed requirement is judged over all exchanges that a run records, as a case of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from v2_conformance.suite.causes.base import CauseBase, Count, body_words

Observed = Literal[
    "announced_closes",
    "binary_types",
    "chunked_requests",
    "chunks",
    "client_errors",
    "content_lengths",
    "continues",
    "data_or_size",
    "error_bodies",
    "error_header_lengths",
    "error_status",
    "error_types",
    "exact_values",
    "field_names",
    "field_values",
    "first_answers",
    "folded_fields",
    "framing",
    "ids",
    "interim_responses",
    "interim_responses_to_http_1_0",
    "json_types",
    "line_ends",
    "nothing_after",
    "request_blobs",
    "request_hosts",
    "request_json",
    "request_lengths",
    "request_syntax",
    "single_fields",
    "status_lines",
    "survival",
    "transfer_codings",
    "transfer_codings_to_http_1_0",
    "unique_members",
    "zero_elements",
]
"""The names that `observed` in schemas/case.schema.json allows."""

OF_VERDICTS: frozenset[Observed] = frozenset(
    {"survival", "exact_values", "chunked_requests", "zero_elements", "first_answers"}
)
"""Those shown by the verdicts on cases, or by known-good requests before any case, not by the
exchanges of cases alone."""

OF_ABILITIES: frozenset[Observed] = frozenset({"chunked_requests", "zero_elements"})
"""Those about what a server need not do at all, but must do everywhere if it does it anywhere."""

OF_CLIENTS: frozenset[Observed] = frozenset(
    {"request_blobs", "request_hosts", "request_json", "request_lengths", "request_syntax"}
)
"""Those that the requests of a client show."""

OBSERVED: tuple[Observed, ...] = get_args(Observed)

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
