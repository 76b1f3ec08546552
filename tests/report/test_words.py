"""The causes of a report in words: which is named first, what each costs, and what was tested."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.first_mistakes import FIRST_MISTAKES, FirstMistake, Small
from support.reports import case, passes, report_of
from support.servers import Start
from v2_conformance.certifying import servers
from v2_conformance.certifying.relations import Asked, learned_plan
from v2_conformance.report.document import Report
from v2_conformance.report.tested import Relations
from v2_conformance.report.verdict.judged import judged
from v2_conformance.report.words import library_words, lost, must_words, priced, shown_causes
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.causes import causes, kinds
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.causes import Cause, DidNotSurvive, NotKept, SeveralWrong

REFUSED = kinds.WrongStatus("200", 500, "no")
DIED = DidNotSurvive(None, REFUSED, REFUSED, False)
MADE = case("M7/y", "fail", cause=causes.GeneratedFailure(REFUSED, 1, None, None, None))
OUT_OF_STEP = DidNotSurvive(REFUSED, None, None, True)
WRONG = kinds.WrongValue(FirstDifference("OUTPUT0", "INT32", 0, 0, 0, "01", "02", "1", "2"), 1, 1)
ACCEPTED = kinds.AcceptedInvalidRequest(200, "")
NOT_JSON = kinds.HeaderLengthNotJson(157, "not JSON", 158)
CONFORMANT, ROBUST = "MUST (blocks conformant)", "MUST (blocks robust)"
BREAKS = "breaks clients (1)"
DIES = "not robust: the server dies or hangs (1)"
DYING, OTHER = case("R3/x", "fail", cause=DIED), case("O1/x", "fail")
UNSENT = case("O1/x", "not_run", cause=kinds.KilledBy(DYING.id, "identity/INT32"))


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (report_of(), "conformant, robust"),
        (
            report_of(passes(OTHER, case("P2/x", "fail", cause=DIED), case("C12/x", "fail"))),
            f"not conformant: {BREAKS}, the server dies or hangs (1), malformed answers (1)",
        ),
        (report_of(passes(DYING)), f"conformant, {DIES}"),
        (report_of(passes(DYING, OTHER)), f"not conformant: {BREAKS}; {DIES}"),
        # What a death prevented decides the verdict.
        (report_of(passes(DYING, UNSENT)), f"not conformant; {DIES}"),
    ],
)
def test_the_verdict_says_what_its_failed_musts_cost(report: Report, words: str) -> None:
    assert priced(report) == words


@pytest.mark.parametrize(
    ("failed", "words"),
    [
        (("K7/x", WRONG), "HTTP library below the client: 1 of 1 requirement failed: K7"),
        (("K7/x", WRONG, "K14/x", WRONG), ""),  # the client read the numbers
        (("K33/target-is-encoded[space]", REFUSED), ""),
    ],
)
def test_only_what_is_the_librarys_counts_as_its(failed: tuple[Any, ...], words: str) -> None:
    cases = [
        case(id, "fail", cause=cause) for id, cause in zip(failed[::2], failed[1::2], strict=True)
    ]
    assert library_words(report_of(cases, profiles=("client",))) == words


@pytest.mark.parametrize(
    ("requirement", "cause", "harm"),
    [
        ("B10", REFUSED, "breaks-clients"),  # a right request was rejected: there are no numbers
        ("C1", WRONG, "wrong-numbers"),
        ("C1", SeveralWrong(1, 9, WRONG), "wrong-numbers"),
        ("B8", kinds.WrongShape("OUTPUT0", (2, 3), (6,)), "wrong-numbers"),
        ("E5", kinds.WrongShape("OUTPUT0", (2, 0), (0,)), "breaks-clients"),
        ("H4", ACCEPTED, "wrong-numbers"),
        ("H7", ACCEPTED, "wrong-numbers"),  # it neither died nor hung
        ("H7", kinds.Hung(5.0, 0, 3), "dies"),
        ("J7", kinds.HeaderLengthPastBody(9, 8), "breaks-clients"),  # what P5 costs
        ("R1", ACCEPTED, "breaks-clients"),
        ("H4", DIED, "dies"),
        ("H4", OUT_OF_STEP, "connection"),
        ("H4", DidNotSurvive(REFUSED, None, WRONG, False), "wrong-numbers"),
        ("C12", NotKept(1, 9, ("P2/x",), 0, kinds.InvalidHttp("status_line", "")), "hygiene"),
    ],
)
def test_a_cause_costs_what_its_cases_show(requirement: str, cause: Cause, harm: str) -> None:
    (shown,) = shown_causes(report_of(passes(case(f"{requirement}/x", "fail", cause=cause))))
    assert shown.group.harm == harm


def test_what_blocks_nothing_costs_only_what_it_shows() -> None:
    should = {"level": "SHOULD", "blocks": None}
    exact = case("H4/x", "fail", cause=kinds.AnsweredExactly(200), **should)
    nan = case("D4/x", "fail", cause=WRONG, **should)
    shown = shown_causes(report_of(passes(exact, nan)))
    assert [cause.group.harm for cause in shown] == ["wrong-numbers", None]
    # What a SHOULD explains of a MUST is lost all the same.
    failing = [case("R4/x", "fail", cause=REFUSED, **should), case("X1/x", "fail", cause=REFUSED)]
    report = report_of(passes(*failing))
    assert [cause.group.requirement for cause in shown_causes(report)] == ["R4"]
    assert lost(report) == "not conformant: breaks clients (1)"


def test_cause_of_a_requirement_without_cases_has_its_title() -> None:
    missing = kinds.MissingOutput("y", ("output-0",))
    made = report_of([case("O4/x", "fail", cause=missing)])
    relations = Relations(models=(), rtol=0, atol=0)
    (cause,) = shown_causes(msgspec.structs.replace(made, relations=relations))
    assert cause.name.startswith(f"{missing.shows} ")


def test_a_cause_has_its_gravest_grade_and_shows_a_case_of_it_first() -> None:
    own = case("P5/x", "fail", cause=NOT_JSON, level="SHOULD")
    (cause,) = shown_causes(report_of(passes(own, case("D1/x", "fail", cause=NOT_JSON))))
    assert cause.group.requirement == "P5"
    assert cause.group.grade == cause.first.grade == CONFORMANT


def test_no_two_causes_have_one_title() -> None:
    failing = [case("D1/x", "fail", cause=REFUSED), case("D1/y", "fail", cause=WRONG)]
    first, second = shown_causes(report_of(passes(*failing)))
    assert first.name != second.name


def test_a_cause_is_named_after_what_blocks_most_of_what_only_reads_alike() -> None:
    refused = kinds.WrongStatus("200", 500, "NaN is not supported")
    names = ["D4/1", "D4/2", "D4/3", "D3/x", "D5/x", "D8/x"]
    failing = [case(name, "fail", cause=refused) for name in names]
    (cause,) = shown_causes(report_of(passes(*failing)))
    assert cause.group.requirement in ("D3", "D5", "D8")
    assert set(cause.group.requirements) == {"D3", "D4", "D5", "D8"}
    assert cause.first.grade == cause.group.grade == CONFORMANT


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (report_of(outcomes={"P2": "inconclusive", "P3": "not_run"}), "MUST not shown: P2, P3"),
        (report_of([]), "no MUST was tested"),
        (report_of(passes(case("H6/y", "fail"))), "MUST fails: H6"),
        (
            report_of(passes(case("P5/y", "fail"), case("H6/y", "fail"))),
            "MUST fail: 1 blocks conformant (P5), 1 blocks robust (H6)",
        ),
        (report_of(passes(case("B4/y", "fail", cause=REFUSED), MADE)), "MUST fail: B4, M7"),
    ],
)
def test_the_counts_say_what_fails_and_what_was_not_shown(report: Report, words: str) -> None:
    assert must_words(report, shown_causes(report)).endswith(words)


def test_a_requirement_has_the_strictest_grade_at_which_it_fails() -> None:
    failing = [
        case("H6/w", "fail", level="SHOULD"),
        case("H6/x", "fail", blocks="robust"),
        case("H6/y", "fail", blocks="conformant"),
    ]
    for number, grade in enumerate(("SHOULD", ROBUST, CONFORMANT), 1):
        rows = judged(report_of(passes(case("H6/z"), *failing[:number])))
        assert [row.grade for row in rows if row.id == "H6"] == [grade]


BY_NAME = {f"{row.behavior.__name__}-{row.model}": row for row in FIRST_MISTAKES}


def report_on(start: Start, row: FirstMistake, directory: Path) -> Report:
    target = make_target(start(row.behavior).url, timeout=5)
    plan = learned_plan(target, Asked([row.model]))
    return servers.start(target, plan, directory).finish(workers=1)


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.long
def test_mistake_of_a_first_server_is_named_first(name: str, start: Start, tmp_path: Path) -> None:
    row = BY_NAME[name]
    causes = shown_causes(report_on(start, row, tmp_path))
    assert causes[0].group.requirement in row.explained_by


@pytest.mark.parametrize("model", ["matrix_product", "reverser", "widener"])
@pytest.mark.long
def test_small_server_without_mistakes_has_no_cause(
    model: str, start: Start, tmp_path: Path
) -> None:
    report = report_on(start, FirstMistake(Small, (), model), tmp_path)
    assert report.verdict.consistent
    assert not shown_causes(report)
