"""Named deviations of the plain client, each breaking one requirement of the family K."""

from __future__ import annotations

from importlib import import_module

from v2_conformance.reference.client_faults.registry import (
    CLIENT_FAULTS,
    ClientFault,
    client_fault,
    find_client_fault,
    sort_client_faults,
)

__all__ = ["CLIENT_FAULTS", "ClientFault", "client_fault", "find_client_fault"]

# Importing a module registers its faults.
for _module in (
    "header_lengths",
    "blobs_sent",
    "elements_sent",
    "json_sent",
    "parameters_sent",
    "fields_sent",
    "blobs_read",
    "blobs_checked",
    "elements_read",
    "json_read",
    "errors_read",
    "connections",
    "requests_by_hand",
    "codings",
):
    import_module(f"{__name__}.{_module}")
sort_client_faults()
