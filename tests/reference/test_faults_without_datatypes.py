"""Faults that have nothing to do with a datatype are caught on a server that lacks it, too.

Here a sample of faults, each without FP16, BYTES and everything but INT32; with --whole-runs
(`tox -e variants`) each of them without each datatype.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.faults import FAULTS
from v2_mutants.servers import MutantServer

DATATYPES = (
    *("BOOL", "UINT8", "UINT16", "UINT32", "UINT64"),
    *("INT8", "INT16", "INT64", "FP16", "FP32", "FP64", "BYTES"),
)
ALL = frozenset(DATATYPES)
# The order of blobs, their sizes, swaps, JSON among them, header lengths, raw requests.
SAMPLE = (
    "request-blobs-off-by-one",
    "response-header-length-of-body",
    "response-blobs-padded",
    "header-length-clamped",
    "non-numeric-header-length-guessed",
    "whole-body-header-length-zero-blobs",
    "declared-size-ignored",
    "sizes-clamped-to-body",
    "only-sum-of-sizes-checked",
    "every-input-gets-the-rest",
    "request-blobs-in-model-order",
    "json-inputs-take-blob-bytes",
    "mixed-inputs-refused",
    "empty-input-shifts-blobs",
    "many-inputs-refused",
    "last-output-flag-decides",
    "binary-data-false-does-not-override",
    "response-blobs-in-model-order",
    "all-outputs-returned",
    "raw-answered-as-json",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "lacking" in metafunc.fixturenames:
        each = [frozenset({name}) for name in DATATYPES]
        some = [frozenset({"FP16"}), frozenset({"BYTES"})]
        lacks = [*(each if metafunc.config.getoption("--whole-runs") else some), ALL]
        names = ["all-but-INT32" if lack == ALL else "".join(lack) for lack in lacks]
        metafunc.parametrize("lacking", lacks, ids=names)


def outcomes(fault: str, lacking: frozenset[str]) -> dict[str, Outcome]:
    """What becomes of the cases of the fault's requirement."""
    requirement = FAULTS[fault].requirement
    cases = [case for case in suite_cases() if case.requirement == requirement]
    with MutantServer([fault]) as server:
        target = make_target(server.url, profiles=SERVER_PROFILES, timeout=3)
        target = replace(target, unsupported=lacking)
        results = [event.result for event in run(Engine(target, discover(target)), cases)]
    return {result.case.id: result.outcome for result in results if result.case.level == "MUST"}


@pytest.mark.parametrize("fault", SAMPLE)
def test_fault_is_caught_without_datatypes(fault: str, lacking: frozenset[str]) -> None:
    assert Outcome.FAIL in outcomes(fault, lacking).values()
