"""Every fault is caught, also without some datatypes; without faults every case passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from v2_conformance.conversations.steps import Result
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.cases import Case, ObservedCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import catalogue
from v2_mutants.faults import FAULTS
from v2_mutants.selftest.servers import SLOW_REQUIREMENTS
from v2_mutants.selftest.trials import sample
from v2_mutants.servers import MutantServer

_LEFT_OUT = SLOW_REQUIREMENTS - {"M7"}


def run_against(url: str, chosen: Sequence[Case], seed: int | None = None) -> dict[str, Result]:
    """The results of `chosen` by case id."""
    target = replace(make_target(url, profiles=SERVER_PROFILES), seed=seed)
    engine = Engine(target, discover(target))
    return {event.result.case.id: event.result for event in run(engine, chosen)}


def test_the_reference_server_passes_every_case(server: ReferenceServer, fresh_seed: int) -> None:
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


def test_faults_are_listed_in_the_order_of_known_requirements() -> None:
    broken = [fault.requirement for fault in FAULTS.values()]
    assert broken == sorted(broken, key=list(catalogue()).index)


# The order of blobs, their sizes, swaps, JSON among them, header lengths, raw requests.
SAMPLE = (
    "request-blobs-off-by-one", "response-header-length-of-body", "header-length-clamped",
    "declared-size-ignored", "only-sum-of-sizes-checked",
    "request-blobs-in-model-order", "json-inputs-take-blob-bytes", "last-output-flag-decides",
    "response-blobs-in-model-order", "all-outputs-returned",
)  # fmt: skip


def outcomes(fault: str, lacking: frozenset[str]) -> dict[str, Outcome]:
    """What becomes of the cases of the fault's requirement."""
    requirement = FAULTS[fault].requirement
    cases = [case for case in suite_cases() if case.requirement == requirement]
    with MutantServer([fault]) as server:
        target = make_target(server.url, profiles=SERVER_PROFILES, timeout=3)
        target = replace(target, unsupported=lacking)
        results = [event.result for event in run(Engine(target, discover(target)), cases)]
    return {result.case.id: result.outcome for result in results if result.case.level == "MUST"}


@pytest.mark.parametrize("lacking", [{"FP16"}, {"BYTES"}, DATATYPES.keys() - {"INT32", "BF16"}])
@pytest.mark.parametrize("fault", SAMPLE)
def test_fault_is_caught_without_datatypes(fault: str, lacking: set[str]) -> None:
    assert Outcome.FAIL in outcomes(fault, frozenset(lacking)).values()
