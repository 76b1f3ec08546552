"""What `verify` says of reports: untouched ones hold, and what was changed is told apart."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from support.commands import Cli
from support.reports import LENGTH, Document, case_of, flipped, reconcluded
from support.runs import BAD, FEW, GOOD, cases_that_differ, changed, chosen, of_faulty, said
from v2_conformance.report.files import as_json, load_report
from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.kinds import (
    ExtensionLeftOut,
    KilledBy,
    NoKnownGoodAnswer,
    ProfileNotClaimed,
    SuiteError,
    TimedOut,
    WrongStatus,
)
from v2_conformance.suite.outcomes import Outcome

# Reports that nobody touched.


def test_a_report_of_a_good_server_holds(clean: Path, cli: Cli) -> None:
    out = cli("verify", clean, code=0).out
    assert max(map(len, out.splitlines())) <= 80
    printed = " ".join(out.split())
    assert printed.endswith("that they are this server's is the word of whoever published them")
    assert "the verdict holds: INCOMPLETE RUN" in printed  # it is of a selection
    unsent = sum(case.outcome is Outcome.UNSUPPORTED for case in load_report(clean).cases)
    assert unsent
    assert f"{len(FEW)} cases: {len(FEW) - unsent} judged again" in printed
    assert f"{unsent} not sent" in printed
    assert not any(word in printed for word in ("DIFFERS", "EDITED", "another cause", "no digest"))


@pytest.mark.parametrize(
    "faults",
    [
        ["rejection-without-response"],
        ["error-is-plain-text", "content-length-too-large"],
        ["concurrent-requests-mixed", "binary-response-typed-json"],
        ["error-typed-text", "errors-with-status-200"],
        ["rejection-stops-listening"],
    ],
    ids="+".join,
)
@pytest.mark.long
def test_a_report_of_a_broken_server_holds(tmp_path: Path, faults: list[str]) -> None:
    found, text = said(of_faulty(tmp_path, *faults))
    assert Outcome.FAIL in {case.recorded for case in found.cases}
    assert found.exit_code == 0, text
    assert not any(case.other_cause for case in found.cases)


UNSENT: list[tuple[str, Cause | None, str | None]] = [
    ("inconclusive", NoKnownGoodAnswer("identity/INT32", "in time"), None),
    ("error", SuiteError("ValueError()", "judge.py:1"), None),
    ("inconclusive", TimedOut(1.0, 0, "in time"), "no exchange is recorded"),
    ("fail", WrongStatus("200", 500, ""), "no exchange is recorded"),
    ("pass", None, "no exchange is recorded"),
    ("unsupported", ProfileNotClaimed("binary"), "no exchange is recorded"),
    ("not_run", KilledBy("no/such-case", "identity/INT32"), "is not recorded as failed"),
    ("not_run", ExtensionLeftOut(), "does not show that the server leaves the extension out"),
]


@pytest.mark.parametrize(("outcome", "cause", "problem"), UNSENT)
def test_a_case_without_exchanges_must_say_why_it_was_not_sent(
    clean: Path, tmp_path: Path, outcome: str, cause: Cause | None, problem: str | None
) -> None:
    members = {"outcome": outcome, "cause": cause and json.loads(as_json(cause))}

    def change(report: Document) -> None:
        case_of(report, GOOD).update(members, message=describe(cause), exchanges=[])
        reconcluded(report)

    found, text = changed(clean, tmp_path, change)
    (case,) = [case for case in found.cases if case.id == GOOD]
    assert (case.problem is None) is (problem is None), text
    assert (problem or "") in (case.problem or "")
    assert found.exit_code == (0 if problem is None else 1)


def test_a_run_that_was_stopped_is_said_to_be_incomplete(clean: Path, tmp_path: Path) -> None:
    record = (clean.parent / "report.jsonl").read_text().splitlines(keepends=True)
    path = tmp_path / "report.jsonl"
    path.write_text("".join(record[:20]) + record[20][:99])
    found, text = said(path)
    assert found.exit_code == 0, text
    assert "the run is incomplete" in text
    assert "a record has no digest" in text
    assert "holds: INCOMPLETE RUN" in text


# What was changed.


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (flipped(GOOD, "request", b"\r\n\r\n", 12), "the request is not what the suite sends"),
        (flipped(GOOD, "request", b"Host: ", 7), "the request is not what the suite sends"),
        (flipped(GOOD, "request", b"}]}", 9), "the request is not what the suite sends"),
        (flipped(GOOD, "response", b"HTTP/1.1 2", 9), "say fail: "),
        (flipped(GOOD, "response", *LENGTH), "does not end as the record says: complete"),
        (flipped(GOOD, "response", b'"shape"', 3), "the recorded bytes say fail"),
        (flipped(GOOD, "response", b"}]}", 6), "the recorded bytes say fail: "),
        (flipped(BAD, "request", b"\r\n\r\n", 12, 1), "a known-good request is not"),
        (flipped(BAD, "response", b"\r\n\r\n", 4, 1), "did not survive"),
        (flipped(BAD, "response", b"\r\n\r\n", 4, 2), "did not survive"),
    ],
    ids=lambda value: None if callable(value) else value[:20],
)
def test_a_bit_that_is_judged_or_sent_is_noticed_by_itself(
    clean: Path, tmp_path: Path, change: Any, words: str
) -> None:
    found, text = changed(clean, tmp_path, change)
    assert found.exit_code == 1
    (name,) = cases_that_differ(found)
    assert name in (GOOD, BAD)
    assert f"DIFFERS {name}: recorded as pass; " in text
    assert words in text
    assert "digest" not in text
    assert "EDITED" not in changed(clean, tmp_path, lambda report: None)[1]


def test_a_bit_that_only_what_is_observed_judges_is_noticed_there(
    clean: Path, tmp_path: Path
) -> None:
    found, text = changed(clean, tmp_path, flipped(BAD, "response", b'{"error"', 3))
    assert found.exit_code == 1
    assert cases_that_differ(found) == ["R2/observed"]
    assert (
        "DIFFERS R2/observed: recorded as pass; the recorded bytes say fail: wrong in 1 of " in text
    )
    assert f"exchanges, in {BAD}" in text
    assert '; the first: the error body is not {"error": string}' in text


def test_exchanges_of_a_case_that_sends_nothing_are_made_up(clean: Path, tmp_path: Path) -> None:
    def change(report: Document) -> None:
        case_of(report, "R2/observed")["exchanges"] = case_of(report, GOOD)["exchanges"]

    found, text = changed(clean, tmp_path, change)
    assert found.exit_code == 1
    assert "R2/observed: recorded as pass; exchanges are recorded of a case that is not" in text


def test_a_bit_that_nothing_judges_is_noticed_by_the_digest_alone(
    clean: Path, tmp_path: Path
) -> None:
    change = flipped(GOOD, "response", b"HTTP/1.1 200 O", 14)
    found, text = changed(clean, tmp_path, change, seal=False)
    assert found.exit_code == 1
    assert "EDITED the report was edited: its digest is not that of its content" in text
    assert changed(clean, tmp_path, change)[0].exit_code == 0  # no signature: docs/reports.md


def test_a_status_that_changes_no_outcome_shows_in_the_cause(clean: Path, tmp_path: Path) -> None:
    def change(report: Document) -> None:
        exchange = case_of(report, "R1/unknown-model")["exchanges"][0]
        data = base64.b64decode(exchange["response"]).replace(b"HTTP/1.1 40", b"HTTP/1.1 41", 1)
        exchange["response"] = base64.b64encode(data).decode()

    found, text = changed(clean, tmp_path, change)
    assert found.exit_code == 0
    assert "for another cause: R1/unknown-model: rejected with status 41" in text


def test_a_failure_that_is_made_a_pass_is_named_however_well_the_rest_fits(
    faulty: Path, tmp_path: Path
) -> None:
    def change(report: Document) -> None:
        case = case_of(report, GOOD)
        assert case["outcome"] == "fail"
        case.update(outcome="pass", cause=None, message="", exchanges=case["exchanges"][:1])
        reconcluded(report)

    found, text = changed(faulty, tmp_path, change)
    assert found.exit_code == 1
    assert cases_that_differ(found) == [GOOD]
    assert "recorded as pass" in text
    assert "EDITED" in text  # the table follows from what the bytes say


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda report: report["cases"].pop(), "the rows of these requirements do not follow"),
        (lambda report: report["verdict"].update(conformant=True), "the verdict with its reasons"),
        (lambda report: report["verdict"]["reasons"].pop(), "the verdict with its reasons"),
        (lambda report: report["requirements"].pop(), "do not follow from the cases"),
        (lambda report: report["requirements"][0].update(statement="x"), "do not follow"),
        (lambda report: report["planned"].update(P2=0), "the report plans other cases"),
        (lambda report: case_of(report, GOOD).update(level="MAY"), "its level "),
        (lambda report: case_of(report, GOOD).update(why="Because."), "its why in the report"),
        (lambda report: case_of(report, GOOD).update(content="0"), "its content in the report"),
        (lambda report: case_of(report, GOOD).update(exchanges=[]), "no exchange is recorded"),
        (lambda report: case_of(report, BAD)["exchanges"].pop(), "a fresh connection is not rec"),
        (lambda report: report["target"]["models"].pop("mixed"), "DIFFERS"),
    ],
    ids=lambda value: None if callable(value) else value[:30],
)
def test_an_edit_of_the_document_is_noticed_with_its_digest_computed_again(
    clean: Path, tmp_path: Path, change: Any, words: str
) -> None:
    cases = chosen("M3/")[:1]
    path = of_faulty(tmp_path / "mixed", cases=cases) if words == "DIFFERS" else clean
    found, text = changed(path, tmp_path, change)
    assert found.exit_code == 1
    assert words in text
    assert "NOT hold" in text
