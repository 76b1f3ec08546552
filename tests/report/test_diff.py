"""diff: what broke is never missed, what the suite changed is never blamed on the server."""

from __future__ import annotations

from typing import Any

import pytest

from support.reports import case as case_of
from support.reports import report_of
from v2_conformance.report.diff import diff_reports
from v2_conformance.report.document import CaseResult, OverallVerdict, Report
from v2_conformance.suite.causes.kinds import AcceptedInvalidRequest, ConnectionRefused
from v2_conformance.suite.requirements import Level

_VERDICTS = (
    OverallVerdict(False, False, ("because",), ()),
    OverallVerdict(True, False, ("because",), ()),
    OverallVerdict(True, True, (), ()),
)


def case(case_id: str, outcome: str = "pass", **more: Any) -> CaseResult:
    return case_of(case_id, outcome, **{"level": "MUST", **more})


def report(*cases: CaseResult, verdict: int = 0, **more: Any) -> Report:
    """A report; `verdict` is 0 for not conformant, 1 for conformant, 2 for robust."""
    return report_of(cases, verdict=_VERDICTS[verdict], suite_catalogue="aaaa", **more)


def kinds(old: list[CaseResult], new: list[CaseResult]) -> dict[str, str]:
    return {change.id: change.kind for change in diff_reports(report(*old), report(*new)).cases}


def broken(old: Report, new: Report, *, strict: bool = False) -> bool:
    return diff_reports(old, new).broken(strict=strict)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("pass", "fail", "broken"),
        ("pass", "inconclusive", "broken"),
        ("pass", "not_run", "broken"),
        ("pass", "error", "broken"),
        ("disputed", "fail", "broken"),
        ("unsupported", "fail", "broken"),
        ("fail", "pass", "fixed"),
        ("not_run", "pass", "fixed"),
        ("fail", "disputed", "fixed"),
        ("fail", "unsupported", "changed"),
        ("not_run", "fail", "changed"),
        ("fail", "inconclusive", "changed"),
        ("pass", "unsupported", "changed"),
        ("pass", "disputed", "changed"),
    ],
)
def test_two_outcomes(before: str, after: str, kind: str) -> None:
    assert kinds([case("H6/a", before)], [case("H6/a", after)]) == {"H6/a": kind}


def test_a_failure_that_is_another_one_now() -> None:
    was = case("H6/a", "fail", cause=ConnectionRefused("refused by 127.0.0.1:8080"))
    same = case("H6/a", "fail", cause=ConnectionRefused("refused by 127.0.0.1:40022"))
    other = case("H6/a", "fail", cause=AcceptedInvalidRequest(200, ""))
    assert kinds([was], [same]) == {}
    assert kinds([was], [other]) == {"H6/a": "changed"}


@pytest.mark.parametrize(
    ("level", "lenient", "strict"),
    [("MUST", True, True), ("SHOULD", False, True), ("MAY", False, False)],
)
def test_what_broke_or_fails_anew_counts_by_its_level(
    level: Level, lenient: bool, strict: bool
) -> None:
    for old in ([case("H6/a")], []):
        before, after = report(*old), report(case("H6/a", "fail", level=level))
        assert broken(before, after) == lenient
        assert broken(before, after, strict=True) == strict


def test_what_is_better_or_as_bad_is_not_broken() -> None:
    before = report(case("H6/a", "fail"), case("H6/b", "not_run"), case("H6/c"), verdict=1)
    after = report(case("H6/a"), case("H6/b", "fail"), case("H6/d"), verdict=2)
    assert not broken(before, after, strict=True)


@pytest.mark.parametrize(("before", "after"), [(2, 1), (2, 0), (1, 0)])
def test_a_worse_verdict_is_broken(before: int, after: int) -> None:
    assert broken(report(verdict=before), report(verdict=after))
    assert not broken(report(verdict=after), report(verdict=before))
