"""The results of the selftest: which faults were noticed, and what no fault makes fail."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from v2_conformance.conversations.steps import Result
from v2_conformance.judging.observed.exchanges import OF_EXCHANGES
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.suite.cases import Case, ObservedCase, RequestCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.variations import variations

# Many a server with a fault would take 16 GiB for the first case of this entry.
_LAST_OF = frozenset({"J5/dimension-beyond-bits"})


@dataclass(frozen=True)
class FaultTrial:
    """Result of one fault in one try of the suite.

    `own_failures` are the ids of the failing cases of the requirement that the fault breaks.
    `read_exactly` are those of cases whose malformed message was read without making anything up.
    `other_requirements` are other requirements with failing cases. `error` says why the suite could
    not run. `number` counts the tries from 1. `first_cause` is the requirement that the run names
    first as a cause, None if that was not asked.
    """

    fault: str
    requirement: str
    own_failures: tuple[str, ...]
    other_requirements: tuple[str, ...]
    error: str = ""
    number: int = 1
    first_cause: str | None = None
    read_exactly: tuple[str, ...] = ()

    @property
    def caught(self) -> bool:
        """True if a case of the fault's own requirement failed."""
        return bool(self.own_failures) and not self.error

    @property
    def named(self) -> bool:
        """True if the first cause that the run names is the fault's own requirement."""
        return self.first_cause == self.requirement

    @property
    def requirements(self) -> int:
        """The number of requirements with failing cases."""
        return bool(self.own_failures) + len(self.other_requirements)

    @property
    def alone(self) -> bool:
        """True if it fails its own requirement alone, as it must if only observed cases show it."""
        observed = all(template_of(case_id) in _observed_entries() for case_id in self.own_failures)
        return not (observed and self.other_requirements)


@cache
def _observed_entries() -> frozenset[str]:
    """Those that nothing else shows: a case that a server dies of fails beside what observes it."""
    observed = [case for case in suite_cases() if isinstance(case, ObservedCase)]
    return frozenset(c.template for c in observed if c.observed in OF_EXCHANGES)


def read_exactly(results: Iterable[Result]) -> tuple[str, ...]:
    """The ids of the cases whose malformed message was read without making anything up."""
    return tuple(r.case.id for r in results if r.cause is not None and r.cause.root.lenient)


def template_of(case_id: str) -> str:
    """The entry of the case files that a case is of."""
    return case_id.partition("[")[0]


@dataclass(frozen=True)
class Half:
    """Results with the faults of the reference server, or with those of the plain client.

    `trials` has the last try of each fault, in their order; `failures` the results without a fault
    that should have been a pass; `unproven` the ids of entries with MUST cases that no fault of
    their requirement makes fail.
    """

    trials: tuple[FaultTrial, ...] = ()
    failures: tuple[Result, ...] = ()
    unproven: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """True if there is no hole, and nothing fails without a fault."""
        caught = all(trial.caught and trial.alone for trial in self.trials)
        return caught and not (self.failures or self.unproven)


def unproven(cases: Iterable[Case], trials: Iterable[FaultTrial]) -> list[str]:
    """Return the entries with MUST cases that no fault of their requirement makes fail at MUST."""
    proven = {
        template_of(name)
        for trial in trials
        for name in trial.own_failures
        if name not in trial.read_exactly
    }
    must = [case for case in cases if case.facts(SERVER_PROFILES).level == "MUST"]
    return [entry for entry in dict.fromkeys(case.template for case in must) if entry not in proven]


def unproven_variations(trials: Iterable[FaultTrial]) -> list[str]:
    """Return the variations without a fault that only requests in that variation notice: all cases
    of its own requirement that fail are sent in it."""
    varied = {
        case.id: frozenset(case.variations)
        for case in suite_cases(large=True)
        if isinstance(case, RequestCase)
    }
    proven: set[str] = set()
    for trial in trials:
        common = [varied.get(id, frozenset()) for id in trial.own_failures]
        proven |= frozenset.intersection(*common) if common else frozenset()
    return [name for name in variations() if name not in proven]


def sample(cases: Sequence[Case], left_out: Collection[str]) -> list[Case]:
    """Return the first case of each entry, without those of the requirements `left_out`, and all
    that is observed."""
    first: dict[str, Case] = {}
    for case in cases:
        if isinstance(case, ObservedCase):
            first[case.id] = case
        elif case.template in _LAST_OF:
            first[case.template] = case
        elif case.requirement not in left_out:
            first.setdefault(case.template, case)
    return list(first.values())
