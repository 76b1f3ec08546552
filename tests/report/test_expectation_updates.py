"""expect --write: what it writes holds, and means no more than what failed."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import yaml

from support.reports import KNOWN, TODAY, case, expectation
from v2_conformance.report.document import CaseResult
from v2_conformance.report.expectation_updates import as_yaml, updated
from v2_conformance.report.expectations import Expectations, judge_expectations, load_expectations
from v2_conformance.report.verdict.judged import Gate
from v2_conformance.suite.causes.causes import DidNotSurvive
from v2_conformance.suite.causes.kinds import (
    AcceptedInvalidRequest,
    KilledBy,
    LeftoverBytes,
    TimedOut,
    WrongContentType,
    WrongShape,
    WrongStatus,
)


def whole(*failing: str) -> list[CaseResult]:
    """A run of every case, in which these fail."""
    return [case(name, "fail" if name in failing else "pass") for name in KNOWN]


def test_what_is_written_holds(tmp_path: Path) -> None:
    cases = [
        case("H6/word[a]", "fail", cause=AcceptedInvalidRequest(200, '{"id":1}')),
        case("H6/word[b]", "fail", cause=AcceptedInvalidRequest(200, '{"id":2}')),
        case(
            "H6/sign", "inconclusive", cause=TimedOut(1.0, 0, "no \x1b[31m \u2028 `x` \U0001f600")
        ),
        case("S1/size[a]", "not_run", cause=KilledBy("S8/x", None)),
        case("S1/size[b]", "pass"),
        case("P4/type", "fail", cause=WrongContentType("application/json", "*")),
        case("W1/raw", "unsupported"),
    ]
    update = updated(Expectations("new"), cases, KNOWN)
    assert [e.what for e in update.added] == ["H6/word[*]", "H6/sign", "S1/size[a]", "P4/type"]
    path = tmp_path / "expect.yaml"
    path.write_text(as_yaml(update.added), encoding="utf-8")
    found = judge_expectations(load_expectations(path), cases, KNOWN, TODAY, Gate(strict=True))
    assert found.good
    assert len(found.expected) == 5
    assert path.read_text().isascii()
    assert all(e.reason.startswith("TODO: ") for e in update.added)
    assert update.added[0].reason.startswith("TODO: expected an error status, but")


def test_a_pattern_never_means_more_than_what_failed() -> None:
    for other in ([], [case("H6/word[b]", "pass")], [case("H6/word[b]", "not_run")]):
        update = updated(Expectations("new"), [case("H6/word[a]"), *other], KNOWN)
        assert "H6/word[*]" not in [e.what for e in update.added]


def test_entries_that_hold_stay_as_they_are() -> None:
    old = Expectations(
        "old",
        (
            expectation("H6", reason="by hand"),
            expectation("S1/size[*]", reason="half fixed", link="https://h/1"),
            expectation("P4/type", reason="other", cause="not_http"),
            expectation("W1/raw", reason="not claimed today"),
            expectation("Z9/gone", reason="renamed"),
        ),
    )
    cases = whole("H6/sign", "S1/size[a]", "P4/type")
    cases[-1] = case("W1/raw", "unsupported")
    update = updated(old, cases, KNOWN)
    assert update.kept == (old.entries[0], old.entries[3])
    assert [e.what for e, _ in update.dropped] == ["S1/size[*]", "P4/type", "Z9/gone"]
    half, other = update.added
    assert (half.case, half.reason, half.link) == ("S1/size[a]", "half fixed", "https://h/1")
    assert other.reason == (
        "TODO: expected status 200, got 500: no (before, for another failure: other)"
    )


def test_an_expired_entry_that_still_fails_is_kept() -> None:
    old = Expectations("old", (expectation("H6/sign", expires=date(2020, 1, 1)),))
    assert updated(old, whole("H6/sign"), KNOWN).kept == old.entries


def test_cases_that_fail_in_different_ways_have_an_entry_each() -> None:
    causes = (WrongStatus("200", 500, ""), WrongStatus("200", 503, ""))
    cases = [case(f"H6/word[{x}]", "fail", cause=c) for x, c in zip("ab", causes, strict=True)]
    update = updated(Expectations("new"), cases, KNOWN)
    assert [e.what for e in update.added] == ["H6/word[a]", "H6/word[b]"]


def test_a_cause_is_written_as_its_kind_and_what_stays_the_same_of_it() -> None:
    died = DidNotSurvive(None, WrongStatus("200", 500, "3f2a"), None, True)
    cases = [
        case("H6/sign", "fail", cause=died),
        case("S1/size[a]", "fail", cause=WrongStatus("200", 500, "3f2a")),
        case("S1/size[b]", "fail", cause=WrongShape("OUT", (3,), (1, 3))),
    ]
    document = yaml.safe_load(as_yaml(updated(Expectations("new"), cases, KNOWN).added))
    assert [entry["cause"] for entry in document["expected"]] == [
        "did_not_survive",
        {"kind": "wrong_status", "got": 500},
        {"kind": "wrong_shape", "got": [1, 3]},
    ]


def test_one_cause_of_many_failures_is_one_entry(tmp_path: Path) -> None:
    names = ["P5/length", "P8/nothing-else", "O1/blob[a]@m", "O1/blob[b]@m", "D3/bits", "E4/empty"]
    cases = [case(name, "fail", cause=LeftoverBytes(10, 8, 19)) for name in names]
    cases += [case("P4/type", "fail", cause=WrongContentType("application/json", "*"))]
    known = {one.id: one.requirement for one in cases}
    update = updated(Expectations("new"), cases, known)
    assert [e.what for e in update.added] == ["P5, P8, O1, D3, E4", "P4/type"]
    path = tmp_path / "expect.yaml"
    path.write_text(as_yaml(update.added))
    again = load_expectations(path)
    assert judge_expectations(again, cases, known, TODAY, Gate()).good
    assert updated(again, cases, known).added == ()
