"""The selftest: the suite against every fault of the reference server and of the plain client.

Each fault is a reference server with one deviation. It meets every case of the requirement that it
breaks and, of most other requirements, one case of each entry of the case files. If no case of its
own requirement fails, the suite has a hole. The same is true of an entry with MUST cases that no
fault of its requirement makes fail: nothing shows that it can. And a fault that breaks what every
exchange has to keep must fail that alone, in however many exchanges it shows. For nearly all
faults, a run must name the broken requirement first as the cause.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import partial

from v2_conformance.conversations.steps import Result
from v2_conformance.errors import ConformanceError
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.redaction import Mask
from v2_conformance.report.recorder import case_result
from v2_conformance.report.root_causes import root_causes
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.cases import Case, ObservedCase, RequestCase
from v2_conformance.suite.library import client_cases, suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.client_faults import CLIENT_FAULTS
from v2_mutants.faults import FAULTS
from v2_mutants.selftest.clients import client_failures_without_fault, try_client_fault
from v2_mutants.selftest.trials import (
    FaultTrial,
    Half,
    read_exactly,
    sample,
    unproven,
    unproven_variations,
)
from v2_mutants.servers import MutantServer

# Everything is on this machine; only a fault that makes a response incomplete uses up this time.
TIMEOUT_S = 0.5
# If the machine stalls, pieces that were sent separately arrive together and hide a fault that only
# shows between them. So a fault that was not caught is tried again, alone and with more time.
_MAX_TRIES = 3
_RETRY_TIMEOUT_S = 5.0
SLOW_TIMEOUT_S = 20.0  # for the requirements whose cases have many pieces or bytes
NAMED = 0.94
"""For at least this part of the faults, the first cause that a run names is the fault's own. It is
95 %; which one a fault of timing shows first differs from machine to machine."""
# One case of these, with many pieces or bytes, takes as long as all others together. They meet only
# the faults of their own requirements, unless every case must meet every fault.
SLOW_REQUIREMENTS = frozenset({"B12", "C2", "C3", "C4", "C6", "J7", "L1", "M7", "V3", "Z5"})


@dataclass(frozen=True)
class SelftestResult:
    """`unproven_variations` are the variations that no fault needs to be noticed."""

    server: Half
    client: Half = field(default_factory=Half)
    unproven_variations: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True if the suite has no hole, and the reference server passes it."""
        holds = self.server.holds and self.client.holds and self.names_causes
        return holds and not self.unproven_variations

    @property
    def asked(self) -> tuple[FaultTrial, ...]:
        """The trials that show which cause a run names first."""
        return tuple(trial for trial in self.server.trials if trial.first_cause is not None)

    @property
    def names_causes(self) -> bool:
        """True if enough runs name the fault's own requirement first."""
        return sum(trial.named for trial in self.asked) >= NAMED * len(self.asked)


def run_selftest(
    workers: int | None = None, *, full: bool = False, seed: int | None = None
) -> SelftestResult:
    """Run the suite against the reference server and the plain client, without and with faults.

    `workers` is the number of processes (default: one for each core). With `full`, every case
    meets every fault of the server. The values of requests to servers follow from the `seed`.
    """
    failures = failures_without_fault(seed)
    client_failures = client_failures_without_fault()
    trials = {trial.fault: trial for trial in _try_all(workers, full=full, seed=seed)}
    of_server = tuple(trials[name] for name in FAULTS)
    of_client = tuple(trials[name] for name in CLIENT_FAULTS)
    return SelftestResult(
        Half(of_server, tuple(failures), tuple(unproven(suite_cases(), of_server))),
        Half(of_client, tuple(client_failures), tuple(unproven(client_cases(), of_client))),
        tuple(unproven_variations(of_server)),
    )


def failures_without_fault(seed: int | None = None) -> list[Result]:
    """The results on the reference server without faults that should have been a pass."""
    results = _results(suite_cases(), seed=seed)
    return [result for result in results if result.outcome not in (Outcome.PASS, Outcome.DISPUTED)]


