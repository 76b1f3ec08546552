"""Servers that differ from the reference behaviour: broken by faults, legal as variants."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults import find_fault
from v2_conformance.reference.variants import find_variant


def behaviour_with(
    faults: Sequence[str] = (),
    *,
    variants: Sequence[str] = (),
    profiles: Collection[str] = SERVER_PROFILES,
) -> Behaviour:
    """A fresh Behaviour with all of the named faults and variants.

    A fault comes before a variant that decides the same thing. Raises UsageError for an unknown
    name.
    """
    classes = [find_fault(name).cls for name in dict.fromkeys(faults)]
    classes += [find_variant(name).cls for name in dict.fromkeys(variants)]
    if not classes:
        return Behaviour(profiles)
    combined: type[Behaviour] = type("DeviatingBehaviour", tuple(classes), {})
    return combined(profiles)
