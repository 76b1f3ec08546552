"""What becomes of servers: the reference server, its faults and its legal variants."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache

from oracle.names import folded, grouped, members
from support.memory import in_memory, memory_target, run_in_memory
from support.runs import results, target_of
from v2_conformance.conversations.steps import Result
from v2_conformance.errors import ConformanceError
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.suite.cases import Case, ObservedCase
from v2_conformance.suite.causes.kinds import AllKept
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.faults import FAULTS
from v2_mutants.selftest.relation_faults import noticed_by
from v2_mutants.selftest.servers import SLOW_REQUIREMENTS, try_fault, try_until_caught
from v2_mutants.selftest.trials import FaultTrial, sample
from v2_mutants.servers import MutantServer, mutated

SEED = 1
"""Values of all requests follow from it."""

NOTHING = "-"


@cache
def embedded() -> dict[str, str]:
    """Return each case's outcome and cause on the embedded server, over sockets."""
    with MutantServer() as server:
        target = target_of(server.url, *SERVER_PROFILES, timeout=30)
        found = results(target, suite_cases(large=True))
    return {id: in_full(result) for id, result in found.items()}


def in_full(result: Result) -> str:
    """Return the outcome of a case, with kind and members of its cause, "" for a plain pass."""
    if result.outcome is Outcome.PASS and isinstance(result.cause, AllKept | None):
        return ""
    if result.cause is None:
        return result.outcome.value
    return f"{result.outcome.value} {json.dumps(members(result.cause))}"


def own_row(fault: str) -> str:
    """Return which cases of its own requirement a fault fails, and why."""
    requirement = FAULTS[fault].requirement
    cases = own = [case for case in in_memory(suite_cases()) if case.requirement == requirement]
    if any(isinstance(case, ObservedCase) for case in own):
        cases = list({case.id: case for case in [*own, *sample(_others(), ())]}.values())
    try:
        failing = _failing(cases, fault)
    except ConformanceError as error:
        return f"refused: {type(error).__name__}"
    found = {id: one for id, one in failing.items() if one.case.requirement == requirement}
    return grouped(found, [case.id for case in own])


@cache
def _others() -> tuple[Case, ...]:
    cases = in_memory(suite_cases())
    return tuple(case for case in cases if case.requirement not in SLOW_REQUIREMENTS)


def fault_row(fault: str) -> str:
    """Return which cases of other requirements a fault fails, "" for none."""
    requirement = FAULTS[fault].requirement
    cases = [case for case in _others() if case.requirement != requirement]
    try:
        failing = _failing(cases, fault)
    except ConformanceError as error:
        return f"refused: {type(error).__name__}"
    if not failing:
        return ""
    kinds = grouped(failing, []).rpartition("#")[2]
    return f"{folded(failing, [case.id for case in _others()])} #{kinds}"


def _failing(cases: Sequence[Case], fault: str) -> dict[str, Result]:
    found = run_in_memory(cases, faults=[fault], seed=SEED)
    return {one.case.id: one for one in found if one.outcome is Outcome.FAIL}


def variant_row(variant: str) -> str:
    """Return what does not pass under a legal variant, and why."""
    cases = in_memory(suite_cases())
    found = run_in_memory(cases, variants=[variant], seed=SEED)
    other = {one.case.id: one for one in found if one.outcome is not Outcome.PASS}
    return grouped(other, [case.id for case in cases])


def any_model_row(fault: str) -> str:
    """Return the first case that notices a fault in a run that knows none of the models."""
    target = memory_target(mutated([fault]), seed=SEED)
    found = noticed_by(target, FAULTS[fault].requirement)
    return NOTHING if found is None else found


def socket_row(fault: str) -> str:
    """Return whether a fault that memory does not show is caught over sockets, in three tries:
    which of its cases show it may be a matter of time."""

    def again(name: str, number: int) -> FaultTrial:
        return try_fault(name, number=number, seed=SEED)

    return "caught" if try_until_caught(again(fault, 1), again).caught else "missed"
