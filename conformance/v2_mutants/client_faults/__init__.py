"""Named deviations of the plain client, each breaking one requirement of the family K."""

from __future__ import annotations

from importlib import import_module

from v2_mutants.registry import client_fault

__all__ = ["CLIENT_FAULTS", "find_client_fault"]

# Importing a module registers its faults.
for _module in (
    "blobs_sent",
    "elements_sent",
    "json_sent",
    "fields_sent",
    "blobs_read",
    "blobs_checked",
    "elements_read",
    "json_read",
    "errors_read",
    "connections",
    "requests_by_hand",
    "responses_by_hand",
    "long_messages",
    "outputs_read",
    "codings",
):
    import_module(f"{__name__}.{_module}")

CLIENT_FAULTS = {
    mutant.name: mutant
    for mutant in sorted(client_fault.values(), key=lambda mutant: int(mutant.requirement[1:]))
}
"""All faults of the plain client by name, in the order of their requirements."""

find_client_fault = client_fault.find
