"""What every exchange of a run has to keep, and what a case about it finds.

An observed requirement is judged over all exchanges that a run records, as a case of its own.
"""

from __future__ import annotations

from typing import Literal, get_args

from v2_conformance.suite.findings import CauseBase, Count

Observed = Literal[
    "announced_closes",
    "binary_types",
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
    "folded_fields",
    "framing",
    "ids",
    "interim_responses",
    "json_types",
    "line_ends",
    "nothing_after",
    "request_hosts",
    "request_json",
    "request_lengths",
    "request_syntax",
    "single_fields",
    "status_lines",
    "survival",
    "transfer_codings",
    "unique_members",
]
"""What is observed, by the names that `observed` in schemas/case.schema.json allows."""

OF_VERDICTS: frozenset[Observed] = frozenset({"survival", "exact_values"})
"""What the verdicts on cases show, and not their exchanges alone."""

OF_CLIENTS: frozenset[Observed] = frozenset(
    {"request_hosts", "request_json", "request_lengths", "request_syntax"}
)
"""What the requests of a client show."""

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


class InvalidHttp(CauseBase, frozen=True):
    """A response breaks a rule of HTTP/1.1's syntax; `shown` is where, printable."""

    rule: HttpRule
    shown: str


class StrayBytes(CauseBase, frozen=True):
    """`count` bytes came on a kept connection after its response, before any other request."""

    count: Count


class UnannouncedClose(CauseBase, frozen=True):
    """A kept connection was closed within `after_ms` of a response that did not say so."""

    after_ms: Count


class NotContinued(CauseBase, frozen=True):
    """A client that waits for 100 Continue heard nothing for `waited_ms`, and sent its body."""

    waited_ms: Count


class NothingObserved(CauseBase, frozen=True):
    """No exchange of the run shows whether the requirement is kept; `answers` came whole."""

    answers: Count


class AllKept(CauseBase, frozen=True):
    """All `judged` exchanges that the requirement is about keep it."""

    judged: Count


class NoErrorToJudge(CauseBase, frozen=True):
    """The case is about the error alone, but the server accepted the request."""

    status: int
