"""What the terminal says of an expectation file that does not hold."""

from __future__ import annotations

from datetime import date

from support.reports import case, expectation
from v2_conformance.formats.text.terminal import expectation_lines
from v2_conformance.report.expectations import Expectations, judge_expectations
from v2_conformance.report.verdict.judged import Gate
from v2_conformance.suite.causes.kinds import NotHttp


def test_hostile_causes_stay_one_plain_line() -> None:
    entry = expectation("H6/sign", cause={"kind": "not_http", "detail": "no\x1b*"})
    failed = case("H6/sign", "fail", cause=NotHttp("a\nb\x1b[2J\u202e"))
    file = Expectations("expect.yaml", (entry,))
    found = judge_expectations(file, [failed], {"H6/sign": "H6"}, date(2026, 6, 15), Gate())
    lines = expectation_lines("expect.yaml", found, words="not conformant")
    assert lines[1] == (
        r"expect.yaml:1: H6/sign: fails for another reason than not_http (detail: no\x1b*): "
        r"the response is not HTTP: a\nb\x1b[2J\u202e"
    )


def test_failures_have_one_total_whatever_counts() -> None:
    entry = expectation("H6/sign")
    cases = [case("H6/sign", "fail"), case("O16/may", "fail", level="MAY")]
    file = Expectations("expect.yaml", (entry,))
    ids = {each.id: each.requirement for each in cases}
    found = judge_expectations(file, cases, ids, date(2026, 6, 15), Gate())
    said = expectation_lines("expect.yaml", found, words="not conformant")[-1]
    assert said == "not conformant; failures: 1 expected, 0 unexpected"
