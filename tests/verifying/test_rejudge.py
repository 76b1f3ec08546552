"""Causes of a report that its recorded bytes do not show are noticed, and named."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from support.reports import Document, case_of
from support.runs import BAD, GOOD, cases_that_differ, changed, of_faulty
from v2_conformance.report.files import load_report
from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.causes import Cause, SeveralWrong


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


def test_another_number_of_differing_elements_is_another_cause(
    without_secrets: Path, tmp_path: Path
) -> None:
    def change(report: Document) -> None:
        case = case_of(report, GOOD)
        give_cause(case, {**case["cause"], "differing": case["cause"]["differing"] + 1})

    found, _ = changed(without_secrets, tmp_path, change)
    (case,) = [case for case in found.cases if case.id == GOOD]
    assert case.problem is None
    assert case.other_cause


def give_cause(case: Document, cause: Document | None) -> None:
    """Give `case` another cause, and a message that says it, with the same odd and sent parts."""
    words = [describe(msgspec.convert(one, Cause | None)) for one in (case["cause"], cause)]
    assert words[0] in case["message"]
    case.update(cause=cause, message=case["message"].replace(*words) if words[1] else "")


def test_how_many_of_several_answers_were_wrong_cannot_be_shown_but_the_rest_is(
    tmp_path: Path,
) -> None:
    path = of_faulty(tmp_path / "mixed", "concurrent-requests-mixed")
    report = load_report(path)
    several = [case for case in report.cases if isinstance(case.cause, SeveralWrong)]
    assert several
    name = several[0].id

    def recount(report: Document) -> None:
        case = case_of(report, name)
        give_cause(case, {**case["cause"], "wrong": 1})

    def another(report: Document) -> None:
        case = case_of(report, name)
        give_cause(case, {**case["cause"], "first": {"kind": "header_length_missing"}})

    found, _ = changed(path, tmp_path, recount)
    assert (found.exit_code, [case.other_cause for case in found.cases if case.other_cause]) == (
        0, [],
    )  # fmt: skip
    found, _ = changed(path, tmp_path, another)
    assert name in cases_that_differ(found) or any(case.other_cause for case in found.cases)
