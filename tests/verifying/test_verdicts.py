"""A case of which no exchange is recorded says why, and the rest of the report must agree."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.reports import Document, case_of, read_document, reconcluded
from support.runs import GOOD, cases_that_differ, changed
from v2_conformance.judging.survival import MOST_SURPLUS
from v2_conformance.report.files import as_json
from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.circumstances import (
    Flooded,
    InvalidCase,
    KilledBy,
    NoKnownGoodAnswer,
    ProfileNotClaimed,
    RoleAbsent,
    SuiteError,
)
from v2_conformance.suite.causes.findings import WrongStatus
from v2_conformance.suite.causes.passes import AnsweredInForm
from v2_conformance.suite.causes.transport_findings import TimedOut
from v2_conformance.verifying.recorded.beliefs import Belief


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
    assert f"for another cause: {victim['id']}: not sent: {killer} killed {role}, which" in text

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
