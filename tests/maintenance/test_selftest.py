"""The selftest notices holes: a fault that no case catches, an entry that no fault makes fail."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.variations import variations
from v2_mutants.faults import FAULTS
from v2_mutants.registry import Mutant
from v2_mutants.selftest.servers import SelftestResult, try_fault, try_until_caught
from v2_mutants.selftest.text import selftest_lines, trial_rows
from v2_mutants.selftest.trials import FaultTrial, Half, unproven, unproven_variations

BINARY = "V1/json-before-blobs-in-any-spelling[{}]"
JSON = "V1/json-in-any-spelling[{}]"


def trials_of(failures: Iterable[Iterable[str]]) -> list[FaultTrial]:
    """Trials with the ids of the failing cases of their faults' own requirements."""
    return [FaultTrial("some", "V1", tuple(ids), ()) for ids in failures]


def row(trial: FaultTrial) -> str:
    """The row of a trial, without the head of the table."""
    _, only = trial_rows((trial,))
    return only


def test_a_fault_without_effect_is_not_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAULTS, "none", Mutant("none", "R4", "It does nothing.", Behaviour))
    trial = try_fault("none")
    assert not trial.caught
    assert not trial.own_failures
    assert not trial.other_requirements
    assert row(trial).split() == ["R4", "MISSED", "0", "0", "none"]


def test_a_fault_is_caught_by_its_own_requirement_and_the_others_are_named() -> None:
    trial = try_fault("binary-response-typed-json")
    assert trial.caught
    assert {name.partition("/")[0] for name in trial.own_failures} == {"P4"}
    assert "P4" not in trial.other_requirements
    assert row(trial).startswith("P4  caught")


def test_a_fault_that_a_stalled_machine_hid_is_tried_again_and_the_row_says_so() -> None:
    def try_again(name: str, number: int) -> FaultTrial:
        own = ("W3/some",) if number == 2 else ()
        return FaultTrial(name, "W3", own, (), number=number)

    trial = try_until_caught(FaultTrial("raw-body-read-once", "W3", (), ()), try_again)
    assert trial.caught
    assert "caught" in row(trial)
    assert "tried 2 times" in row(trial)


def test_a_fault_that_three_tries_miss_is_missed() -> None:
    def try_again(name: str, number: int) -> FaultTrial:
        return FaultTrial(name, "W3", (), (), number=number)

    trial = try_until_caught(FaultTrial("raw-body-read-once", "W3", (), ()), try_again)
    assert not trial.caught
    assert trial.number == 3
    assert "MISSED" in row(trial)


def test_a_must_entry_that_no_fault_makes_fail_is_named() -> None:
    caught = FaultTrial("some", "P2", ("P2/blob-follows-json[INT32]",), ())
    found = unproven(suite_cases(), [])
    assert "P2/blob-follows-json" in found
    assert "P2/blob-follows-json" not in unproven(suite_cases(), [caught])
    assert not [name for name in found if name.startswith("P4/")], "P4 is a SHOULD"


def test_the_selftest_passes_only_without_a_hole_and_says_what_is_wrong() -> None:
    caught = FaultTrial("some", "P2", ("P2/a[b]",), ("P4",))
    missed = FaultTrial("other", "P3", (), ())
    assert SelftestResult(Half((caught,))).passed
    assert not SelftestResult(Half((caught, missed))).passed
    hole = SelftestResult(Half((caught,), unproven=("P5/c",)))
    assert not hole.passed
    assert list(selftest_lines(hole))[-3:] == [
        "no fault of P5 makes P5/c fail: nothing shows that its cases can fail",
        "1 of 1 faults fail at most 3 requirements",
        "1 faults, 1 caught by a case of their own requirement",
    ]


def test_a_fault_of_what_is_observed_must_fail_that_alone() -> None:
    alone = FaultTrial("some", "R2", ("R2/error-body[short_blob]", "R2/observed"), ())
    assert (alone.requirements, SelftestResult(Half((alone,))).passed) == (1, True)
    other = FaultTrial("other", "R2", ("R2/observed",), ("S2", "P9"))
    result = SelftestResult(Half((other,)))
    assert (other.requirements, result.passed) == (3, False)
    assert "the fault other must fail R2 alone, but fails S2 P9" in list(selftest_lines(result))




def test_nearly_every_run_must_name_the_broken_requirement_first() -> None:
    named = FaultTrial("some", "P2", ("P2/a",), ("P4",), first_cause="P2")
    other = FaultTrial("other", "P2", ("P2/a",), ("P4",), first_cause="P4")
    good = SelftestResult(Half((named,) * 19 + (other,)))
    assert (good.names_causes, good.passed) == (True, True)
    assert "19 of 20 faults are named first as the cause (at least 94% must be)" in list(
        selftest_lines(good)
    )
    bad = SelftestResult(Half((named,) * 18 + (other,) * 2))
    assert (bad.names_causes, bad.passed) == (False, False)
    assert any("named first as the cause: other (P4), other (P4)" in s for s in selftest_lines(bad))




def test_a_fault_proves_the_variation_that_all_its_failures_have() -> None:
    failures = [[BINARY.format("spaced"), JSON.format("spaced")], [JSON.format("data-first")]]
    left = unproven_variations(trials_of(failures))
    assert set(variations()) - set(left) == {"spaced", "data-first"}


def test_a_fault_that_other_requests_notice_proves_nothing() -> None:
    either = [JSON.format("spaced"), JSON.format("indented")]
    plain = [JSON.format("spaced"), "P2/blob-follows-json[INT32]"]
    assert unproven_variations(trials_of([either, plain, []])) == list(variations())


def test_a_selftest_without_such_a_fault_fails_and_says_so() -> None:
    result = SelftestResult(Half(), unproven_variations=("spaced",))
    assert not result.passed
    assert any("in the variation spaced" in line for line in selftest_lines(result))


