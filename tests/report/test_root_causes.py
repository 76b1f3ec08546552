"""The causes of failures: what belongs together, which requirement is named, and in what order."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from v2_conformance.report.root_causes import CauseGroup, caused_elsewhere, root_causes
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.causes import (
    Cause,
    DidNotSurvive,
    GeneratedFailure,
    NotKept,
    SeveralWrong,
    finding_of,
)
from v2_conformance.suite.causes.kinds import (
    AcceptedInvalidRequest,
    AnsweredExactly,
    BodyNotJson,
    BodyNotUtf8,
    HeaderLengthNotJson,
    InvalidErrorBody,
    KilledBy,
    TimedOut,
    UnannouncedClose,
    WrongBytesElement,
    WrongForm,
    WrongId,
    WrongStatus,
    WrongValue,
)
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import catalogue

NOT_JSON = HeaderLengthNotJson(157, "not JSON", 158)
DIFFERENCE = FirstDifference("OUTPUT0", "INT32", 0, 0, 0, "01", "02", "1", "2")
WRONG = WrongValue(DIFFERENCE, 1, 1)
REFUSED = WrongStatus("200", 400, "no")


@dataclass(frozen=True)
class Some:
    """A case as `root_causes` reads it."""

    id: str
    requirement: str
    outcome: Outcome
    cause: Cause | None
    grade: str = "MUST (blocks conformant)"


def some(
    requirement: str,
    failing: int,
    cause: Cause,
    of: int | None = None,
    grade: str = "MUST (blocks conformant)",
) -> list[Some]:
    """So many failures of a requirement, of so many cases."""
    total = failing if of is None else of
    return [
        Some(
            f"{requirement}/case[{n}]",
            requirement,
            Outcome.FAIL if n < failing else Outcome.PASS,
            cause if n < failing else None,
            grade,
        )
        for n in range(total)
    ]


def named(groups: tuple[CauseGroup[Some], ...]) -> list[tuple[str, int]]:
    return [(group.requirement, len(group.cases)) for group in groups]


def test_a_finding_is_about_its_requirement_wherever_it_shows() -> None:
    cases = [*some("D1", 12, NOT_JSON), *some("P5", 5, NOT_JSON), *some("C7", 12, NOT_JSON, 20)]
    (group,) = root_causes(cases)
    assert (group.requirement, group.finding) == ("P5", "header_length_not_json")
    assert group.requirements == ("P5", "D1", "C7")
    assert [case.requirement for case in group.cases[:5]] == ["P5"] * 5
    assert len(group.cases) == 29


def test_a_finding_elsewhere_counts_there_if_its_requirement_holds() -> None:
    cases = [*some("X1", 3, NOT_JSON, 100), *some("P5", 0, NOT_JSON, 5)]
    assert named(root_causes(cases)) == [("X1", 3)]


def test_a_datatype_explains_what_happens_to_use_it() -> None:
    users = [name for name in catalogue()["D1"].prerequisite_of if name != "V2"]
    cases = [case for name in users for case in some(name, 2, WRONG, 9)]
    cases += some("D1", 9, WRONG, 12)
    (group,) = root_causes(cases)
    assert group.requirement == "D1"
    assert set(group.requirements) == {"D1", *users}


def test_blobs_are_the_cause_if_all_datatypes_fail_and_not_one_datatype() -> None:
    cases = [case for name in catalogue()["P2"].prerequisite_of for case in some(name, 3, WRONG)]
    cases += some("P2", 12, WRONG, 13)
    assert root_causes(cases)[0].requirement == "P2"


def test_requests_that_are_answered_are_told_apart_by_what_is_wrong_with_them() -> None:
    """The answers read alike, but mending one check does not mend the others."""
    right = AcceptedInvalidRequest(200, '{"outputs": []}')
    cases = [
        *some("S4", 9, right),
        *some("O16", 5, right),
        *some("H4", 2, AnsweredExactly(200)),
        *some("S2", 1, AnsweredExactly(200)),
    ]
    found = dict(named(root_causes(cases, of_any_model=True)))
    assert found == {"S4": 9, "O16": 5, "H4": 2, "S2": 1}


def test_an_error_that_is_answered_with_200_is_one_cause_wherever_it_is() -> None:
    error = AcceptedInvalidRequest(200, '{"error": "no"}')
    cases = [*some("S4", 9, error), *some("O16", 5, error)]
    assert named(root_causes(cases, of_any_model=True)) == [("S4", 14)]


def test_a_header_length_that_is_wrong_for_some_ids_is_one_cause() -> None:
    """Where the JSON is cut off is by chance: in a string, or in a character."""
    in_a_character = HeaderLengthNotJson(140, "the JSON is not UTF-8", 150)
    cases = [*some("V4", 3, in_a_character, 18), *some("P10", 1, NOT_JSON)]
    assert named(root_causes(cases, of_any_model=True)) == [("P10", 4)]


def test_elements_are_misread_if_all_blobs_give_wrong_values() -> None:
    of_all = ("P2", "P12", "P13", "P14", "H1", "D3")
    cases = [case for name in of_all for case in some(name, 2, WRONG)]
    assert root_causes(cases, of_any_model=True)[0].requirement == "D3"
    refused = [case for name in of_all for case in some(name, 2, REFUSED)]
    assert root_causes(refused, of_any_model=True)[0].requirement != "D3"
    of_one_type = [case for case in cases if case.requirement not in ("P13", "P14")]
    of_one_type += [*some("P13", 0, WRONG, 2), *some("P14", 0, WRONG, 2)]
    assert root_causes(of_one_type, of_any_model=True)[0].requirement == "P12"


def test_lengths_of_texts_are_misread_if_only_requests_with_blobs_are_refused() -> None:
    cases = [case for name in ("P2", "H1", "B1") for case in some(name, 2, REFUSED)]
    without_blobs = [*cases, *some("P12", 2, REFUSED, 3)]
    assert root_causes(without_blobs, of_any_model=True)[0].requirement == "B1"
    every_one = [*cases, *some("P12", 2, REFUSED)]
    assert root_causes(every_one, of_any_model=True)[0].requirement == "P12"


def test_a_corner_of_a_prerequisite_is_explained_by_what_fails_as_a_whole() -> None:
    cases = [*some("D1", 1, WRONG, 12), *some("M2", 5, WRONG, 9)]
    assert named(root_causes(cases)) == [("M2", 6)]


def test_of_two_in_a_finding_the_prerequisite_is_the_cause() -> None:
    form = WrongForm("OUTPUT0", "binary", "json")
    for one, other, cause in (("O1", "M6", form), ("O1", "O3", form), ("P5", "P9", NOT_JSON)):
        assert other in catalogue()[one].prerequisite_of
        cases = [*some(other, 20, cause), *some(one, 1, cause, 20)]
        assert named(root_causes(cases, of_any_model=True)) == [(one, 21)]


def test_what_only_combines_others_comes_behind_them() -> None:
    cases = [*some("X1", 20, REFUSED, 167), *some("V1", 3, REFUSED, 40)]
    assert named(root_causes(cases)) == [("V1", 23)]
    assert named(root_causes(some("X1", 20, REFUSED, 167))) == [("X1", 20)]


def test_a_should_does_not_hide_a_must_that_combines_something_else() -> None:
    tabs = WrongStatus("200", 400, "")
    refused = WrongStatus("200", 400, "no integers of 2^53")
    large = GeneratedFailure(refused, 5, None, None, None)
    spellings = some("V2", 2, tabs, 60, grade="SHOULD")
    assert named(root_causes([*spellings, *some("M7", 1, large)])) == [("M7", 1), ("V2", 2)]
    same = some("M7", 1, GeneratedFailure(tabs, 5, None, None, None))
    assert named(root_causes([*spellings, *same])) == [("V2", 3)]


def test_a_generated_failure_belongs_to_the_case_that_fails_with_the_same_text() -> None:
    text, shape = WrongStatus("200", 500, "not UTF-8"), WrongStatus("200", 400, "no shape [3]")
    (generated,) = some("M7", 1, GeneratedFailure(text, 5, None, None, None))
    cases = [*some("E3", 9, shape, 9), *some("B4", 4, text, 7), generated]
    found = {group.requirement: group.requirements for group in root_causes(cases)}
    assert found == {"B4": ("B4", "M7"), "E3": ("E3",)}
    assert caused_elsewhere(cases) == {generated.id: "B4"}


@pytest.mark.parametrize(
    ("cause", "grade"),
    [
        (WrongStatus("200", 500, "not UTF-8"), "SHOULD"),
        (WrongStatus("200", 400, "not UTF-8"), "MUST (blocks conformant)"),
        (WrongStatus("200", 500, "no such shape"), "MUST (blocks conformant)"),
        (WRONG, "MUST (blocks conformant)"),
    ],
)
def test_a_generated_failure_of_another_cause_or_a_graver_one_is_its_own(
    cause: Cause, grade: str
) -> None:
    made = GeneratedFailure(WrongStatus("200", 500, "not UTF-8"), 5, None, None, None)
    assert not caused_elsewhere([*some("B4", 4, cause, grade=grade), *some("M7", 1, made)])


def test_what_killed_the_server_explains_what_could_not_run() -> None:
    died = DidNotSurvive(None, TimedOut(1.0, 0, "no answer"), None, case_passed=True)
    cases = [*some("P4", 2, REFUSED, 4), *some("H7", 1, died, 5)]
    killed = KilledBy("H7/case[0]", None)
    waiting = tuple(Some(f"D1/{n}", "D1", Outcome.NOT_RUN, killed) for n in range(9))
    first, second = root_causes([*cases, *waiting])
    assert (first.requirement, first.waiting) == ("H7", waiting)
    assert (second.requirement, second.waiting) == ("P4", ())


def test_what_blocks_the_verdict_comes_before_what_does_not() -> None:
    cases = [
        *some("P4", 9, REFUSED, grade="SHOULD"),
        *some("O6", 20, WRONG, grade="MAY"),
        *some("H6", 1, NOT_JSON, 12),
    ]
    assert [name for name, _ in named(root_causes(cases))] == ["H6", "P4", "O6"]


def test_a_refusal_and_an_error_of_another_status_are_two_causes() -> None:
    crashed = WrongStatus("200", 500, "Failed to encode")
    careless = WrongStatus("4xx", 500, "ValueError")
    several = [
        *some("R4", 2, careless, 3, grade="SHOULD"),
        *some("R4", 1, NotKept(178, 282, ("J4/a",), 177, careless), grade="SHOULD"),
        *some("B4", 2, crashed, 2),
        *some("M7", 1, GeneratedFailure(crashed, 46, None, None, None)),
    ]
    first, second = root_causes(several)
    assert (first.requirement, first.requirements, first.harm) == (
        "B4",
        ("B4", "M7"),
        "breaks-clients",
    )
    assert (second.requirement, len(second.cases)) == ("R4", 3)


def test_what_only_unhandled_errors_show_belongs_to_them() -> None:
    crash = WrongStatus("4xx", 500, "Internal Server Error")
    text = InvalidErrorBody(500, "not JSON at byte 0", "Internal Server Error")
    there, elsewhere = ("B9/a", "S4/a"), ("B9/a", "J1/a")
    several = [
        *some("R4", 1, NotKept(2, 200, there, 0, crash), grade="SHOULD"),
        *some("R2", 1, NotKept(1, 225, there[:1], 0, text)),
        *some("R8", 1, NotKept(2, 996, there, 0, UnannouncedClose(0)), grade="SHOULD"),
    ]
    for of_any_model in (False, True):
        (group,) = root_causes(several, of_any_model=of_any_model)
        assert (group.requirement, len(group.cases)) == ("R4", 3)
    # What other errors show, too, is another defect.
    several[1:2] = some("R2", 1, NotKept(2, 225, elsewhere, 0, text))
    assert {group.requirement for group in root_causes(several)} == {"R2", "R4"}


def test_json_that_is_not_utf8_is_another_cause_than_json_with_a_bare_word() -> None:
    bare_word = some("P9", 4, BodyNotJson(381, "NaN is not JSON"), 9)
    latin_1 = [*some("B14", 2, BodyNotUtf8(142, 120), 4), *some("M7", 1, BodyNotUtf8(90, 70))]
    assert sorted(named(root_causes([*bare_word, *latin_1]))) == [("B14", 3), ("P9", 4)]
    everywhere = some("P9", 1, BodyNotUtf8(99, 60), 9)
    assert named(root_causes([*everywhere, *latin_1])) == [("P9", 4)]


def test_the_order_of_cases_changes_nothing_but_the_order_in_a_group() -> None:
    cases = [*some("P5", 5, NOT_JSON), *some("D1", 12, NOT_JSON), *some("M1", 3, REFUSED, 7)]
    cases += [*some("D2", 3, WRONG, 12), *some("O18", 1, WrongId("'a'", "'b'"), 5)]
    expected = named(root_causes(cases))
    for seed in range(5):
        mixed = random.Random(seed).sample(cases, len(cases))
        assert named(root_causes(mixed)) == expected


def test_a_report_with_very_many_requirements_is_still_read() -> None:
    cases = [case for n in range(5000) for case in some(f"Q{n}", 1, REFUSED)]
    assert len(root_causes(cases)) == 5000


def test_nothing_that_failed_has_no_cause() -> None:
    assert root_causes([]) == ()
    assert root_causes(some("P5", 0, NOT_JSON, 5)) == ()


def test_findings_look_into_causes_that_are_about_others() -> None:
    assert finding_of(SeveralWrong(2, 9, WRONG)) == "wrong_value"
    body = InvalidErrorBody(400, "not JSON", "x")
    assert finding_of(NotKept(1, 2, ("P2/x",), 0, body)) == "invalid_error_body"
    element = WrongBytesElement(DIFFERENCE, 1, 0, 0, 1, 1, "01", "02")
    assert finding_of(element) == finding_of(WRONG)
    late = TimedOut(1.0, 0, "no answer")
    same = DidNotSurvive(late, None, None, case_passed=True)
    fresh = DidNotSurvive(late, late, None, case_passed=True)
    assert finding_of(same) == "did_not_survive_on_same_connection"
    assert finding_of(fresh) == "did_not_survive"
    assert finding_of(None) == ""
    assert finding_of(WrongStatus("4xx", 500, "")) == "wrong_error_status"
    accepted = WrongStatus("4xx or 5xx", 200, '{"error": "no"}')
    assert finding_of(accepted) == finding_of(REFUSED) == "wrong_status"
