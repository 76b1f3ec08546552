"""What the verdicts on cases show of every server: it survives, and what it answers is exact."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.cases import REJECT, make_case
from v2_conformance.judging.observed.cases import observe_verdict
from v2_conformance.judging.observed.exchanges import Observation, Observations
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import ObservedCase
from v2_conformance.suite.causes.causes import Cause, DidNotSurvive, NotKept
from v2_conformance.suite.causes.kinds import (
    Accepted,
    ConnectionClosed,
    Hung,
    LengthRequired,
    NoResponse,
    NothingObserved,
    Rejected,
    TimedOut,
    WrongElementCount,
    WrongShape,
    WrongStatus,
)
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import Level

GONE = NoResponse("refused", "")
DIED = DidNotSurvive(None, GONE, Rejected(400), case_passed=True)
HUNG = Hung(1.0, 0, 1)
COUNT = WrongElementCount("OUTPUT0", 3, 2)
MUST = make_case(case_id="D1/x")
NEGATIVE = make_case(REJECT, case_id="D1/negative")


def seen(case: object, outcome: Outcome, cause: Cause | None) -> dict[str, Observation]:
    found = observe_verdict(case, Verdict(outcome, cause))  # type: ignore[arg-type]
    return {one.what: one for one in found}


@pytest.mark.parametrize("level", ["SHOULD", "MAY", "DISPUTED"])
@pytest.mark.parametrize(("cause", "first"), [(DIED, GONE), (HUNG, HUNG)])
def test_a_death_or_a_hang_at_any_level_counts(level: Level, cause: Cause, first: Cause) -> None:
    found = seen(replace(MUST, level=level), Outcome.FAIL, cause)["survival"]
    assert (found.wrong, found.first) == (1, first)


def test_at_must_a_hang_counts_and_a_death_is_the_failure_of_its_case_alone() -> None:
    assert seen(NEGATIVE, Outcome.FAIL, HUNG)["survival"].wrong == 1
    assert seen(NEGATIVE, Outcome.FAIL, DIED) == {}


def test_a_valid_request_and_a_client_that_breaks_off_are_no_malformed_ones() -> None:
    assert seen(MUST, Outcome.FAIL, HUNG) == {}
    left = replace(NEGATIVE, request={**NEGATIVE.request, "client": {"then": "leaves"}})
    assert seen(left, Outcome.FAIL, DIED) == {}


@pytest.mark.parametrize(
    ("outcome", "cause", "judged"),
    [
        (Outcome.PASS, Rejected(400), 1),
        (Outcome.FAIL, WrongStatus("4xx", 200, ""), 1),
        (Outcome.FAIL, ConnectionClosed(0, ""), 1),
        (Outcome.INCONCLUSIVE, TimedOut(1.0, 0, ""), 0),
    ],
)
def test_other_failures_are_no_deaths(outcome: Outcome, cause: Cause, judged: int) -> None:
    found = seen(NEGATIVE, outcome, cause)
    assert ("survival" in found) == bool(judged)
    assert not any(one.wrong for one in found.values())


@pytest.mark.parametrize("level", ["SHOULD", "MAY", "DISPUTED"])
def test_wrong_values_count_below_must(level: Level) -> None:
    free = replace(MUST, level=level)
    assert seen(free, Outcome.FAIL, COUNT)["exact_values"].first == COUNT
    died = DidNotSurvive(None, GONE, COUNT, case_passed=False)
    assert seen(free, Outcome.FAIL, died)["exact_values"].first == COUNT
    assert seen(free, Outcome.PASS, Accepted())["exact_values"].wrong == 0


EMPTY = [{"shape": [4]}, {"shape": [0, 2]}]


def _moods(*found: tuple[Outcome, Cause | None, str]) -> Verdict:
    observations = Observations()
    for number, (outcome, cause, expects) in enumerate(found):
        case = make_case({"outcome": expects}, case_id=f"M4/x[{number}]", inputs=EMPTY)
        observations.add(observe_verdict(case, Verdict(outcome, cause)))
    (observed,) = (case for case in suite_cases() if case.id == "E1/observed")
    assert isinstance(observed, ObservedCase)
    return observations.verdict(observed)


def test_what_a_server_takes_without_elements_it_should_take_everywhere() -> None:
    taken = (Outcome.PASS, Accepted(), "either")
    refused = (Outcome.PASS, Rejected(400), "either")
    found = _moods(taken, refused, refused)
    assert found.outcome is Outcome.FAIL
    assert isinstance(found.cause, NotKept)
    assert (found.cause.cases, found.cause.wrong) == (("M4/x[1]", "M4/x[2]"), 2)
    assert found.cause.first == WrongStatus("200", 400, "")
    assert _moods(taken, taken).outcome is Outcome.PASS
    assert _moods((Outcome.PASS, None, "success"), refused).outcome is Outcome.FAIL


@pytest.mark.parametrize("way", ["model-name", "many-fields"])
def test_a_refusal_of_another_freedom_is_no_mood(way: str) -> None:
    case = replace(make_case({"outcome": "either"}, inputs=EMPTY), variations=(way,))
    assert "zero_elements" not in seen(case, Outcome.PASS, Rejected(400))
    assert seen(case, Outcome.PASS, None)["zero_elements"].wrong == 0


def test_an_empty_raw_body_that_is_taken_is_no_mood() -> None:
    raw = make_case({"outcome": "either"}, inputs=[{"shape": [0]}], raw=True)
    assert "zero_elements" not in seen(raw, Outcome.PASS, Accepted())
    assert seen(raw, Outcome.PASS, Rejected(400))["zero_elements"].wrong == 1


def test_a_server_that_never_takes_what_has_no_elements_has_no_moods() -> None:
    refused = (Outcome.PASS, Rejected(400), "either")
    failed = (Outcome.FAIL, WrongStatus("200", 400, ""), "success")
    for found in (_moods(refused, refused, failed), _moods(failed)):
        assert found.cause == NothingObserved(0)


@pytest.mark.parametrize(
    ("chunks", "expects", "cause", "wrong"),
    [
        (True, "success", LengthRequired("no"), 1),
        (True, "success", None, 0),
        (True, "either", LengthRequired("no"), None),
        (False, "success", None, None),
    ],
)
def test_only_plain_bodies_in_chunks_show_if_a_server_takes_them(
    chunks: bool, expects: str, cause: Cause | None, wrong: int | None
) -> None:
    delivery = {"chunks": 7} if chunks else {"slices": 7}
    case = make_case({"outcome": expects}, delivery=delivery)
    outcome = Outcome.PASS if cause is None else Outcome.UNSUPPORTED
    found = seen(case, outcome, cause).get("chunked_requests")
    assert (None if found is None else found.wrong) == wrong


def test_refusals_other_forms_and_graded_values_show_nothing_about_others() -> None:
    free = replace(MUST, level="MAY")
    assert "exact_values" not in seen(free, Outcome.PASS, Rejected(400))
    assert "exact_values" not in seen(free, Outcome.FAIL, WrongShape("OUTPUT0", (1,), (1, 1)))
    assert "exact_values" not in seen(MUST, Outcome.FAIL, COUNT)
    graded = replace(MUST, level="SHOULD", expect={**MUST.expect, "ambiguous": True})
    assert "exact_values" not in seen(graded, Outcome.FAIL, COUNT)
