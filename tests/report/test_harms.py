"""What a user loses, in the words of the verdict."""

from __future__ import annotations

import pytest

from support.reports import case, passes, report_of
from v2_conformance.report.words import lost, priced, shown_causes
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.causes import Cause, DidNotSurvive, NotKept, SeveralWrong
from v2_conformance.suite.causes.kinds import (
    AcceptedInvalidRequest,
    AnsweredExactly,
    ConnectionClosed,
    HeaderLengthNotJson,
    Hung,
    InvalidHttp,
    KilledBy,
    WrongShape,
    WrongStatus,
    WrongValue,
)

REFUSED = WrongStatus("200", 500, "no")
DIED = DidNotSurvive(None, REFUSED, REFUSED, False)
OUT_OF_STEP = DidNotSurvive(REFUSED, None, None, True)
WRONG = WrongValue(FirstDifference("OUTPUT0", "INT32", 0, 0, 0, "01", "02", "1", "2"), 1, 1)
ACCEPTED = AcceptedInvalidRequest(200, "")
SHOULD = {"level": "SHOULD", "blocks": None}


def test_the_verdict_says_what_its_causes_cost_the_worst_first() -> None:
    failing = [case("O1/x", "fail"), case("P2/x", "fail", cause=DIED), case("C12/x", "fail")]
    report = report_of(passes(*failing))
    words = "breaks clients (1), the server dies (1), malformed answers (1)"
    assert lost(report) == f"from correct requests: {words}"
    harms = [cause.group.harm for cause in shown_causes(report)]
    assert harms == ["breaks-clients", "dies", "hygiene"]


def test_every_failed_must_is_counted_by_what_shows_it_whatever_the_verdict() -> None:
    dying, other = case("R3/x", "fail", cause=DIED), case("O1/x", "fail")
    malformed = "from malformed requests: the server dies (1)"
    robust = report_of(passes(dying))
    assert priced(robust) == f"conformant, not robust; {malformed}"
    both = f"from correct requests: breaks clients (1); {malformed}"
    assert priced(report_of(passes(dying, other))) == f"not conformant; {both}"
    assert priced(report_of()) == "conformant, robust"


def test_a_death_is_counted_if_what_it_prevented_decides_the_verdict() -> None:
    dying = case("R3/x", "fail", cause=DIED)
    unsent = case("O1/x", "not_run", cause=KilledBy(dying.id, "identity/INT32"))
    report = report_of(passes(dying, unsent))
    assert not report.verdict.conformant
    assert lost(report) == "from malformed requests: the server dies (1)"


@pytest.mark.parametrize(
    ("requirement", "cause", "harm"),
    [
        ("B10", REFUSED, "breaks-clients"),  # a right request was rejected: there are no numbers
        ("P2", ConnectionClosed(0, "closed"), "breaks-clients"),
        ("P5", HeaderLengthNotJson(157, "not JSON", 158), "breaks-clients"),
        ("C1", WRONG, "wrong-numbers"),
        ("C1", SeveralWrong(1, 9, WRONG), "wrong-numbers"),
        ("B8", WrongShape("OUTPUT0", (2, 3), (6,)), "wrong-numbers"),
        ("E5", WrongShape("OUTPUT0", (2, 0), (0,)), "breaks-clients"),
        ("H4", ACCEPTED, "wrong-numbers"),
        ("H7", ACCEPTED, "wrong-numbers"),  # it neither died nor hung
        ("H7", Hung(5.0, 0, 3), "dies"),
        ("R1", ACCEPTED, "breaks-clients"),
        ("H4", DIED, "dies"),
        ("H4", OUT_OF_STEP, "connection"),
        ("H4", DidNotSurvive(REFUSED, None, WRONG, False), "wrong-numbers"),
        ("C12", NotKept(1, 9, ("P2/x",), 0, InvalidHttp("status_line", "")), "hygiene"),
    ],
)
def test_a_cause_costs_what_its_cases_show(requirement: str, cause: Cause, harm: str) -> None:
    (shown,) = shown_causes(report_of(passes(case(f"{requirement}/x", "fail", cause=cause))))
    assert shown.group.harm == harm


def test_what_blocks_nothing_costs_only_what_it_shows() -> None:
    exact = case("H4/x", "fail", cause=AnsweredExactly(200), **SHOULD)
    nan = case("D4/x", "fail", cause=WRONG, **SHOULD)
    shown = shown_causes(report_of(passes(exact, nan)))
    assert [cause.group.harm for cause in shown] == ["wrong-numbers", None]


def test_what_a_should_explains_of_a_must_is_lost_all_the_same() -> None:
    failing = [case("R4/x", "fail", cause=REFUSED, **SHOULD), case("X1/x", "fail", cause=REFUSED)]
    report = report_of(passes(*failing))
    assert [cause.group.requirement for cause in shown_causes(report)] == ["R4"]
    assert lost(report) == "from correct requests: breaks clients (1)"
