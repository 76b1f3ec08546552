"""Rules that every exchange of a run must keep.

An observed requirement is judged over all exchanges that a run records, as a case of its own.
"""

from __future__ import annotations

from typing import Literal, get_args

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
