"""The run's verdict: what blocks it, what only warns, and what never counts as a pass."""

from __future__ import annotations

import pytest

from v2_conformance.judging.judge import (
    DISPUTED,
    ERROR,
    FAIL,
    INCONCLUSIVE,
    NOT_RUN,
    OUTCOMES,
    PASS,
    UNSUPPORTED,
)
from v2_conformance.report.summary import CaseOutcome, Summary, from_report, summarise
from v2_conformance.suite.requirements import Requirement, catalogue

BINARY = ("binary",)


def pick(level: str, *bases: str, profile: str = "binary") -> Requirement:
    """The first requirement of this kind."""
    return next(
        r
        for r in catalogue().values()
        if r.level == level and r.basis in bases and r.profile == profile and not r.level_in
    )


TEXT = pick("MUST", "text")
DERIVED = pick("MUST", "derived")
SHOULD = pick("SHOULD", "text", "oip")
SHOULD_DERIVED = pick("SHOULD", "derived")
MAY = pick("MAY", "text", "http", "oip")
CONTESTED = pick("DISPUTED", "text")
OTHER = next(r for r in catalogue().values() if r.level == "MUST" and r.basis in ("oip", "http"))


def case(requirement: Requirement, outcome: str, number: int = 1, level: str = "") -> CaseOutcome:
    return CaseOutcome(
        f"{requirement.id}/case-{number}",
        requirement.id,
        level or requirement.level,
        requirement.basis,
        outcome,
    )


def summary(
    *outcomes: CaseOutcome,
    profiles: tuple[str, ...] = BINARY,
    planned: dict[str, int] | None = None,
) -> Summary:
    """The verdict on a run where, unless `planned` says otherwise, everything was run."""
    if planned is None:
        planned = {o.requirement: 0 for o in outcomes}
        for outcome in outcomes:
            planned[outcome.requirement] += 1
    return summarise(outcomes, profiles, planned=planned)


def verdict(*outcomes: CaseOutcome) -> tuple[bool, bool]:
    """Conformant and robust, where one more case of the text has passed."""
    came = summary(case(OTHER, PASS, 99), *outcomes)
    assert came.conformant or not came.robust
    assert bool(came.reasons) == (not came.robust)
    return came.conformant, came.robust


def test_a_run_where_all_passed_is_conformant_and_robust() -> None:
    came = summary(case(TEXT, PASS), case(DERIVED, PASS), case(SHOULD, PASS))
    assert (came.conformant, came.robust) == (True, True)
    assert (came.reasons, came.warnings, came.disputed) == ((), (), ())
    assert came.words == "conformant, robust"


@pytest.mark.parametrize("outcome", [FAIL, ERROR, INCONCLUSIVE, NOT_RUN])
def test_a_must_of_the_text_that_did_not_pass_is_not_conformant(outcome: str) -> None:
    for requirement in (TEXT, OTHER):
        assert verdict(case(requirement, outcome)) == (False, False)
        assert verdict(case(requirement, PASS), case(requirement, outcome, 2)) == (False, False)


@pytest.mark.parametrize("outcome", [FAIL, ERROR, INCONCLUSIVE, NOT_RUN])
def test_a_derived_must_that_did_not_pass_is_conformant_but_not_robust(outcome: str) -> None:
    assert verdict(case(DERIVED, outcome)) == (True, False)
    came = summary(case(TEXT, PASS), case(DERIVED, outcome))
    assert came.words == "conformant, not robust"
    assert came.reasons[0].startswith(f"MUST {DERIVED.id} ")


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("requirement", [SHOULD, SHOULD_DERIVED, MAY, CONTESTED])
def test_nothing_below_must_ever_blocks_the_verdict(requirement: Requirement, outcome: str) -> None:
    assert verdict(case(requirement, outcome)) == (True, True)


@pytest.mark.parametrize("outcome", [FAIL, INCONCLUSIVE, NOT_RUN])
def test_a_should_that_did_not_pass_warns_and_a_may_does_not(outcome: str) -> None:
    came = summary(case(TEXT, PASS), case(SHOULD, outcome), case(MAY, outcome))
    assert len(came.warnings) == 1
    assert came.warnings[0].startswith(f"SHOULD {SHOULD.id} ")


@pytest.mark.parametrize("outcome", [UNSUPPORTED, DISPUTED])
def test_what_is_not_claimed_or_disputed_blocks_nothing(outcome: str) -> None:
    assert verdict(case(TEXT, outcome), case(DERIVED, outcome)) == (True, True)


def test_a_disputed_requirement_is_reported_as_such() -> None:
    came = summary(case(TEXT, PASS), case(CONTESTED, DISPUTED))
    assert came.disputed == (CONTESTED.id,)
    assert came.conformant


@pytest.mark.parametrize("outcome", [o for o in OUTCOMES if o != PASS])
def test_a_run_in_which_no_case_passed_is_never_a_pass(outcome: str) -> None:
    came = summary(case(TEXT, outcome), case(SHOULD, outcome))
    assert (came.conformant, came.robust) == (False, False)
    assert came.reasons[0] == "no case passed"


