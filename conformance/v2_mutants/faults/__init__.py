"""Named deviations of the reference server, each breaking one requirement.

Modules are by what goes wrong; `shared` has what several of them need, `reported` what was reported
of public servers.
"""

from __future__ import annotations

from importlib import import_module

from v2_conformance.reference.behavior import Behavior
from v2_mutants.registry import Mutant, fault, find

__all__ = ["FAULTS", "find_fault"]

# Importing a module registers its faults.
for _module in (
    "framing",
    "sizes",
    "elements",
    "texts",
    "inputs",
    "outputs",
    "transport",
    "long_messages",
    "json_spelling",
    "http_spelling",
    "errors",
    "crossing",
    "malformed_data",
    "malformed_inputs",
    "malformed_json",
    "state",
    "concurrency",
    "reported",
):
    import_module(f"{__name__}.{_module}")


_FAMILIES = "PHSDBMOEWCZLVRXJ"
"""In the order of the catalogue."""


def _place(mutant: Mutant[Behavior]) -> tuple[int, int]:
    return _FAMILIES.index(mutant.requirement[0]), int(mutant.requirement[1:])


FAULTS = {mutant.name: mutant for mutant in sorted(fault.values(), key=_place)}
"""All faults by name, in the order of their requirements."""


def find_fault(name: str) -> Mutant[Behavior]:
    """Return the fault called `name`. Raises UsageError if there is none."""
    return find("fault", name, FAULTS)
