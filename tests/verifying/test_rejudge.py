"""Causes and reasons of a report that its recorded bytes do not show are noticed, and named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from support.reports import Document, case_of, read_document, reconcluded
from support.runs import BAD, GOOD, cases_that_differ, changed, of_faulty, said
from v2_conformance.judging.survival import MOST_SURPLUS
from v2_conformance.report.document import Report
from v2_conformance.report.files import as_json
from v2_conformance.suite.causes import (
    AnsweredInForm,
    Cause,
    Flooded,
    InvalidCase,
    KilledBy,
    NoKnownGoodAnswer,
    ProfileNotClaimed,
    RoleAbsent,
    SeveralWrong,
    SuiteError,
)
from v2_conformance.suite.findings import TimedOut, WrongStatus
from v2_conformance.suite.wording import describe
from v2_conformance.verifying.beliefs import Belief

# Forged causes.


STATUS = {"kind": "wrong_status", "expected": "200", "got": 500, "body": "no"}


@pytest.mark.parametrize(
    "members",
    [
        {"cause": {"kind": "accepted"}, "message": "accepted"},
        {"cause": {"kind": "rejected", "status": 418}, "message": "rejected with status 418"},
        {"cause": {"kind": "rejected", "status": 418}},
        {"cause": None},
        {"cause": None, "message": ""},
        {"message": "rejected with status 418"},
        {"message": ""},
    ],
    ids=str,
)
def test_a_cause_or_a_message_that_the_bytes_do_not_show_is_named(
    clean: Path, tmp_path: Path, members: Document
) -> None:
    found, text = changed(clean, tmp_path, lambda report: case_of(report, BAD).update(members))
    (other,) = [case for case in found.cases if case.other_cause is not None]
    assert (other.id, other.other_cause) == (BAD, "rejected with status 400")
    assert found.exit_code == 0  # the verdict holds
    assert f"same outcome, but for another cause: {BAD}: rejected with status 400" in text
    assert "EDITED" not in text


@pytest.mark.parametrize(
    "change",
    [
        lambda cause: STATUS,
        lambda cause: None,
        lambda cause: {**cause, "difference": {**cause["difference"], "element": 7}},
        lambda cause: {**cause, "difference": {**cause["difference"], "offset": 1}},
        lambda cause: {**cause, "difference": {**cause["difference"], "body_offset": None}},
        lambda cause: {**cause, "difference": {**cause["difference"], "got": "00"}},
        lambda cause: {**cause, "difference": {**cause["difference"], "got_value": "1"}},
    ],
    ids=["status", "none", "element", "offset", "body_offset", "got", "got_value"],
)
def test_another_first_difference_is_a_difference_of_the_report(
    without_secrets: Path, tmp_path: Path, change: Callable[[Document], Document | None]
) -> None:
    def forge(report: Document) -> None:
        case = case_of(report, GOOD)
        case.update(cause=change(case["cause"]))
        case.update(message=rendered(case))

    assert said(without_secrets)[0].exit_code == 0
    found, text = changed(without_secrets, tmp_path, forge)
    assert found.exit_code == 1
    assert cases_that_differ(found) == [GOOD]
    assert "the first difference in its `cause` is not what the recorded bytes show" in text


def test_another_number_of_differing_elements_is_another_cause(
    without_secrets: Path, tmp_path: Path
) -> None:
    def change(report: Document) -> None:
        case = case_of(report, GOOD)
        case["cause"]["differing"] += 1
        case["message"] = rendered(case)

    found, _ = changed(without_secrets, tmp_path, change)
    (case,) = [case for case in found.cases if case.id == GOOD]
    assert case.problem is None
    assert case.other_cause


def rendered(case: Document) -> str:
    """The message that a case's cause means, after what was sent."""
    sent = str(case["message"]).partition("bytes in all: ")[0]
    return f"{sent}bytes in all: {describe(msgspec.convert(case['cause'], Cause | None))}"


