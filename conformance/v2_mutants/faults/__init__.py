"""Named deviations of the reference server, each breaking one requirement.

Every family of requirements has modules here, in rooms by what goes wrong; `shared` holds what
several of them need, and `serving.reported` what was reported of public servers.
"""

from __future__ import annotations

from importlib import import_module

from v2_conformance.reference.behaviour import Behaviour
from v2_mutants.registry import Mutant, fault, find

__all__ = ["FAULTS", "find_fault"]

# Importing a module registers its faults. This is the order of the families, as in the catalogue.
for _family in (
    "messages.framing",
    "messages.header_length",
    "tensors.declared_sizes",
    "tensors.size_checks",
    "tensors.elements",
    "tensors.json_elements",
    "tensors.long_json",
    "tensors.bytes_tensors",
    "tensors.texts",
    "tensors.several_inputs",
    "answers.outputs",
    "answers.responses",
    "tensors.zero_elements",
    "messages.raw_requests",
    "messages.transport",
    "messages.compression",
    "tensors.large",
    "spelling.json",
    "spelling.http",
    "spelling.look_alikes",
    "spelling.delivery",
    "spelling.sizes",
    "spelling.ids",
    "spelling.long_ways",
    "answers.errors",
    "answers.every_exchange",
    "messages.http_syntax",
    "serving.crossing",
    "malformed.data",
    "malformed.json",
    "malformed.inputs",
    "malformed.requests",
    "serving.state",
    "serving.concurrency",
    "serving.reported",
    "answers.optional_requests",
):
    import_module(f"{__name__}.{_family}")


def _by_requirement() -> list[Mutant[Behaviour]]:
    """The faults by requirement; families and faults as they were registered."""
    families = list(dict.fromkeys(mutant.requirement[0] for mutant in fault.values()))
    return sorted(
        fault.values(),
        key=lambda one: (families.index(one.requirement[0]), int(one.requirement[1:])),
    )


FAULTS = {mutant.name: mutant for mutant in _by_requirement()}


def find_fault(name: str) -> Mutant[Behaviour]:
    """Return the fault called `name`. Raises UsageError if there is none."""
    return find("fault", name, FAULTS)
