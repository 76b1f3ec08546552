"""Named deviations of the reference server, each breaking one requirement."""

from __future__ import annotations

# Importing a family registers its faults; the order is the order in which they are listed.
from v2_conformance.reference.faults import (  # noqa: F401
    compression,
    deliveries,
    elements,
    errors,
    framing,
    header_length,
    inputs,
    outputs,
    places,
    raw,
    sizes,
    strings,
)
from v2_conformance.reference.faults.registry import FAULTS, Fault, behaviour_with, fault

__all__ = ["FAULTS", "Fault", "behaviour_with", "fault"]
