"""The selftest notices holes: a fault that no case catches, an entry that no fault makes fail."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from v2_clients.plain import PlainClient
from v2_conformance.reference.behavior import Behavior
from v2_conformance.suite.library import client_cases, suite_cases
from v2_conformance.suite.variations import variations
from v2_mutants.client_faults import CLIENT_FAULTS
from v2_mutants.faults import FAULTS
from v2_mutants.registry import Mutant
from v2_mutants.selftest.clients import client_failures_without_fault, try_client_fault
from v2_mutants.selftest.relation_faults import (
    RelationTrial,
    enough_noticed,
    relation_lines,
    try_relation_fault,
)
from v2_mutants.selftest.servers import SelftestResult, try_fault, try_until_caught
from v2_mutants.selftest.text import selftest_lines, trial_rows
from v2_mutants.selftest.trials import FaultTrial, Half, unproven, unproven_variations

BINARY = "V1/json-before-blobs-in-any-spelling[{}]"
JSON = "V1/json-in-any-spelling[{}]"
CAUGHT = FaultTrial("some", "P2", ("P2/blob-follows-json[INT32]",), ("P4",), first_cause="P2")
MISSED = FaultTrial("other", "P3", (), ())
OBSERVED = FaultTrial("some", "R2", ("R2/error-body[short_blob]", "R2/observed"), ())
SPREAD = FaultTrial("other", "R2", ("R2/observed",), ("S2", "P9"))
UNNAMED = FaultTrial("other", "P2", ("P2/a",), ("P4",), first_cause="P4")


def row(trial: FaultTrial) -> str:
    """The row of a trial, without the head of the table."""
    _, only = trial_rows((trial,))
    return only


def test_a_fault_without_effect_is_not_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAULTS, "none", Mutant("none", "R4", "It does nothing.", Behavior))
    trial = try_fault("none")
    assert (trial.caught, trial.own_failures, trial.other_requirements) == (False, (), ())
    assert row(trial).split() == ["R4", "MISSED", "0", "0", "none"]
    monkeypatch.setitem(CLIENT_FAULTS, "none", Mutant("none", "K1", "Nothing.", PlainClient))
    of_client = try_client_fault("none")
    assert (of_client.caught, of_client.own_failures) == (False, ())


def test_a_fault_is_caught_by_its_own_requirement_and_the_others_are_named() -> None:
    trial = try_fault("binary-response-typed-json")
    assert trial.caught
    assert {name.partition("/")[0] for name in trial.own_failures} == {"P4"}
    assert "P4" not in trial.other_requirements
    assert row(trial).startswith("P4  caught")
    assert try_client_fault("host-missing").own_failures == ("K33/one-host",)  # only observed


@pytest.mark.long
def test_the_plain_client_passes_every_scenario() -> None:
    wrong = [(result.case.id, result.message) for result in client_failures_without_fault()]
    assert wrong == []


@pytest.mark.parametrize(("at", "said"), [(2, "caught"), (9, "MISSED")])
def test_a_fault_that_a_stalled_machine_hid_is_tried_three_times(at: int, said: str) -> None:
    def try_again(name: str, number: int) -> FaultTrial:
        own = ("W3/some",) if number == at else ()
        return FaultTrial(name, "W3", own, (), number=number)

    trial = try_until_caught(FaultTrial("raw-body-read-once", "W3", (), ()), try_again)
    assert trial.caught == (said == "caught")
    assert said in row(trial)
    assert f"tried {min(at, 3)} times" in row(trial)


@pytest.mark.parametrize(("number", "said"), [(1, "it died"), (2, "(tried 2 times) it died")])
def test_a_row_says_why_the_suite_could_not_run(number: int, said: str) -> None:
    trial = FaultTrial("some", "V1", (), ("P2",), error="it died", number=number)
    assert row(trial).endswith(f"  some  {said}")


def test_a_must_entry_that_no_fault_of_its_requirement_makes_fail_is_named() -> None:
    found = unproven(suite_cases(), [])
    assert "P2/blob-follows-json" in found
    assert "P2/blob-follows-json" not in unproven(suite_cases(), [CAUGHT])
    assert not [name for name in found if name.startswith("P4/")], "P4 is a SHOULD"
    fewer = [case.id for case in client_cases() if not case.id.startswith("K3/mixed-order")]
    trial = FaultTrial("made-up", "K1", tuple(fewer), ())
    assert unproven(client_cases(), [trial]) == ["K3/mixed-order"]


@pytest.mark.parametrize(
    ("halves", "passed", "says"),
    [
        ([Half((CAUGHT,))], True, "1 of 1 faults fail at most 3 requirements"),
        ([Half((CAUGHT, MISSED))], False, "2 faults, 1 caught by a case of their own requirement"),
        ([Half((CAUGHT,)), Half((MISSED,))], False, "1 faults of clients, 0 caught by a scenario"),
        ([Half((CAUGHT,), unproven=("P5/c",))], False, "no fault of P5 makes P5/c fail: nothing"),
        ([Half(), Half((CAUGHT,), unproven=("K1/x",))], False, "K1/x"),
        ([Half((OBSERVED,))], True, ""),
        ([Half((SPREAD,))], False, "the fault other must fail R2 alone, but fails S2 P9"),
        ([Half((CAUGHT,) * 19 + (UNNAMED,))], True, "19 of 20 faults are named first as the cause"),
        ([Half((CAUGHT,) * 18 + (UNNAMED,) * 2)], False, "as the cause: other (P4), other (P4)"),
        ([Half(), Half(), ("spaced",)], False, "in the variation spaced"),
    ],
)
def test_the_selftest_passes_only_without_a_hole(
    halves: list[Any], passed: bool, says: str
) -> None:
    result = SelftestResult(*halves)
    assert result.passed == passed
    assert any(says in line for line in selftest_lines(result))


@pytest.mark.parametrize(
    ("failures", "proven"),
    [
        (
            [[BINARY.format("spaced"), JSON.format("spaced")], [JSON.format("data-first")]],
            {"spaced", "data-first"},
        ),
        ([[JSON.format("spaced"), JSON.format("indented")]], set()),
        ([[JSON.format("spaced"), "P2/blob-follows-json[INT32]"], []], set()),
    ],
)
def test_a_fault_proves_the_variation_that_all_its_failures_have(
    failures: Iterable[Iterable[str]], proven: set[str]
) -> None:
    trials = [FaultTrial("some", "V1", tuple(ids), ()) for ids in failures]
    assert set(variations()) - set(unproven_variations(trials)) == proven


@pytest.mark.parametrize(
    ("fault", "noticed"), [("request-blobs-off-by-one", True), ("nan-payloads-lost", False)]
)
@pytest.mark.long
def test_relations_notice_what_changes_some_answers(fault: str, noticed: bool) -> None:
    assert (try_relation_fault(fault).noticed_by is not None) == noticed


def test_the_part_that_relations_notice_is_told() -> None:
    trials = (RelationTrial("a", "P2", "P2/x@m"), RelationTrial("b", "D4", None))
    lines = list(relation_lines(trials))
    assert lines[-1] == "1 of 2 faults noticed by relations alone (50%)"
    assert "MISSED" in lines[1]
    assert not enough_noticed(trials[1:])
