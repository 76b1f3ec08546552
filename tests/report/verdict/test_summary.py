"""The verdict and the gate of CI: what blocks, what only warns, what never counts as a pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from support.reports import case as case_of
from support.reports import exchange, passes, report_of
from v2_clients.findings import ClientLacks
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.tested import Relations
from v2_conformance.report.verdict import summary as module
from v2_conformance.report.verdict.judged import Gate
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.causes import Cause, FailedAtFirst, SeveralWrong
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import LEVELS, Blocks, Level, Requirement, catalogue
from v2_conformance.wire.response import Ending

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


@pytest.mark.parametrize("basic", [False, True])
def test_what_a_client_lacks_excuses_options_and_nothing_basic(basic: bool) -> None:
    lacks = ClientLacks("no blobs", basic)
    lacking = [case_of(f"{name}/x", "unsupported", cause=lacks) for name in ("K1", "K2")]
    came = summary(case(TEXT, Outcome.PASS), *lacking, profiles=("client",)).verdict
    assert came.conformant is not basic
    words = "MUST (blocks conformant) K1 K2 were not tested: the client lacks what 2 cases need"
    assert came.reasons == ((words,) if basic else ())


@pytest.mark.parametrize(("requirement", "blocks"), [(TEXT, "conformant"), (DERIVED, "robust")])
def test_what_the_server_lacks_blocks_what_the_cases_block_that_need_it(
    requirement: Requirement, blocks: str
) -> None:
    lacking = msgspec.structs.replace(
        case(requirement, Outcome.UNSUPPORTED), cause=kinds.RoleAbsent("wide", "no such model")
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


BAD = (Outcome.FAIL, Outcome.ERROR, Outcome.INCONCLUSIVE, Outcome.NOT_RUN)
ANY = tuple(Outcome)


@pytest.mark.parametrize(
    ("requirements", "outcomes", "holds"),
    [
        ((TEXT, OTHER), BAD, (False, False)),
        ((DERIVED,), BAD, (True, False)),
        ((TEXT, DERIVED), (Outcome.UNSUPPORTED, Outcome.DISPUTED), (True, True)),
        ((SHOULD, SHOULD_DERIVED, MAY, CONTESTED), ANY, (True, True)),
    ],
    ids=["a MUST of the text", "a derived MUST", "not claimed or disputed", "below MUST"],
)
def test_what_an_outcome_blocks(
    requirements: Sequence[Requirement], outcomes: Sequence[Outcome], holds: tuple[bool, bool]
) -> None:
    for requirement in requirements:
        for outcome in outcomes:
            assert verdict(case(requirement, outcome)) == holds
            passed = case(requirement, Outcome.PASS)
            assert verdict(passed, case(requirement, outcome, 2)) == holds


@pytest.mark.parametrize("outcome", [Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.NOT_RUN])
def test_a_should_that_did_not_pass_warns_and_a_may_does_not(outcome: Outcome) -> None:
    came = summary(case(TEXT, Outcome.PASS), case(SHOULD, outcome), case(MAY, outcome))
    (warning,) = came.verdict.warnings
    assert warning.startswith(f"SHOULD {SHOULD.id} ")
    derived = summary(case(TEXT, Outcome.PASS), case(DERIVED, outcome)).verdict
    assert derived.words == "conformant, not robust"
    assert derived.reasons[0].startswith(f"MUST (blocks robust) {DERIVED.id} ")


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.PASS])
def test_a_run_in_which_no_case_passed_is_never_a_pass(outcome: Outcome) -> None:
    came = summary(case(TEXT, outcome), case(SHOULD, outcome))
    assert (came.verdict.conformant, came.verdict.robust) == (False, False)
    assert came.verdict.reasons[0] == "no case passed"


@pytest.mark.parametrize(
    ("planned", "words"), [({}, "not conformant"), ({TEXT.id: 2}, "incomplete run")]
)
def test_a_run_of_no_cases_is_never_a_pass(planned: dict[str, int], words: str) -> None:
    came = summary(planned=planned)
    assert (came.verdict.conformant, came.verdict.robust) == (False, False)
    assert came.verdict.words == words
    assert {row.outcome for row in came.requirements} == {Outcome.NOT_RUN}


@pytest.mark.parametrize("left_out", [TEXT, DERIVED, SHOULD])
def test_a_run_with_cases_left_out_is_never_a_pass(left_out: Requirement) -> None:
    came = summary(case(OTHER, Outcome.PASS), planned={OTHER.id: 1, left_out.id: 3})
    assert (came.verdict.conformant, came.verdict.robust) == (False, False)
    assert came.verdict.reasons == ("3 of 4 cases were left out",)


def test_the_level_of_a_case_counts_and_not_that_of_its_requirement() -> None:
    for level in LEVELS[1:3]:
        lenient = case(TEXT, Outcome.FAIL, 2, level=level)
        assert verdict(case(TEXT, Outcome.PASS), lenient) == (True, True)
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


def of_models(report: Report) -> Report:
    """The report of a run with `--model` in which the same cases came out the same."""
    return module.concluded(msgspec.structs.replace(report, relations=Relations(())))


def test_a_failure_that_blocks_robust_alone_contradicts_no_answer() -> None:
    came = of_models(summary(case(TEXT, Outcome.INCONCLUSIVE), case(DERIVED, Outcome.FAIL)))
    assert came.verdict.words == "consistency not shown"


GATES = CONFORMANT, ROBUST, STRICT = Gate(), Gate("robust"), Gate(strict=True)


@pytest.mark.parametrize(
    ("name", "blocks", "opened"),
    [
        ("P2", "conformant", []),
        ("P2", "robust", [CONFORMANT]),
        ("H6", "robust", [CONFORMANT]),
        ("P4", None, [CONFORMANT, ROBUST]),
    ],
)
def test_a_whole_run_opens_the_gate_if_its_verdict_is_what_is_required(
    name: str, blocks: Blocks | None, opened: list[Gate]
) -> None:
    failed = case_of(f"{name}/x", "fail", level="MUST" if blocks else "SHOULD", blocks=blocks)
    for of in (lambda report: report, of_models):
        assert [gate for gate in GATES if gate.is_open_for(of(report_of(passes(failed))))] == opened
        assert all(gate.is_open_for(of(report_of(passes()))) for gate in GATES)


@pytest.mark.parametrize("more", [{"own": False}, {"planned": {"P2": 2, "P4": 9}}])
def test_without_a_verdict_the_cases_that_ran_decide(more: dict[str, Any]) -> None:
    def of(*cases: Any) -> Report:
        return msgspec.structs.replace(report_of([case_of("P2/a"), *cases]), **more)

    assert STRICT.is_open_for(of())
    assert CONFORMANT.is_open_for(of(case_of("H6/x", "fail")))
    assert not ROBUST.is_open_for(of(case_of("H6/x", "fail")))
    for outcome in ("fail", "flaky", "inconclusive", "not_run"):
        assert not CONFORMANT.is_open_for(of(case_of("P2/x", outcome)))
    assert ROBUST.is_open_for(of(case_of("P4/x", "fail")))
    assert not STRICT.is_open_for(of(case_of("P4/x", "fail")))


LATE = kinds.TimedOut(3.0, 99_999, "no complete response in time")


@pytest.mark.parametrize(
    ("cause", "outcome"),
    [
        (LATE, Outcome.INCONCLUSIVE),
        (SeveralWrong(1, 12, LATE), Outcome.INCONCLUSIVE),
        (SeveralWrong(1, 12, kinds.TimedOutEarly(1.0, 99)), Outcome.INCONCLUSIVE),
        (kinds.Hung(3.0, 99_999, 5), Outcome.FAIL),
        (kinds.ConnectionClosed(0, "reset"), Outcome.FAIL),
    ],
)
def test_a_bad_path_excuses_the_rest_of_a_long_answer_if_others_came_whole(
    cause: Cause, outcome: Outcome
) -> None:
    lost = FailedAtFirst(kinds.ConnectionClosed(0, "reset"), None)
    flaky = [case_of(f"{name}/case", "flaky", cause=lost) for name in ("P2", "P5")]
    whole = case_of("D2/case", "pass", None, exchange(bytes(70_000), bytes(80_000)))
    cut = exchange(bytes(70_000), bytes(70_000), ending=Ending.CLOSED)
    long = case_of("D1/case", outcome, None, cut, cause=cause)
    report = report_of([*flaky, whole, long])
    assert report.cases[-1].outcome is Outcome.PASS
    assert module.as_run(report).cases[-1].outcome is outcome
    assert report_of([flaky[0], whole, long]).cases[-1].outcome is outcome
    if not isinstance(cause, SeveralWrong):  # no answer is as long: the server cuts them all
        assert report_of([*flaky, long]).cases[-1].outcome is outcome
