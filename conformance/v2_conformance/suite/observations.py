"""Rules that every exchange of a run must keep.

An observed requirement is judged over all exchanges that a run records, as a case of its own.
"""

from __future__ import annotations

from typing import Literal, get_args

_OfExchanges = Literal[
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
    "field_names",
    "field_values",
    "folded_fields",
    "framing",
    "ids",
    "interim_responses",
    "interim_responses_to_http_1_0",
    "json_types",
    "line_ends",
    "nothing_after",
    "single_fields",
    "status_lines",
    "transfer_codings",
    "transfer_codings_to_http_1_0",
    "unique_members",
]
# Those about what a server need not do at all, but must do everywhere if it does it anywhere.
_OfAbilities = Literal["chunked_requests", "zero_elements"]
_OfVerdicts = Literal["exact_values", "first_answers", "survival"]
_OfClients = Literal[
    "request_blobs", "request_hosts", "request_json", "request_lengths", "request_syntax"
]
Observed = _OfExchanges | _OfAbilities | _OfVerdicts | _OfClients
"""The names that `observed` in schemas/case.schema.json allows."""

OF_ABILITIES: frozenset[Observed] = frozenset(get_args(_OfAbilities))
OF_VERDICTS: frozenset[Observed] = OF_ABILITIES | frozenset(get_args(_OfVerdicts))
"""Those shown by the verdicts on cases, or by known-good requests before any case, not by the
exchanges of cases alone."""

OF_CLIENTS: frozenset[Observed] = frozenset(get_args(_OfClients))
"""Those that the requests of a client show."""
