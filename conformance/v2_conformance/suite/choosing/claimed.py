"""Which claims a target can make: what it supports, and what of the suite it does without."""

from __future__ import annotations

from collections.abc import Collection

from v2_conformance.protocol.content_codings import CODINGS
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.protocol.names import PROFILES

NEEDED = "INT32"
"""Without this datatype, little but element encoding would be tested."""

CLIENT_PROFILES = ("client", "bf16")
"""The profiles that a client can claim; every client claims the first."""

_BASE = "binary"


def left_out_problem(unsupported: Collection[str]) -> str | None:
    """Return why a target cannot declare all of this unsupported, None if it can.

    `unsupported` has datatypes, content codings and profiles; unknown names are not this one's
    business.
    """
    if _BASE in unsupported:
        return f"the profile {_BASE} cannot be left out: it is what the suite tests"
    if NEEDED in unsupported:
        return f"{NEEDED} cannot be left out: most requirements need it"
    return None


def claims_problem(profiles: Collection[str], unsupported: Collection[str]) -> str | None:
    """Return why no target can make these claims together, None if one can."""
    if _BASE not in profiles:
        return f"every target claims the profile {_BASE}"
    for name in profiles:
        if name not in PROFILES:
            return f"there is no profile {name}"
        if name in unsupported:
            return f"the profile {name} is both claimed and declared unsupported"
    if "compression" in profiles and set(CODINGS) <= set(unsupported):
        return "the profile compression is claimed, but every content coding declared unsupported"
    if "bf16" in profiles and "BF16" in unsupported:
        return "the profile bf16 is claimed, but the datatype BF16 declared unsupported"
    unknown = sorted(set(unsupported) - DATATYPES.keys() - {*CODINGS, *PROFILES})
    if unknown:
        return f"there is no datatype, content coding or profile {unknown[0]}"
    return left_out_problem(unsupported)
