"""Known failures: only what fails exactly as expected is excused, and what `expect --write` writes
holds and means no more than what failed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from support.reports import KNOWN, TODAY
from support.reports import case as case_of
from support.reports import expectation as entry
from support.snapshots import Texts
from v2_conformance.errors import UsageError
from v2_conformance.report.cause_patterns import CausePattern
from v2_conformance.report.document import CaseResult
from v2_conformance.report.expectation_updates import as_yaml, updated
from v2_conformance.report.expectations import (
    Expectation,
    Expectations,
    Judgment,
    judge_expectations,
    load_expectations,
)
from v2_conformance.report.verdict.judged import Gate
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.causes import Cause, DidNotSurvive
from v2_conformance.suite.outcomes import Outcome

ACCEPTED = kinds.AcceptedInvalidRequest(200, "{}")
SSH = kinds.NotHttp("SSH")
DIED = DidNotSurvive(None, kinds.WrongStatus("200", 500, ""), ACCEPTED, False)
YESTERDAY = date(2026, 6, 14)
BY_CAUSE = [
    entry("H6, S1", cause="accepted_invalid_request"),
    entry("S1/size[b]", reason="another"),
]


def case(
    case_id: str, outcome: str = "fail", cause: Cause | None = None, **more: Any
) -> CaseResult:
    usual = {"level": "SHOULD" if case_id[0] == "P" else "MUST", "basis": "text"}
    causes = {} if cause is None else {"cause": cause}
    return case_of(case_id, outcome, **{**usual, **causes, **more})


def judged(
    entries: Sequence[Expectation], cases: Sequence[CaseResult], *, strict: bool = False
) -> Judgment:
    file = Expectations("expect.yaml", tuple(entries))
    return judge_expectations(file, cases, KNOWN, TODAY, Gate(strict=strict))


def whole(*failing: str) -> list[CaseResult]:
    """A run of every case, in which these fail."""
    return [case(name, "fail" if name in failing else "pass") for name in KNOWN]


SIGN = entry("H6/sign")
FAILED, LATE, ERROR = (case("H6/sign", one) for one in ("fail", "inconclusive", "error"))
ALSO_LATE = entry("H6/sign", outcome=Outcome.INCONCLUSIVE)
EXPIRED, LAST_DAY = (entry("H6/sign", expires=day) for day in (YESTERDAY, TODAY))
ONE_CLAIMED = [case("S1/size[a]", "unsupported"), case("S1/size[b]")]
OF_ONE_CAUSE = [case("H6/word[a]", cause=ACCEPTED), case("S1/size[a]", "pass"), case("S1/size[b]")]
FLOODED = entry("H6/word[a]", cause="flooded")
OTHERWISE = "H6/word[a]: fails for another reason than flooded: the response is not HTTP: SSH"
GONE = "no case of these requirements fails for the cause accepted_invalid_request any more"
# What is expected, what happened, and the failures that are as expected, or what does not hold.
ROWS: list[tuple[list[Expectation], list[CaseResult], set[str] | str]] = [
    ([ALSO_LATE], [LATE], {"H6/sign"}),
    ([SIGN], [LATE], "H6/sign: expected fail, got inconclusive"),
    ([SIGN], [ERROR], "H6/sign: expected fail, got error"),
    ([entry("H6/word[*]")], whole("H6/word[a]"), "H6/word[b]: expected fail, got pass"),
    ([LAST_DAY], whole("H6/sign"), {"H6/sign"}),
    ([EXPIRED], whole("H6/sign"), "expired on 2026-06-14; 1 of its cases did not pass"),
    ([entry("H6")], whole("H6/sign"), {"H6/sign"}),
    ([entry("H6")], [case("H6/sign", "pass")], set()),  # the case that fails was not chosen
    ([entry("H6")], whole(), "no case of this requirement fails any more"),
    (
        [entry("H6"), SIGN],
        whole("H6/sign"),
        "matches only cases that entries above it already match",
    ),
    ([FLOODED, entry("H6")], [case("H6/word[a]", cause=SSH), FAILED], OTHERWISE),
    ([entry("S1/*")], ONE_CLAIMED, {"S1/size[b]"}),
    (BY_CAUSE, OF_ONE_CAUSE, {"H6/word[a]", "S1/size[b]"}),
    (BY_CAUSE, whole("S1/size[b]"), GONE),
]


@pytest.mark.parametrize(("entries", "cases", "found"), ROWS)
def test_what_fails_as_expected_is_good_and_what_does_not_is_named(
    entries: list[Expectation], cases: list[CaseResult], found: set[str] | str
) -> None:
    now = judged(entries, cases)
    assert now.good is not isinstance(found, str)
    assert [text for _, text in now.problems] == ([found] if isinstance(found, str) else [])
    assert isinstance(found, str) or set(now.expected) == found


@pytest.mark.parametrize("outcome", ["pass", "fail", "flaky", "inconclusive"])
def test_what_is_known_to_be_flaky_may_pass_or_fail(outcome: str) -> None:
    shaky = entry("H6/sign", flaky=True)
    found = judged([shaky], [case("H6/sign", outcome)])
    assert found.good
    assert found.expected == (() if outcome == "pass" else ("H6/sign",))
    passed = Expectations("x", (shaky,)).noted(case("H6/sign", "pass"), TODAY)
    assert passed.expected is None
    known = entry("H6/sign", cause="accepted_invalid_request", flaky=True)
    assert judged([known], [case("H6/sign", cause=ACCEPTED)]).good
    assert not judged([known], [case("H6/sign", cause=SSH)]).good


def test_entries_for_retired_cases_and_those_not_tried_are_notes() -> None:
    gone = (entry("H99"), entry("Z/*", expires=YESTERDAY), entry("H6/word[ab]"))
    found = judged(gone, whole())
    assert found.good
    assert found.retired == gone
    assert [one.what for one in judged([entry("H6")], [case("H6/sign", "pass")]).untried] == ["H6"]


@pytest.mark.parametrize(
    ("found", "lenient", "strict"),
    [
        *(
            (case("H6/sign", one), False, False)
            for one in ("fail", "inconclusive", "not_run", "error")
        ),
        *((case("H6/sign", one), True, True) for one in ("pass", "disputed", "unsupported")),
        *((case("H6/sign", level=one), True, True) for one in ("MAY", "DISPUTED")),
        (case("H6/sign", level="SHOULD"), True, False),
        (case("H6/sign", basis="derived"), True, False),
    ],
)
def test_what_counts_needs_an_entry(found: CaseResult, lenient: bool, strict: bool) -> None:
    assert judged([], [found]).good is lenient
    assert judged([], [found], strict=True).good is strict
    assert bool(judged([], [found], strict=True).unexpected) is not strict
    if lenient and not strict:
        assert judged([SIGN], [found]).expected == ("H6/sign",)


def load(tmp_path: Path, text: str) -> Expectations:
    path = tmp_path / "expect.yaml"
    path.write_text(text, encoding="utf-8")
    return load_expectations(path)


def test_every_member_of_a_file_is_read(tmp_path: Path) -> None:
    text = """\
