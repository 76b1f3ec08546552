"""Named deviations of the plain client, each breaking one requirement of the family K."""

from __future__ import annotations

from importlib import import_module

from v2_mutants.registry import client_fault

__all__ = ["CLIENT_FAULTS", "find_client_fault"]

# Importing a module registers its faults.
for _module in ("sent", "read", "answers", "by_hand"):
    import_module(f"{__name__}.{_module}")

CLIENT_FAULTS = {
    mutant.name: mutant
    for mutant in sorted(client_fault.values(), key=lambda mutant: int(mutant.requirement[1:]))
}
"""All faults of the plain client by name, in the order of their requirements."""

find_client_fault = client_fault.find
