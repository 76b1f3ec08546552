"""The causes of failures: what belongs together, which requirement is named, and in what order."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import pytest
from msgspec.structs import replace

from support.reports import case, sent
from v2_conformance.report.document import CaseResult
from v2_conformance.report.root_causes import CauseGroup, caused_elsewhere, root_causes
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.causes import (
    Cause,
    DidNotSurvive,
    GeneratedFailure,
    NotKept,
    SeveralWrong,
    finding_of,
)
from v2_conformance.suite.requirements import catalogue

DIFFERENCE = FirstDifference("OUTPUT0", "INT32", 0, 0, 0, "01", "02", "1", "2")
WRONG = kinds.WrongValue(DIFFERENCE, 1, 1)
REFUSED = kinds.WrongStatus("200", 400, "no")
LATE = kinds.TimedOut(1.0, 0, "no answer")
CARELESS = kinds.WrongStatus("4xx", 500, "ValueError")
CAUSES: dict[str, Cause] = {
    "not_json": kinds.HeaderLengthNotJson(157, "not JSON", 158),
    "in_a_character": kinds.HeaderLengthNotJson(140, "the JSON is not UTF-8", 150),
    "wrong": WRONG,
    "refused": REFUSED,
    "answered": kinds.AcceptedInvalidRequest(200, '{"outputs": []}'),
    "answered_error": kinds.AcceptedInvalidRequest(200, '{"error": "no"}'),
    "exact": kinds.AnsweredExactly(200),
    "form": kinds.WrongForm("OUTPUT0", "binary", "json"),
    "late": LATE,
    "no_tabs": kinds.WrongStatus("200", 400, ""),
    "no_text": kinds.WrongStatus("200", 500, "not UTF-8"),
    "no_shape": kinds.WrongStatus("200", 400, "no shape [3]"),
    "no_integers": kinds.WrongStatus("200", 400, "no integers of 2^53"),
    "crashed": kinds.WrongStatus("200", 500, "Failed to encode"),
    "careless": CARELESS,
    "observed": NotKept(178, 282, ("J4/a",), 177, CARELESS),
    "bare_word": kinds.BodyNotJson(381, "NaN is not JSON"),
    "too_long": kinds.ContentLengthTooLong(47, "48"),
    "latin_1": kinds.BodyNotUtf8(142, 120),
}


def some(words: str) -> list[CaseResult]:
    """The cases that a row names: `P9 4/9 wrong SHOULD` are 9 cases of P9, of which 4 fail so, and
    `M7 1 made:wrong` is a generated request that fails so."""
    name, numbers, kind, *grade = words.split()
    failing, _, total = numbers.partition("/")
    cause = CAUSES[kind.removeprefix("made:")]
    if kind.startswith("made:"):
        cause = GeneratedFailure(cause, 5, None, None, None)
    level = grade[0] if grade else "MUST"
    blocks = None if grade else "conformant"
    failed, passed = ("fail", "", cause), ("pass", "", None)
    return [
        case(f"{name}/case[{n}]", outcome, message, cause=found, level=level, blocks=blocks)
        for n in range(int(total or failing))
        for outcome, message, found in [failed if n < int(failing) else passed]
    ]


def cases_of(row: str) -> list[CaseResult]:
    return [one for words in filter(None, row.split(", ")) for one in some(words)]


def each(names: Iterable[str], words: str) -> str:
    """The same for each of these requirements."""
    return ", ".join(f"{name} {words}" for name in names)


def named(groups: tuple[CauseGroup, ...]) -> str:
    return ", ".join(f"{group.requirement} {len(group.cases)}" for group in groups)


D1_USERS = [name for name in catalogue()["D1"].prerequisite_of if name != "V2"]
P2_USERS = catalogue()["P2"].prerequisite_of
WHEREVER = "D1 12 not_json, P5 5 not_json, C7 12/20 not_json"
ROWS = {
    "a finding is about its requirement wherever it shows": f"{WHEREVER} => P5 29",
    "a finding about what holds counts where it is": "X1 3/9 not_json, P5 0/5 not_json => X1 3",
    "a datatype explains what happens to use it": (
        f"{each(D1_USERS, '2/9 wrong')}, D1 9/12 wrong => D1 {2 * len(D1_USERS) + 9}"
    ),
    "blobs are the cause if all datatypes fail": (
        f"{each(P2_USERS, '3 wrong')}, P2 12/13 wrong => P2 {3 * len(P2_USERS) + 12}"
    ),
    "what fails as a whole explains a corner": "D1 1/12 wrong, M2 5/9 wrong => M2 6",
    "what combines others is behind them": "X1 20/167 refused, V1 3/40 refused => V1 23",
    "a SHOULD does not hide a MUST that combines something else": (
        "V2 2/60 no_tabs SHOULD, M7 1 made:no_integers => M7 1, V2 2"
    ),
    "a SHOULD explains generated ones": "V2 2/60 no_tabs SHOULD, M7 1 made:no_tabs => V2 3",
    "an error of its own is a cause": "H13 2 no_shape, V2 3 no_shape, V2 4 crashed => H13 5, V2 4",
    "an unanswered variation is its own": "J5 1/40 late, V2 1/60 late => V2 1, J5 1",
    "an answer explains no other": "J3 3/40 answered, R1 1/30 answered => J3 3, R1 1",
    "a text explains it": "E3 9 no_shape, B4 4/7 no_text, M7 1 made:no_text => B4 5, E3 9",
    "what blocks the verdict comes first": (
        "P4 9 refused SHOULD, O6 20 wrong MAY, H6 1/12 not_json => H6 1, P4 9, O6 20"
    ),
    "a refusal and an error of another status are two causes": (
        "R4 2 careless SHOULD, R4 1 observed SHOULD, B4 2 crashed, M7 1 made:crashed => B4 3, R4 3"
    ),
    "no UTF-8 is no bare word": "P9 4/9 bare_word, B14 2/4 latin_1, M7 1 latin_1 => B14 3, P9 4",
    "nowhere UTF-8 is one cause": "P9 1/9 latin_1, B14 2/4 latin_1, M7 1 latin_1 => P9 4",
    "one error text is one cause": "P2 4 no_shape, V1 9 no_shape, H6 1/9 refused => P2 13, H6 1",
    "X1 has two": "B4 2 no_text, D5 1 no_shape, X1 3 no_text, X1 4 no_shape => B4 5, D5 5",
    "what fails alone is not due to others sent at once": "C6 9 wrong, M1 1/9 wrong => M1 10",
    "what fails only at once is": "C6 9 wrong, M1 0/9 wrong => C6 9",
    "what passed has no cause": "P5 0/5 not_json => ",
    "a corner that fails plainly comes behind": "C7 5/47 wrong, M3 1/9 wrong => C7 5, M3 1",
    "more than a corner comes first": "C7 5/47 wrong, M3 5/9 wrong => M3 10",
    "wrong elements are not due to lengths": (
        "P6 3/7 wrong, D3 1/2 wrong, V3 9/20 wrong => D3 10, P6 3"
    ),
    "a finding names what it is about": "R1 9 too_long, H6 2/9 too_long, P6 0/9 form => P6 11",
}

BLOBS_REFUSED = each(("P2", "H1", "B1"), "2 refused")
OF_ANY_MODEL = {
    "what is answered is told apart by what is wrong with it": (
        "S4 9 answered, O16 5 answered, H4 2 exact, S2 1 exact => H4 2, S2 1, S4 9, O16 5"
    ),
    "errors with status 200 are one cause": "S4 9 answered_error, O16 5 answered_error => O16 14",
    "a header length that some ids make wrong": "V4 3/18 in_a_character, P10 1 not_json => P10 4",
    "all elements are misread": (
        f"{each(('P2', 'P12', 'P13', 'P14', 'H1', 'D3'), '2 wrong')} => D3 12"
    ),
    "elements of one type are misread": (
        "P2 2 wrong, P12 2 wrong, H1 2 wrong, D3 2 wrong, P13 0/2 wrong, P14 0/2 wrong => P12 8"
    ),
    "lengths of texts are misread": f"{BLOBS_REFUSED}, P12 2/3 refused => B1 8",
    "every request is refused": f"{BLOBS_REFUSED}, P12 2 refused => P12 8",
    "M6 needs O1": "M6 20 form, O1 1/20 form => O1 21",
    "P9 needs P5": "P9 20 not_json, P5 1/20 not_json => P5 21",
}


@pytest.mark.parametrize("name", [*ROWS, *OF_ANY_MODEL])
def test_failures_have_these_causes_whatever_the_order_of_cases(name: str) -> None:
    row, causes = (ROWS | OF_ANY_MODEL)[name].split(" => ")
    cases, any_model = cases_of(row), name in OF_ANY_MODEL
    for seed in range(3):
        mixed = random.Random(seed).sample(cases, len(cases))
        assert named(root_causes(mixed, of_any_model=any_model)) == causes


def test_a_group_has_its_finding_its_requirements_and_its_own_cases_first() -> None:
    (group,) = root_causes(cases_of(WHEREVER))
    assert (group.finding, group.requirements) == ("header_length_not_json", ("P5", "D1", "C7"))
    assert [case.requirement for case in group.cases[:5]] == ["P5"] * 5


@pytest.mark.parametrize(
    ("kind", "elsewhere"),
    [
        ("no_text", {"M7/case[0]": "B4"}),
        ("no_text SHOULD", {}),  # what it would belong to is less grave
        ("no_tabs", {}),
        ("crashed", {}),
        ("wrong", {}),
    ],
)
def test_a_generated_failure_is_caused_elsewhere_by_the_same_cause(
    kind: str, elsewhere: dict[str, str]
) -> None:
    assert caused_elsewhere(cases_of(f"B4 4 {kind}, M7 1 made:no_text")) == elsewhere


def test_what_killed_the_server_explains_what_could_not_run() -> None:
    unsurvived = DidNotSurvive(None, LATE, None, case_passed=True)
    died = case("H7/x", "fail", cause=unsurvived, blocks="conformant")
    killed = kinds.KilledBy("H7/x", None)
    waiting = tuple(case(f"D1/{n}", "not_run", cause=killed) for n in range(9))
    first, second = root_causes([*cases_of("P4 2/4 refused"), died, *waiting])
    assert (first.requirement, first.waiting) == ("H7", waiting)
    assert (second.requirement, second.waiting) == ("P4", ())


def test_a_report_with_very_many_requirements_is_still_read() -> None:
    cases = [one for n in range(5000) for one in some(f"Q{n} 1 form")]
    assert len(root_causes(cases)) == 5000


FINDINGS: list[tuple[Cause | None, str]] = [
    (SeveralWrong(2, 9, WRONG), "wrong_value"),
    (NotKept(1, 2, ("P2/x",), 0, kinds.InvalidErrorBody(400, "", "")), "invalid_error_body"),
    (kinds.WrongBytesElement(DIFFERENCE, 1, 0, 0, 1, 1, "01", "02"), "wrong_value"),
    (DidNotSurvive(LATE, None, None, case_passed=True), "did_not_survive_on_same_connection"),
    (DidNotSurvive(LATE, LATE, None, case_passed=True), "did_not_survive"),
    (None, ""),
    (kinds.WrongStatus("4xx", 500, ""), "wrong_error_status"),
    (kinds.WrongStatus("4xx or 5xx", 200, '{"error": "no"}'), "wrong_status"),
    (REFUSED, "wrong_status"),
]


@pytest.mark.parametrize(("cause", "finding"), FINDINGS)
def test_findings_look_into_causes_that_are_about_others(cause: Cause | None, finding: str) -> None:
    assert finding_of(cause) == finding


@pytest.mark.parametrize(
    ("datatype", "more", "passing", "expected"),
    [
        ("INT32", '"id":"1",', 0, "P2 14"),
        ("FP32", '"id":"1",', 0, "P2 10, C2 4"),  # no request of P2 has that datatype alone
        ("INT32", '"id":"1",', 5, "P2 10, C2 4"),
        ("INT32", "", 0, "P2 14"),
    ],
)
def test_what_always_fails_explains_requests_that_have_all_of_it(
    datatype: str, more: str, passing: int, expected: str
) -> None:
    def of(name: str, count: int, outcome: str, datatype: str, more: str) -> list[CaseResult]:
        blob = f'"datatype":"{datatype}","parameters":{{"binary_data_size":4}}'
        (request,) = sent(f'{{{more}"inputs":[{{{blob}}}]}}')
        cause = WRONG if outcome == "fail" else None
        return [case(f"{name}/x[{n}]", outcome, None, request, cause=cause) for n in range(count)]

    cases = [
        *of("P2", 10, "fail", "INT32", ""),
        *of("P2", passing, "pass", "INT32", ""),
        *of("C2", 4, "fail", datatype, more),
    ]
    assert named(root_causes(cases)) == expected


@pytest.mark.parametrize(
    ("requirements", "others", "own", "expected"),
    [
        (("P2", "B4"), 4, 12, "C7 16"),
        (("P2", "B4"), 4, 14, "P2 18"),  # too few of so many
        (("P2", "B4"), 2, 2, "P2 4"),
        (("C6",), 4, 12, "C6 16"),  # just where requests are sent at once
    ],
)
def test_answers_of_other_requests_are_one_cause(
    requirements: Sequence[str], others: int, own: int, expected: str
) -> None:
    def failed(n: int, asked: bytes, got: bytes) -> CaseResult:
        (request,), (response,) = (sent("{}", blob) for blob in (asked, got))
        both = replace(request, received=response.request)
        name = requirements[n % len(requirements)]
        return case(f"{name}/x[{n}]", "fail", None, both, cause=WRONG)

    cases = [failed(n, b"blob%d" % n, b"blob%d" % (n + 1)) for n in range(others)]
    cases += [failed(others + n, b"last%d" % n, b"zero") for n in range(own)]
    last = sent("{}", b"blob%d" % others)
    assert named(root_causes([*cases, case("P2/right", "pass", None, *last)])) == expected