# words
expected:
  - case: "H6/word[*]"
    outcome: not_run
    cause: {kind: killed_by, role: identity/*, case: S8/*}
    reason: >-
      It reads
      with atoi.
    link: https://example.com/1
    expires: 2026-12-31
  - {requirement: H6, reason: known}
"""
    first, second = load(tmp_path, text).entries
    assert first == Expectation(
        *(3, (), "H6/word[*]", Outcome.NOT_RUN),
        CausePattern("killed_by", (("role", "identity/*"), ("case", "S8/*"))),
        *("It reads with atoi.", "https://example.com/1", date(2026, 12, 31)),
    )
    assert (second.line, second.requirements, second.outcome) == (11, ("H6",), "fail")
    with pytest.raises(UsageError, match="cause"):
        load(tmp_path, "expected:\n  - {requirement: [H6, S1], reason: known}\n")


def test_the_example_of_the_manual(tmp_path: Path) -> None:
    manual = (Path(__file__).parents[2] / "docs" / "ci.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(seed:.*?)```", manual, re.DOTALL)
    entries = load(tmp_path, example).entries
    assert entries[0].cause == CausePattern("accepted_invalid_request", (("status", 200),))
    assert [entry.flaky for entry in entries] == [False, False, True, False]


def test_what_is_written_holds(tmp_path: Path, texts: Texts) -> None:
    status, late = kinds.WrongStatus("200", 500, "3f2a"), "no \x1b[31m \u2028 `x` \U0001f600"
    cases = [
        case("H6/word[a]", cause=kinds.AcceptedInvalidRequest(200, '{"id":1}')),
        case("H6/word[b]", cause=kinds.AcceptedInvalidRequest(200, '{"id":2}')),
        case("H6/sign", "inconclusive", kinds.TimedOut(1.0, 0, late)),
        case("S1/size[a]", "not_run", kinds.KilledBy("S8/x", None)),
        case("S1/size[b]", "pass"),
        case("P4/type", cause=DidNotSurvive(None, status, None, True)),
        case("W1/raw", cause=kinds.WrongShape("OUT", (3,), (1, 3))),
    ]
    written = as_yaml(updated(Expectations("new"), cases, KNOWN).added)
    texts("expect_write", {"expect --write": written})
    found = judged(load(tmp_path, written).entries, cases, strict=True)
    assert (found.good, len(found.expected)) == (True, 6)
    assert written.isascii()


LEFTOVER = kinds.LeftoverBytes(10, 8, 19)
ONE_CAUSE = ("P5/length", "P8/else", "O1/blob[a]@m", "O1/blob[b]@m", "D3/bits", "E4/empty")


@pytest.mark.parametrize(
    ("cases", "entries"),
    [
        ([case("H6/word[a]")], ["H6/word[a]"]),
        ([case("H6/word[a]"), case("H6/word[b]", "pass")], ["H6/word[a]"]),
        ([case("H6/word[a]"), case("H6/word[b]", "not_run")], ["H6/word[a]", "H6/word[b]"]),
        ([case("H6/word[a]", cause=SSH), case("H6/word[b]")], ["H6/word[a]", "H6/word[b]"]),
        ([case(name, cause=LEFTOVER) for name in ONE_CAUSE], ["P5, P8, O1, D3, E4"]),
    ],
)
def test_an_entry_never_means_more_than_what_failed(
    cases: list[CaseResult], entries: list[str], tmp_path: Path
) -> None:
    known = {one.id: one.requirement for one in cases} | KNOWN
    update = updated(Expectations("new"), cases, known)
    assert [e.what for e in update.added] == entries
    again = load(tmp_path, as_yaml(update.added))
    assert updated(again, cases, known).added == ()


def test_entries_that_hold_stay_as_they_are() -> None:
    old = Expectations(
        "old",
        (
            entry("H6", reason="by hand", expires=date(2020, 1, 1)),
            entry("S1/size[*]", reason="half fixed", link="https://h/1"),
            entry("P4/type", reason="other", cause="not_http"),
            entry("W1/raw", reason="not claimed today"),
            entry("Z9/gone", reason="renamed"),
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
