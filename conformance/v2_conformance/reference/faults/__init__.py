"""Named deviations of the reference server, each breaking one requirement.

Every family of requirements has modules here, and `reported` has what was reported of public
servers; `shared` holds what several of them need.
"""

from __future__ import annotations

from importlib import import_module

from v2_conformance.reference.faults.registry import (
    FAULTS,
    Fault,
    fault,
    find_fault,
    sort_faults,
)

__all__ = ["FAULTS", "Fault", "fault", "find_fault"]

# Importing a module registers its faults. This is the order of the families, as in the catalogue.
for _family in (
    "framing",
    "header_length",
    "header_notations",
    "declared_sizes",
    "size_checks",
    "elements",
    "bytes_tensors",
    "several_inputs",
    "outputs",
    "zero_elements",
    "raw_requests",
    "transport",
    "compression",
    "large_tensors",
    "spelling_json",
    "spelling_http",
    "spelling_delivery",
    "spelling_ids",
    "errors",
    "every_exchange",
    "malformed_data",
    "malformed_json",
    "malformed_inputs",
    "malformed_requests",
    "state",
    "reported",
    "crossing",
):
    import_module(f"{__name__}.{_family}")
sort_faults()