def test_a_run_of_no_cases_is_never_a_pass() -> None:
    for planned in ({}, {TEXT.id: 2}):
        came = summarise([], BINARY, planned=planned)
        assert (came.conformant, came.robust) == (False, False)
        assert came.words == "not conformant"
        assert {row.outcome for row in came.requirements} == {NOT_RUN}


def test_a_run_with_cases_left_out_is_never_a_pass() -> None:
    planned = {TEXT.id: 2, OTHER.id: 1}
    came = summary(case(TEXT, PASS), case(OTHER, PASS), planned=planned)
    assert (came.conformant, came.robust) == (False, False)
    assert came.reasons == ("1 of 3 cases were left out",)
    for requirement in (DERIVED, SHOULD):
        came = summary(case(OTHER, PASS), planned={OTHER.id: 1, requirement.id: 3})
        assert came.reasons == ("3 of 4 cases were left out",)


def test_the_same_case_twice_does_not_stand_in_for_another() -> None:
    came = summary(case(TEXT, PASS), case(TEXT, PASS), planned={TEXT.id: 2})
    assert not came.conformant


def test_the_level_of_a_case_counts_and_not_that_of_its_requirement() -> None:
    assert verdict(case(TEXT, PASS), case(TEXT, FAIL, 2, level="SHOULD")) == (True, True)
    assert verdict(case(TEXT, PASS), case(TEXT, FAIL, 2, level="MAY")) == (True, True)
    assert verdict(case(SHOULD, FAIL, level="MUST")) == (False, False)
    came = summary(case(TEXT, PASS), case(TEXT, FAIL, 2, level="SHOULD"))
    assert came.warnings == (f"SHOULD {TEXT.id} failed (1 case)",)
    (row,) = [row for row in came.requirements if row.id == TEXT.id]
    assert (row.outcome, row.cases) == (PASS, {PASS: 1, FAIL: 1})


def test_a_claimed_profile_raises_the_level_of_its_requirements() -> None:
    raised = next(r for r in catalogue().values() if r.level_in)
    profile, level = next(iter(raised.level_in.items()))
    assert (raised.level, level) == ("SHOULD", "MUST")
    passed = case(TEXT, PASS)
    assert summary(passed, case(raised, FAIL)).conformant
    came = summary(passed, case(raised, FAIL, level="MUST"), profiles=("binary", profile))
    assert not came.conformant
    came = summary(passed, profiles=("binary", profile), planned={TEXT.id: 1, raised.id: 1})
    assert not came.conformant


def test_requirements_of_a_profile_that_is_not_claimed_are_left_out() -> None:
    raw = pick("MUST", "text", profile="raw")
    came = summary(case(TEXT, PASS), case(raw, UNSUPPORTED))
    assert came.conformant
    assert raw.id not in {row.id for row in came.requirements}
    came = summary(case(TEXT, PASS), case(raw, FAIL), profiles=("binary", "raw"))
    assert not came.conformant
    assert raw.id in {row.id for row in came.requirements}


@pytest.mark.parametrize(
    ("outcomes", "worst"),
    [
        ([PASS, FAIL, ERROR], FAIL),
        ([PASS, ERROR, INCONCLUSIVE], ERROR),
        ([PASS, INCONCLUSIVE, NOT_RUN], INCONCLUSIVE),
        ([PASS, NOT_RUN, UNSUPPORTED], NOT_RUN),
        ([PASS, DISPUTED], DISPUTED),
        ([PASS, UNSUPPORTED], PASS),
        ([UNSUPPORTED, UNSUPPORTED], UNSUPPORTED),
        ([], NOT_RUN),
    ],
)
def test_the_worst_outcome_of_its_cases_is_a_requirements(outcomes: list[str], worst: str) -> None:
    came = summary(*(case(TEXT, outcome, n) for n, outcome in enumerate(outcomes)))
    (row,) = [row for row in came.requirements if row.id == TEXT.id]
    assert row.outcome == worst
    assert row.cases == {outcome: outcomes.count(outcome) for outcome in outcomes}
    assert (row.level, row.basis) == (TEXT.level, TEXT.basis)


def test_reasons_count_cases_and_name_requirement_and_level() -> None:
    came = summary(case(TEXT, FAIL), case(TEXT, FAIL, 2), case(DERIVED, NOT_RUN), case(OTHER, PASS))
    assert set(came.reasons) == {
        f"MUST {TEXT.id} failed (2 cases)",
        f"MUST {DERIVED.id} did not run (1 case)",
    }
    assert came.reasons[-1].startswith(f"MUST {DERIVED.id}")


def test_an_error_of_the_suite_is_never_silent() -> None:
    for requirement in (SHOULD, MAY, CONTESTED):
        came = summary(case(TEXT, PASS), case(requirement, ERROR))
        assert any(requirement.id in warning for warning in came.warnings)


def test_a_report_gives_the_same_verdict_again() -> None:
    outcomes = [case(TEXT, PASS), case(DERIVED, FAIL), case(SHOULD, FAIL)]
    report = {"cases": [{**vars(outcome), "message": ""} for outcome in outcomes]}
    assert from_report(report) == outcomes
