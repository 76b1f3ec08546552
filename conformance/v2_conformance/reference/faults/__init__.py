"""Named deviations of the reference server, each breaking one requirement.

Every family of requirements has modules here, and `reported` has what was reported of public
servers; `shared` holds what several faults need.
"""

from __future__ import annotations

from importlib import import_module

from v2_conformance.reference.faults.registry import (
    FAULTS,
    FAULTS_UNDER_LOAD,
    Fault,
    fault,
    find_fault,
    sort_faults,
)

__all__ = ["FAULTS", "FAULTS_UNDER_LOAD", "Fault", "fault", "find_fault"]

# Importing a module registers its faults. This is the order of the families, as in the catalogue.
for _family in (
    "framing",
    "header_length",
    "header_notations",
    "declared_sizes",
    "size_checks",
    "elements",
    "json_elements",
    "bytes_tensors",
    "bytes_in_json",
    "text_elements",
    "long_texts",
    "several_inputs",
    "outputs",
    "responses",
    "zero_elements",
    "raw_requests",
    "transport",
    "chunk_sizes",
    "compression",
    "large_tensors",
    "huge_tensors",
    "spelling_json",
    "spelling_http",
    "spelling_delivery",
    "spelling_ids",
    "errors",
    "every_exchange",
    "http_syntax",
    "crossing",
    "malformed_data",
    "malformed_json",
    "malformed_inputs",
    "later_inputs",
    "malformed_types",
    "malformed_requests",
    "state",
    "concurrency",
    "breaches",
    "reported",
    "optional_requests",
    "hosted_endpoints",
    "under_load",
):
    import_module(f"{__name__}.{_family}")
sort_faults()
