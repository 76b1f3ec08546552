"""What the selftest noticed of a fault."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from v2_conformance.suite.cases import ObservedCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.observations import OF_VERDICTS


@dataclass(frozen=True)
class FaultTrial:
    """What the suite noticed of one fault in one try.

    `own_failures` are the ids of the failing cases of the requirement that the fault breaks,
    `other_requirements` those of other requirements with failing cases. `error` says why the
    suite could not run. `number` counts the tries from 1. `first_cause` is the requirement that the
    run names first as a cause, None if that was not asked.
    """

    fault: str
    requirement: str
    own_failures: tuple[str, ...]
    other_requirements: tuple[str, ...]
    error: str = ""
    number: int = 1
    first_cause: str | None = None

    @property
    def caught(self) -> bool:
        """Whether a case of the fault's own requirement failed."""
        return bool(self.own_failures) and not self.error

    @property
    def named(self) -> bool:
        """Whether the first cause that the run names is the fault's own requirement."""
        return self.first_cause == self.requirement

    @property
    def requirements(self) -> int:
        """The number of requirements with failing cases."""
        return bool(self.own_failures) + len(self.other_requirements)

    @property
    def alone(self) -> bool:
        """Whether it fails its own requirement alone, as it must if only observed cases show it."""
        observed = all(template_of(case_id) in _observed_entries() for case_id in self.own_failures)
        return not (observed and self.other_requirements)


@cache
def _observed_entries() -> frozenset[str]:
    """Those that nothing else shows: a case that a server dies of fails beside what observes it."""
    observed = [case for case in suite_cases() if isinstance(case, ObservedCase)]
    return frozenset(c.template for c in observed if c.observed not in OF_VERDICTS)


def template_of(case_id: str) -> str:
    """The entry of the case files that a case is of."""
    return case_id.partition("[")[0]
