"""Reference servers with mutants."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.server import ReferenceServer
from v2_mutants.faults import find_fault
from v2_mutants.variants import VARIANTS


class MutantServer(ReferenceServer):
    """A reference server with all of the named faults and variants.

    Raises UsageError for an unknown name.
    """

    def __init__(
        self,
        faults: Sequence[str] = (),
        *,
        variants: Sequence[str] = (),
        port: int = 0,
        profiles: Collection[str] = SERVER_PROFILES,
    ) -> None:
        self.faults = tuple(faults)
        wanted = partial(mutated, self.faults, variants=variants)
        super().__init__(lambda own: wanted(profiles=own), port=port, profiles=profiles)


def mutated(
    faults: Sequence[str] = (),
    *,
    variants: Sequence[str] = (),
    profiles: Collection[str] = SERVER_PROFILES,
) -> Behavior:
    """Return a fresh Behavior with all of the named faults and variants.

    A fault comes before a variant that decides the same thing. Raises UsageError for an unknown
    name.
    """
    classes: list[type[Behavior]] = [find_fault(name).cls for name in dict.fromkeys(faults)]
    classes += [VARIANTS.find(name).cls for name in dict.fromkeys(variants)]
    combined = type("Mutated", tuple(classes), {}) if classes else Behavior
    behavior: Behavior = combined(profiles)
    return behavior
