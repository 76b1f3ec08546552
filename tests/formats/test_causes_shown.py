"""Terminal, page and step summary name the causes of failures, and what to know before."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from support.reports import case, passes, report_of
from v2_conformance.formats.github import markdown
from v2_conformance.formats.html.page import render
from v2_conformance.formats.text.terminal import summary_lines
from v2_conformance.formats.trust import cautions
from v2_conformance.report.document import CaseResult, ExpectedFailure, Report
from v2_conformance.report.tested import Model, Relations
from v2_conformance.report.words import headline, must_words, shown_causes
from v2_conformance.suite.causes.causes import DidNotSurvive, NotKept
from v2_conformance.suite.causes.kinds import (
    AcceptedInvalidRequest,
    HeaderLengthNotJson,
    KilledBy,
    MissingOutput,
    NoKnownGoodAnswer,
    ProfileNotClaimed,
    RoleAbsent,
    WrongStatus,
)

NOT_JSON = HeaderLengthNotJson(157, "not JSON", 158)
P5 = "P5 Response header length is the JSON's exact length"


def failing(*requirements: str, number: int = 2, **members: Any) -> list[CaseResult]:
    return [
        case(f"{name}/x[{n}]", "fail", cause=NOT_JSON, **members)
        for name in requirements
        for n in range(number)
    ]


def terminal(report: Report) -> str:
    return " ".join(" ".join(summary_lines(report, Path("reports"))).split())


def everywhere(report: Report) -> Iterable[str]:
    yield terminal(report)
    for marked in (render(report).partition("<body>")[2], markdown(report)):
        yield " ".join(html.unescape(re.sub(r"<[^>]*>", "", marked)).split())


def test_one_cause_is_named_with_all_that_it_explains() -> None:
    report = report_of(passes(*failing("B1", "D1", "P5")))
    words = f"6 failures, 1 cause. Fix first: {P5}"
    assert headline(shown_causes(report)) == words
    for text in everywhere(report):
        assert words in text
        assert "3 of " in text
        assert "MUST fail: P5, " in text


def test_cause_of_a_requirement_without_cases_has_its_title() -> None:
    relations = Relations(models=(), rtol=0, atol=0)
    missing = MissingOutput("y", ("output-0",))
    made = report_of([case("O4/x", "fail", cause=missing)])
    (cause,) = shown_causes(msgspec.structs.replace(made, relations=relations))
    assert cause.name.startswith(f"{missing.shows} ")


def test_a_cause_has_its_gravest_grade_and_shows_a_case_of_it_first() -> None:
    own = case("P5/x", "fail", cause=NOT_JSON, level="SHOULD")
    report = report_of(passes(own, *failing("D1")))
    (cause,) = shown_causes(report)
    assert cause.group.requirement == "P5"
    assert cause.grade == cause.first.grade == "MUST (blocks conformant)"
    for text in everywhere(report):
        assert "MUST (blocks conformant)" in text


def test_a_cause_is_named_after_what_blocks_most_of_what_only_reads_alike() -> None:
    refused = WrongStatus("200", 500, "NaN is not supported")
    report = report_of(
        passes(
            *(case(f"D4/x[{n}]", "fail", cause=refused) for n in range(3)),
            *(case(f"{name}/x", "fail", cause=refused) for name in ("D3", "D5", "D8")),
        )
    )
    (cause,) = shown_causes(report)
    assert cause.group.requirement in ("D3", "D5", "D8")
    assert set(cause.group.requirements) == {"D3", "D4", "D5", "D8"}
    assert cause.first.grade == cause.grade == "MUST (blocks conformant)"


def test_level_and_what_it_blocks_stand_with_each_cause() -> None:
    warned = case("P4/x", "fail", level="SHOULD", cause=WrongStatus("200", 400, ""))
    report = report_of(passes(*failing("P5"), case("H6/x", "fail"), warned))
    grades = ["MUST (blocks conformant)", "MUST (blocks robust)", "SHOULD"]
    assert [cause.grade for cause in shown_causes(report)] == grades
    page = render(report).partition('<h2 id="causes">')[2].partition("</section>")[0]
    assert re.findall('<span class="level">([^<]*)</span>', page) == grades
    printed, _, summary = everywhere(report)
    for text in (printed, summary):
        assert re.findall(r"(MUST \(blocks \w+\)|SHOULD) (?:P5|H6|P4)/x", text)[:3] == grades


def test_a_death_comes_before_what_blocks_less_than_what_it_prevented() -> None:
    died = case("R3/x", "fail", cause=DidNotSurvive(None, None, None, False))
    unsent = case("O1/x", "not_run", cause=KilledBy(died.id, "identity/INT32"))
    numbers = case("H6/x", "fail", cause=AcceptedInvalidRequest(200, ""))
    report = report_of(passes(numbers, died, unsent))
    assert [cause.group.requirement for cause in shown_causes(report)] == ["R3", "H6"]
    assert "1 case (and 1 that could not run: MUST (blocks conformant))" in terminal(report)


def test_what_is_wrong_with_all_exchanges_is_said_before_where() -> None:
    where = tuple(f"J4/with-a-long-name[{n}]" for n in range(9))
    found = NotKept(63, 180, where, 54, WrongStatus("4xx", 500, "no such thing"))
    report = report_of([case("R4/observed", "fail", cause=found)])
    for text in everywhere(report):
        assert f"500 (an unhandled error?) to the malformed request of {where[0]}; in all" in text
    found = msgspec.structs.replace(found, first=WrongStatus("4xx", 302, "no such thing"))
    for text in everywhere(report_of([case("R4/observed", "fail", cause=found)])):
        assert f"got 302: no such thing (in 63 of 180 exchanges, the first in {where[0]})" in text


def test_warnings_alone_do_not_read_like_a_failed_run() -> None:
    report = report_of(
        passes(case("S4/x", "fail", level="SHOULD", cause=WrongStatus("4xx", 200, "")))
    )
    assert headline(shown_causes(report)).startswith("Warnings only: 1 failure, 1 cause. ")


def test_causes_that_are_too_many_to_be_shown_are_counted_with_their_cases() -> None:
    few = [case(f"YA{n}/x[0]", "fail") for n in range(3)]
    many = [case(f"YB{n}/x[{row}]", "fail") for n in range(10) for row in range(2)]
    said = terminal(report_of([*few, *many]))
    assert "… and 3 more causes of 3 cases, all in the report" in said
    assert "… and" not in terminal(report_of(many))


def test_what_was_expected_comes_behind_what_nobody_knew() -> None:
    known = failing("P5", "D1", expected=ExpectedFailure("a known bug"))
    report = report_of(passes(*known, case("P4/y", "fail")))
    assert [cause.expected for cause in shown_causes(report)] == [False, True]
    assert terminal(report).index("P4/y") < terminal(report).index("a known bug")


def test_the_counts_say_what_was_not_shown_and_that_all_hold() -> None:
    report = report_of(outcomes={"P2": "inconclusive", "P3": "not_run"})
    assert must_words(report, []).endswith("MUST not shown: P2, P3")
    good = report_of()
    assert must_words(good, []).startswith("all ")
    assert must_words(report_of([]), []) == "no MUST was tested"


def test_what_blocks_conformant_and_what_blocks_robust_are_counted_apart() -> None:
    both = report_of(passes(*failing("P5", "D1"), case("H6/y", "fail")))
    words = "MUST fail: 2 block conformant (P5, D1), 1 blocks robust (H6)"
    assert must_words(both, shown_causes(both)).endswith(words)
    for text in everywhere(both):
        assert words in text
    one = report_of(passes(case("H6/y", "fail")))
    assert must_words(one, shown_causes(one)).endswith("MUST fails: H6")


def test_an_absent_model_is_named_with_what_was_lost() -> None:
    role = "identity/INT32"
    lost = [case(f"P2/x[{n}]", "not_run", cause=RoleAbsent(role, "404")) for n in range(43)]
    report = report_of(
        passes(*lost),
        absent={role: "status 404", "mixed": "status 404"},
        models={"trio": Model("trio", (), ())},
    )
    (caution,) = cautions(report)
    assert caution.words == "No model for identity/INT32: 43 cases did not run; status 404"
    for text in everywhere(report):
        assert "Before you trust this".lower() in text.lower()
        assert "No model for identity/INT32" in text


def without_models(*roles: str) -> Report:
    lost = [
        case(f"P2/{n}", "not_run", cause=RoleAbsent(role, "404")) for n, role in enumerate(roles)
    ]
    return report_of(passes(*lost), absent=dict.fromkeys(roles, "status 404"))


def test_models_absent_for_one_reason_are_one_caution() -> None:
    roles = ["mixed", "identity/INT32", "identity/FP32", "identity/BYTES"]
    (caution,) = cautions(without_models(*roles))
    assert caution.words == (
        "No model for mixed, identity/INT32, identity/FP32, identity/BYTES: 4 cases did not run; "
        "status 404"
    )


def test_the_terminal_says_what_relations_have_shown_and_what_they_could_not() -> None:
    report = report_of(passes(), models={"identity/INT32": Model("mine", (), ())})
    verdict = msgspec.structs.replace(report.verdict, shown=("P2",), needs_identity=("D4", "E1"))
    relations = Relations(models=(), rtol=0, atol=0)
    said = terminal(msgspec.structs.replace(report, relations=relations, verdict=verdict))
    assert "shown by relations: P2 needs identity models: D4 E1" in said
    assert "the model mine returns its inputs: it plays the role identity/INT32" in said


def test_each_disputed_requirement_is_named_with_its_readings() -> None:
    cases = [case("O6/a", "disputed", "one reading"), case("J10/a", "disputed", "another")]
    text = terminal(report_of(passes(*cases)))
    assert "disputed O6: one reading" in text
    assert "disputed J10: another" in text


def test_every_doubt_has_a_line_and_a_sound_report_has_none() -> None:
    assert cautions(report_of()) == []
    assert "trust" not in terminal(report_of())
    doubtful = report_of(
        passes(
            case("P2/a", "flaky"),
            case("P3/a", "error"),
            case("W1/a", "unsupported", cause=ProfileNotClaimed("raw")),
            case("D1/a", "not_run", cause=NoKnownGoodAnswer("mixed", "500")),
        ),
        complete=False,
    )
    assert [caution.what for caution in cautions(doubtful)] == [
        "Stopped early",
        "The model for mixed answers no known-good request",
        "Not claimed, so not tested",
        "Flaky: 1 case",
        "Errors in the suite: 1 case",
    ]
    assert [one.what for one in cautions(report_of(left_out=["P2"]))] == ["A part of the suite"]


def test_it_stands_above_all_results() -> None:
    report = report_of(passes(case("P2/a", "flaky"), *failing("P5")))
    lines = summary_lines(report, Path("reports"))
    assert lines[1] == "before you trust this:"
    page = render(report)
    assert page.index('id="verdict"') < page.index('id="must"') < page.index('id="headline"')
    assert page.index('id="headline"') < page.index('id="trust"') < page.index('id="causes"')
    assert page.index('id="causes"') < page.index('id="counts"')
