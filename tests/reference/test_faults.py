"""Every fault is caught by a case of its requirement, and a server without faults by none.

Each fault meets the cases of its requirement in test_oracle.py; `v2-conformance selftest` tries all
of them over sockets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

import pytest

from v2_conformance.conversations.steps import Result
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.cases import Case, ObservedCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.requirements import catalogue
from v2_mutants.faults import FAULTS
from v2_mutants.selftest.servers import SLOW_REQUIREMENTS, SLOW_TIMEOUT_S
from v2_mutants.selftest.trials import sample
from v2_mutants.servers import MutantServer

_LEFT_OUT = SLOW_REQUIREMENTS - {"M7"}


def run_against(
    url: str, chosen: Sequence[Case], timeout: float = 30, seed: int | None = None
) -> dict[str, Result]:
    """The results of `chosen` by case id."""
    of_run = partial(make_target, url, profiles=SERVER_PROFILES)
    target = replace(of_run(timeout=timeout), seed=seed)
    engine = Engine(target, discover(of_run(timeout=30)))
    return {event.result.case.id: event.result for event in run(engine, chosen)}


@cache
def caught(fault: str) -> dict[str, str]:
    """The cases of the fault's requirement that fail against it, each with its message."""
    requirement = FAULTS[fault].requirement
    chosen = [case for case in suite_cases() if case.requirement == requirement]
    if any(isinstance(case, ObservedCase) for case in chosen):
        chosen = list({c.id: c for c in [*chosen, *sample(suite_cases(), _LEFT_OUT)]}.values())
    failures: dict[str, str] = {}
    # If the machine stalls, pieces that were sent separately arrive together and hide a fault that
    # only shows between them. So there is a second try.
    for timeout in (SLOW_TIMEOUT_S,) if requirement in SLOW_REQUIREMENTS else (1, 10):
        with MutantServer([fault]) as server:
            results = run_against(server.url, chosen, timeout=timeout).values()
        failed = [result for result in results if result.outcome == "fail"]
        failures = {r.case.id: r.message for r in failed if r.case.requirement == requirement}
        if failures:
            break
    return failures


def is_must(case: Case) -> bool:
    """Whether a server that claims all of SERVER_PROFILES must pass the case."""
    requirement = catalogue()[case.requirement]
    own = case.level == requirement.level
    return (requirement.level_for(SERVER_PROFILES) if own else case.level) == "MUST"


def test_a_server_without_faults_passes_every_case_every_time(
    server: ReferenceServer, fresh_seed: int
) -> None:
    first = run_against(server.url, suite_cases())
    # What is observed depends on all that is sent.
    sent = [c for c in sample(suite_cases(), _LEFT_OUT) if not isinstance(c, ObservedCase)]
    again = run_against(server.url, sent, seed=fresh_seed)
    wrong = {
        name: result.message
        for name, result in first.items()
        if result.outcome not in ("pass", "disputed")
    }
    assert not wrong
    assert len(first) == len(suite_cases())
    assert {name: result.outcome for name, result in again.items()} == {
        name: first[name].outcome for name in again
    }


def test_every_requirement_with_a_must_case_has_a_fault() -> None:
    tested = {case.requirement for case in suite_cases() if is_must(case)}
    assert not tested - {fault.requirement for fault in FAULTS.values()}


@pytest.mark.parametrize(
    ("fault", "case"),
    [
        ("header-length-prefix-half-read", "H9/off-by-one-with-bytes-to-spare"),
        ("size-zero-read-as-native", "S12/size-zero-with-bytes"),
        ("stray-bytes-after-binary-response", "C5/observed"),
        ("overflowing-shape-kills-model", "S8/shape-product-overflows"),
        ("concurrent-requests-mixed", "C6/concurrent-requests"),
    ],
)
def test_the_case_made_for_a_fault_catches_it(fault: str, case: str) -> None:
    assert case in {name.partition("[")[0] for name in caught(fault)}


def test_faults_are_listed_in_the_order_of_known_requirements() -> None:
    broken = [fault.requirement for fault in FAULTS.values()]
    assert broken == sorted(broken, key=list(catalogue()).index)