def test_how_many_of_several_answers_were_wrong_cannot_be_shown_but_the_rest_is(
    tmp_path: Path,
) -> None:
    path = of_faulty(tmp_path / "mixed", "concurrent-requests-mixed")
    report = msgspec.json.decode(path.read_bytes(), type=Report)
    several = [case for case in report.cases if isinstance(case.cause, SeveralWrong)]
    assert several
    name = several[0].id

    def recount(report: Document) -> None:
        case = case_of(report, name)
        case["cause"]["wrong"] = 1
        case["message"] = rendered(case)

    def another(report: Document) -> None:
        case = case_of(report, name)
        case["cause"]["first"] = {"kind": "header_length_missing"}
        case["message"] = rendered(case)

    found, _ = changed(path, tmp_path, recount)
    assert (found.exit_code, [case.other_cause for case in found.cases if case.other_cause]) == (
        0, [],
    )  # fmt: skip
    found, _ = changed(path, tmp_path, another)
    assert name in cases_that_differ(found) or any(case.other_cause for case in found.cases)


# Cases that were not sent.


def test_a_case_that_is_said_to_be_killed_needs_a_killer_that_shows_it(
    deadly: Path, clean: Path, tmp_path: Path
) -> None:
    report = read_document(deadly)
    victim = next(case for case in report["cases"] if case["outcome"] == "not_run")
    killer, role = victim["cause"]["case"], victim["cause"]["role"]

    def blames(cause: Cause | None) -> Callable[[Document], None]:
        members = {"cause": cause and json.loads(as_json(cause)), "message": describe(cause)}
        return lambda report: case_of(report, victim["id"]).update(members)

    forged: list[tuple[Cause | None, str]] = [
        (KilledBy("no/such-case", role), "names no case of the report"),
        (KilledBy(GOOD, role), "is not recorded as having killed anything"),
        (RoleAbsent(role, "no such model"), "names no case of the report"),
        (None, "names no case of the report"),
    ]
    for cause, words in forged:
        found, text = changed(deadly, tmp_path, blames(cause))
        assert cases_that_differ(found) == [victim["id"]]
        assert words in text
    found, text = changed(deadly, tmp_path, blames(KilledBy(killer, "mixed")))
    assert f"for another cause: {victim['id']}: needs what {killer} killed ({role})" in text

    def survived(report: Document) -> None:
        alive = case_of(read_document(clean), killer)["exchanges"][-1]
        case_of(report, killer)["exchanges"][-1].update(response=alive["response"])

    found, text = changed(deadly, tmp_path, survived)
    assert victim["id"] in cases_that_differ(found)
    assert f"after {killer}, which it blames, a known-good request was answered well" in text


UNSENT: list[tuple[str, Cause | None, Belief | None]] = [
    ("inconclusive", NoKnownGoodAnswer("identity/INT32", "in time"), Belief.SILENT),
    ("inconclusive", NoKnownGoodAnswer("mixed", "in time"), None),
    ("inconclusive", Flooded(MOST_SURPLUS), Belief.UNASKED),
    ("inconclusive", Flooded(1), None),
    ("inconclusive", TimedOut(1.0, 0, "in time"), None),
    ("inconclusive", None, None),
    ("error", SuiteError("ValueError()", "judge.py:1"), Belief.SUITE),
    ("error", InvalidCase("its fault"), Belief.SUITE),
    ("error", TimedOut(1.0, 0, "in time"), None),
    ("error", None, None),
    ("fail", WrongStatus("200", 500, ""), None),
    ("pass", None, None),
    ("disputed", AnsweredInForm(("binary",)), None),
    ("unsupported", ProfileNotClaimed("binary"), None),
    ("not_run", RoleAbsent("identity/INT32", "no such model"), None),
]


@pytest.mark.parametrize(("outcome", "cause", "belief"), UNSENT)
def test_a_case_without_exchanges_must_say_why_it_was_not_sent(
    clean: Path, tmp_path: Path, outcome: str, cause: Cause | None, belief: Belief | None
) -> None:
    recorded = cause and json.loads(as_json(cause))
    members: Document = {
        "outcome": outcome,
        "cause": recorded,
        "message": describe(cause),
        "exchanges": [],
    }

    def change(report: Document) -> None:
        case_of(report, GOOD).update(members)
        reconcluded(report)

    found, text = changed(clean, tmp_path, change)
    (case,) = [case for case in found.cases if case.id == GOOD]
    if belief is None:
        assert case.problem is not None
        assert found.exit_code == 1
    else:
        assert (case.problem, case.other_cause, case.believed) == (None, None, (belief,))
        assert found.exit_code == 0, text
