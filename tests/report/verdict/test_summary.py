"""The run's verdict: what blocks it, what only warns, and what never counts as a pass."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import msgspec
import pytest

from support.reports import case as case_of
from support.reports import report_of
from v2_clients.findings import ClientLacks
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.verdict import summary as module
from v2_conformance.report.words import must_words, shown_causes
from v2_conformance.suite.causes.causes import GeneratedFailure
from v2_conformance.suite.causes.kinds import RoleAbsent, WrongStatus
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import Level, Requirement, catalogue

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


def case(
    requirement: Requirement, outcome: Outcome, number: int = 1, level: Level | None = None
) -> CaseResult:
    return case_of(f"{requirement.id}/case-{number}", outcome, level=level or requirement.level)


def summary(
    *cases: CaseResult, profiles: tuple[str, ...] = BINARY, planned: dict[str, int] | None = None
) -> Report:
    """A report of a run in which, unless `planned` says otherwise, everything was run."""
    counts = Counter(case.requirement for case in cases)
    return report_of(list(cases), profiles=profiles, planned=counts if planned is None else planned)


def verdict(*cases: CaseResult) -> tuple[bool, bool]:
    """Conformant and robust, where one more case of the text has passed."""
    came = summary(case(OTHER, Outcome.PASS, 99), *cases).verdict
    assert came.conformant or not came.robust
    assert bool(came.reasons) == (not came.robust)
    return came.conformant, came.robust


@pytest.mark.parametrize(("basic", "holds"), [(False, True), (True, False)])
def test_what_a_client_lacks_excuses_options_and_nothing_basic(basic: bool, holds: bool) -> None:
    framing = catalogue()["K1"]
    lacking = msgspec.structs.replace(
        case(framing, Outcome.UNSUPPORTED, 2), cause=ClientLacks("no API", basic)
    )
    came = summary(case(framing, Outcome.PASS), lacking, profiles=("client",)).verdict
    assert came.conformant is holds
    assert (
        "MUST (blocks conformant) K1 was not tested: the client lacks what 1 case needs"
        in came.reasons
    ) is not holds


def test_what_a_client_lacks_is_one_reason_whatever_needs_it() -> None:
    lacking = [
        msgspec.structs.replace(
            case(catalogue()[name], Outcome.UNSUPPORTED, 2), cause=ClientLacks("no blobs", True)
        )
        for name in ("K1", "K2")
    ]
    came = summary(case(TEXT, Outcome.PASS), *lacking, profiles=("client",)).verdict
    assert came.reasons == (
        "MUST (blocks conformant) K1 K2 were not tested: the client lacks what 2 cases need",
    )


@pytest.mark.parametrize(("requirement", "blocks"), [(TEXT, "conformant"), (DERIVED, "robust")])
def test_what_the_server_lacks_blocks_what_the_cases_block_that_need_it(
    requirement: Requirement, blocks: str
) -> None:
    lacking = msgspec.structs.replace(
        case(requirement, Outcome.UNSUPPORTED), cause=RoleAbsent("wide", "no such model")
    )
    came = summary(case(OTHER, Outcome.PASS), lacking).verdict
    assert came.reasons == (
        f"MUST (blocks {blocks}) {requirement.id} was not tested: its cases need the model wide",
    )
    assert (came.conformant, came.robust) == (blocks == "robust", False)


def test_a_requirement_that_others_replaced_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**catalogue(), TEXT.id: replace(TEXT, superseded_by=(DERIVED.id,))}
    monkeypatch.setattr(module, "catalogue", lambda: known)
    assert verdict(case(TEXT, Outcome.FAIL)) == (True, True)
    assert TEXT.id not in {row.id for row in summary(case(OTHER, Outcome.PASS)).requirements}


@pytest.mark.parametrize(
    "outcome", [Outcome.FAIL, Outcome.ERROR, Outcome.INCONCLUSIVE, Outcome.NOT_RUN]
)
def test_a_must_of_the_text_that_did_not_pass_is_not_conformant(outcome: Outcome) -> None:
    for requirement in (TEXT, OTHER):
        assert verdict(case(requirement, outcome)) == (False, False)
        assert verdict(case(requirement, Outcome.PASS), case(requirement, outcome, 2)) == (
            False,
            False,
        )


@pytest.mark.parametrize(
    "outcome", [Outcome.FAIL, Outcome.ERROR, Outcome.INCONCLUSIVE, Outcome.NOT_RUN]
)
def test_a_derived_must_that_did_not_pass_is_conformant_but_not_robust(outcome: Outcome) -> None:
    assert verdict(case(DERIVED, outcome)) == (True, False)
    came = summary(case(TEXT, Outcome.PASS), case(DERIVED, outcome))
    assert came.verdict.words == "conformant, not robust"
    assert came.verdict.reasons[0].startswith(f"MUST (blocks robust) {DERIVED.id} ")


@pytest.mark.parametrize("outcome", list(Outcome))
@pytest.mark.parametrize("requirement", [SHOULD, SHOULD_DERIVED, MAY, CONTESTED])
def test_nothing_below_must_blocks(requirement: Requirement, outcome: Outcome) -> None:
    assert verdict(case(requirement, outcome)) == (True, True)


@pytest.mark.parametrize("outcome", [Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.NOT_RUN])
def test_a_should_that_did_not_pass_warns_and_a_may_does_not(outcome: Outcome) -> None:
    came = summary(case(TEXT, Outcome.PASS), case(SHOULD, outcome), case(MAY, outcome))
    assert len(came.verdict.warnings) == 1
    assert came.verdict.warnings[0].startswith(f"SHOULD {SHOULD.id} ")


@pytest.mark.parametrize("outcome", [Outcome.UNSUPPORTED, Outcome.DISPUTED])
def test_what_is_not_claimed_or_disputed_blocks_nothing(outcome: Outcome) -> None:
    assert verdict(case(TEXT, outcome), case(DERIVED, outcome)) == (True, True)


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.PASS])
def test_a_run_in_which_no_case_passed_is_never_a_pass(outcome: Outcome) -> None:
    came = summary(case(TEXT, outcome), case(SHOULD, outcome))
    assert (came.verdict.conformant, came.verdict.robust) == (False, False)
    assert came.verdict.reasons[0] == "no case passed"


def test_a_run_of_no_cases_is_never_a_pass() -> None:
    for planned, words in (({}, "not conformant"), ({TEXT.id: 2}, "incomplete run")):
        came = summary(planned=planned)
        assert (came.verdict.conformant, came.verdict.robust) == (False, False)
        assert came.verdict.words == words
        assert {row.outcome for row in came.requirements} == {Outcome.NOT_RUN}


def test_a_run_with_cases_left_out_is_never_a_pass() -> None:
    planned = {TEXT.id: 2, OTHER.id: 1}
    came = summary(case(TEXT, Outcome.PASS), case(OTHER, Outcome.PASS), planned=planned)
    assert (came.verdict.conformant, came.verdict.robust) == (False, False)
    assert came.verdict.reasons == ("1 of 3 cases were left out",)
    for requirement in (DERIVED, SHOULD):
        came = summary(case(OTHER, Outcome.PASS), planned={OTHER.id: 1, requirement.id: 3})
        assert came.verdict.reasons == ("3 of 4 cases were left out",)


def test_the_same_case_twice_does_not_stand_in_for_another() -> None:
    came = summary(case(TEXT, Outcome.PASS), case(TEXT, Outcome.PASS), planned={TEXT.id: 2})
    assert not came.verdict.conformant


def test_the_level_of_a_case_counts_and_not_that_of_its_requirement() -> None:
    assert verdict(case(TEXT, Outcome.PASS), case(TEXT, Outcome.FAIL, 2, level="SHOULD")) == (
        True,
        True,
    )
    assert verdict(case(TEXT, Outcome.PASS), case(TEXT, Outcome.FAIL, 2, level="MAY")) == (
        True,
        True,
    )
    assert verdict(case(SHOULD, Outcome.FAIL, level="MUST")) == (False, False)
    came = summary(case(TEXT, Outcome.PASS), case(TEXT, Outcome.FAIL, 2, level="SHOULD"))
    assert came.verdict.warnings == (f"SHOULD {TEXT.id} failed (1 case)",)
    (row,) = [row for row in came.requirements if row.id == TEXT.id]
    assert (row.outcome, row.cases) == (Outcome.PASS, {Outcome.PASS: 1, Outcome.FAIL: 1})


def test_a_claimed_profile_raises_the_level_of_its_requirements() -> None:
    raised = next(r for r in catalogue().values() if r.level_in)
    profile, level = next(iter(raised.level_in.items()))
    assert (raised.level, level) == ("SHOULD", "MUST")
    passed = case(TEXT, Outcome.PASS)
    assert summary(passed, case(raised, Outcome.FAIL)).verdict.conformant
    came = summary(passed, case(raised, Outcome.FAIL, level="MUST"), profiles=("binary", profile))
    assert not came.verdict.conformant
    came = summary(passed, profiles=("binary", profile), planned={TEXT.id: 1, raised.id: 1})
    assert not came.verdict.conformant


def test_requirements_of_a_profile_that_is_not_claimed_are_left_out() -> None:
    raw = pick("MUST", "text", profile="raw")
    came = summary(case(TEXT, Outcome.PASS), case(raw, Outcome.UNSUPPORTED))
    assert came.verdict.conformant
    assert raw.id not in {row.id for row in came.requirements}
    came = summary(case(TEXT, Outcome.PASS), case(raw, Outcome.FAIL), profiles=("binary", "raw"))
    assert not came.verdict.conformant
    assert raw.id in {row.id for row in came.requirements}


@pytest.mark.parametrize(
    ("outcomes", "worst"),
    [
        ([Outcome.PASS, Outcome.FAIL, Outcome.ERROR], Outcome.FAIL),
        ([Outcome.PASS, Outcome.ERROR, Outcome.INCONCLUSIVE], Outcome.ERROR),
        ([Outcome.PASS, Outcome.INCONCLUSIVE, Outcome.NOT_RUN], Outcome.INCONCLUSIVE),
        ([Outcome.PASS, Outcome.NOT_RUN, Outcome.UNSUPPORTED], Outcome.NOT_RUN),
        ([Outcome.PASS, Outcome.DISPUTED], Outcome.DISPUTED),
        ([Outcome.PASS, Outcome.UNSUPPORTED], Outcome.PASS),
        ([Outcome.UNSUPPORTED, Outcome.UNSUPPORTED], Outcome.UNSUPPORTED),
        ([], Outcome.NOT_RUN),
    ],
)
def test_worst_outcome_is_the_requirements(outcomes: list[Outcome], worst: Outcome) -> None:
    came = summary(*(case(TEXT, outcome, n) for n, outcome in enumerate(outcomes)))
    (row,) = [row for row in came.requirements if row.id == TEXT.id]
    assert row.outcome == worst
    assert row.cases == {outcome: outcomes.count(outcome) for outcome in outcomes}
    assert (row.level, row.basis) == (TEXT.level, TEXT.basis)


def test_a_generated_failure_with_a_known_cause_blocks_nothing_itself() -> None:
    refused = WrongStatus("200", 500, "not UTF-8")
    failed = msgspec.structs.replace(case_of("B4/case", Outcome.FAIL), cause=refused)
    made = msgspec.structs.replace(
        case_of("M7/generated", Outcome.FAIL),
        cause=GeneratedFailure(refused, 46, None, None, None),
    )
    came = summary(case(OTHER, Outcome.PASS), failed, made)
    assert came.verdict.reasons == ("MUST (blocks conformant) B4 failed (1 case)",)
    assert must_words(came, shown_causes(came)) == "1 of 3 MUST fails: B4"
    alone = summary(case(OTHER, Outcome.PASS), made)
    assert alone.verdict.reasons == ("MUST (blocks conformant) M7 failed (1 case)",)


def test_an_error_of_the_suite_is_never_silent() -> None:
    for requirement in (SHOULD, MAY, CONTESTED):
        came = summary(case(TEXT, Outcome.PASS), case(requirement, Outcome.ERROR))
        assert any(requirement.id in warning for warning in came.verdict.warnings)


def test_a_failure_blocks_what_its_case_says_and_not_its_requirement() -> None:
    came = summary(
        case(TEXT, Outcome.PASS),
        msgspec.structs.replace(case(TEXT, Outcome.FAIL, 2), blocks="robust"),
    )
    assert (came.verdict.conformant, came.verdict.robust) == (True, False)
    assert came.verdict.reasons == (f"MUST (blocks robust) {TEXT.id} failed (1 case)",)
    row = next(row for row in came.requirements if row.id == TEXT.id)
    assert (row.outcome, row.blocks) == (Outcome.FAIL, "robust")