def try_fault(
    name: str, *, full: bool = False, number: int = 1, seed: int | None = None
) -> FaultTrial:
    """Run the suite against the reference server with the fault `name`, for the given time."""
    requirement = FAULTS[name].requirement
    own = [case for case in suite_cases() if case.requirement == requirement]
    # What is observed of all exchanges may show only in those of other requirements.
    others = [
        case
        for case in suite_cases()
        if case.requirement != requirement or isinstance(case, ObservedCase)
    ]
    timeout = TIMEOUT_S if number == 1 else _RETRY_TIMEOUT_S
    try:
        # Each with a fresh server: what a fault kills early would hide what its own cases show.
        slow = requirement in SLOW_REQUIREMENTS
        own_results = _results(own, [name], SLOW_TIMEOUT_S if slow else timeout, seed)
        # The requests that mix everything may show what is observed.
        observed = any(isinstance(case, ObservedCase) for case in own)
        left_out = SLOW_REQUIREMENTS - {"M7"} if observed else SLOW_REQUIREMENTS
        if observed:  # what is wrong with one answer of a pipeline also spoils the next one
            others = [case for case in others if not _is_pipelined(case)]
        rest = others if full else sample(others, left_out)
        other_results = _results(rest, [name], timeout, seed)
    except ConformanceError as error:
        return FaultTrial(name, requirement, (), (), str(error), number)
    own_failures, other_failures = map(_failing, (own_results, other_results))
    own_ids = [c.id for c in (*own_failures, *other_failures) if c.requirement == requirement]
    others_failing = dict.fromkeys(case.requirement for case in other_failures)
    others_failing.pop(requirement, None)
    return FaultTrial(
        name,
        requirement,
        tuple(dict.fromkeys(own_ids)),
        tuple(others_failing),
        number=number,
        first_cause=_first_cause([*own_results, *other_results]),
        read_exactly=read_exactly(own_results),
    )


def _is_pipelined(case: Case) -> bool:
    return isinstance(case, RequestCase) and "pipelined" in case.variations


def try_until_caught(trial: FaultTrial, try_again: Callable[[str, int], FaultTrial]) -> FaultTrial:
    """The last of up to _MAX_TRIES tries, until one is as it should be.

    `try_again` takes the fault and the number of the try.
    """
    while not (trial.caught and trial.alone) and trial.number < _MAX_TRIES:
        trial = try_again(trial.fault, trial.number + 1)
    return trial


def _try_all(workers: int | None, *, full: bool, seed: int | None) -> Iterator[FaultTrial]:
    # Fresh processes: a fork would copy the locks of threads in whatever state they are.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers or os.cpu_count(), mp_context=context) as pool:

        def try_alone(name: str, number: int) -> FaultTrial:
            if name in CLIENT_FAULTS:
                return pool.submit(try_client_fault, name, number=number).result()
            again = pool.submit(try_fault, name, full=full, number=number, seed=seed)
            return again.result()

        futures = [pool.submit(try_fault, name, full=full, seed=seed) for name in FAULTS]
        futures += [pool.submit(try_client_fault, name) for name in CLIENT_FAULTS]
        # All have been tried before the first is tried again, so that it is alone.
        for trial in [future.result() for future in as_completed(futures)]:
            yield try_until_caught(trial, try_alone)


def _first_cause(results: Sequence[Result]) -> str:
    """The requirement that a run with these results names first, "" if nothing fails."""
    causes = root_causes([case_result(result, SERVER_PROFILES, Mask()) for result in results])
    return causes[0].requirement if causes else ""


def _failing(results: Sequence[Result]) -> list[Case]:
    return [result.case for result in results if result.outcome is Outcome.FAIL]


def _results(
    cases: Sequence[Case],
    faults: Sequence[str] = (),
    timeout_s: float | None = None,
    seed: int | None = None,
) -> list[Result]:
    """The results of `cases` on a fresh reference server."""
    with MutantServer(faults) as server:
        of_run = partial(make_target, server.url, profiles=SERVER_PROFILES)
        target = replace(of_run(timeout=timeout_s), seed=seed)
        engine = Engine(target, discover(of_run()))
        return [event.result for event in run(engine, cases)]
