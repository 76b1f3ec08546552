"""Known failures: only what fails exactly as expected is excused, and never in the verdict."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from support.reports import KNOWN, TODAY
from support.reports import case as case_of
from support.reports import expectation as entry
from v2_conformance.errors import UsageError
from v2_conformance.report.cause_patterns import CausePattern
from v2_conformance.report.document import CaseResult
from v2_conformance.report.expectations import (
    Expectation,
    Expectations,
    Judgement,
    judge_expectations,
    load_expectations,
)
from v2_conformance.report.verdict.judged import Gate
from v2_conformance.suite.causes.causes import Cause, DidNotSurvive
from v2_conformance.suite.causes.kinds import (
    AcceptedInvalidRequest,
    Flooded,
    KilledBy,
    NotHttp,
    WrongStatus,
)
from v2_conformance.suite.outcomes import Outcome

ACCEPTED = AcceptedInvalidRequest(200, "{}")
DIED = DidNotSurvive(None, WrongStatus("200", 500, ""), ACCEPTED, False)


def case(
    case_id: str, outcome: str = "fail", cause: Cause | None = None, **more: Any
) -> CaseResult:
    usual = {"level": "SHOULD" if case_id[0] == "P" else "MUST", "basis": "text"}
    causes = {} if cause is None else {"cause": cause}
    return case_of(case_id, outcome, **{**usual, **causes, **more})


def judged(
    entries: Sequence[Expectation], cases: Sequence[CaseResult], *, strict: bool = False
) -> Judgement:
    file = Expectations("expect.yaml", tuple(entries))
    return judge_expectations(file, cases, KNOWN, TODAY, Gate(strict=strict))


def problems(entries: Sequence[Expectation], *cases: CaseResult) -> list[str]:
    return [problem.text for problem in judged(entries, cases).problems]


def whole(*failing: str) -> list[CaseResult]:
    """A run of every case, in which these fail."""
    return [case(name, "fail" if name in failing else "pass") for name in KNOWN]


class TestKnownFlakyCases:
    """Entries with `flaky`: from one run to the next, their cases pass and fail."""

    @pytest.mark.parametrize("outcome", ["pass", "fail", "flaky", "inconclusive"])
    def test_neither_a_pass_nor_a_failure_is_a_problem(self, outcome: str) -> None:
        shaky = replace(entry("H6/sign"), flaky=True)
        found = judged([shaky], [case("H6/sign", outcome)])
        assert found.good
        assert found.expected == (() if outcome == "pass" else ("H6/sign",))

    def test_another_cause_than_the_known_one_is_a_problem(self) -> None:
        shaky = replace(entry("H6/sign", cause="accepted_invalid_request"), flaky=True)
        assert problems([shaky], case("H6/sign", cause=ACCEPTED)) == []
        (text,) = problems([shaky], case("H6/sign", cause=WrongStatus("200", 500, "")))
        assert "fails for another reason" in text

    def test_a_pass_is_not_marked_as_an_expected_failure(self) -> None:
        file = Expectations("x", (replace(entry("H6/sign"), flaky=True),))
        assert file.noted(case("H6/sign", "pass"), TODAY).expected is None


class TestExpectedFailures:
    def test_one_that_passes_is_named(self) -> None:
        cases = whole("H6/word[a]")
        assert problems([entry("H6/word[*]")], *cases) == ["H6/word[b]: expected fail, got pass"]

    def test_brackets_of_a_pattern_stand_for_themselves(self) -> None:
        assert judged([entry("H6/word[a]")], whole("H6/word[a]")).good
        assert judged([one := entry("H6/word[ab]")], whole()).retired == (one,)

    def test_another_outcome_is_another_failure(self) -> None:
        late = case("H6/sign", "inconclusive")
        found = problems([entry("H6/sign")], late)
        assert found == ["H6/sign: expected fail, got inconclusive"]
        assert judged([entry("H6/sign", outcome=Outcome.INCONCLUSIVE)], [late]).good

    def test_another_cause_is_another_failure(self) -> None:
        expected = [entry("H6/sign", cause={"kind": "accepted_invalid_request", "status": 200})]
        assert not problems(expected, case("H6/sign", cause=ACCEPTED))
        found = problems(expected, case("H6/sign", cause=DIED))
        assert found == [
            "H6/sign: fails for another reason than accepted_invalid_request (status: 200): "
            "expected an error status, but the server accepted the request with 200: {}; did not "
            "survive: a known-good request got a wrong answer on a fresh connection: expe"
        ]
        found = problems(expected, case("H6/sign", cause=AcceptedInvalidRequest(202, "")))
        assert found[0].endswith("accepted the request with 202: (empty body)")

    def test_the_first_entry_that_matches_a_case_counts(self) -> None:
        expected = [entry("H6/word[a]", cause="flooded"), entry("H6")]
        cases = [case("H6/word[a]", cause=NotHttp("SSH")), case("H6/sign")]
        assert problems(expected, *cases) == [
            "H6/word[a]: fails for another reason than flooded: the response is not HTTP: SSH"
        ]
        found = problems([entry("H6"), entry("H6/sign")], *whole("H6/sign"))
        assert found == ["matches only cases that entries above it already match"]

    def test_an_entry_for_retired_cases_is_a_note(self) -> None:
        gone = (entry("H99"), entry("Z/*", expires=date(2026, 6, 14)))
        found = judged(gone, whole())
        assert found.good
        assert found.retired == gone

    def test_the_last_day_counts_and_the_next_does_not(self) -> None:
        cases = whole("H6/sign")
        assert not problems([entry("H6/sign", expires=TODAY)], *cases)
        late = [entry("H6/sign", expires=date(2026, 6, 14))]
        assert problems(late, *cases) == ["expired on 2026-06-14; 1 of its cases did not pass"]
        assert problems(late, *whole()) == ["expired on 2026-06-14"]
        assert judged(late, cases).expected == ()

    def test_an_error_of_the_suite_is_never_expected(self) -> None:
        assert problems([entry("H6/sign")], case("H6/sign", "error"))
        assert not judged([], [case("H6/sign", "error")]).good


class TestRequirements:
    def test_any_of_its_cases_may_fail_and_one_has_to(self) -> None:
        assert judged([entry("H6")], whole("H6/sign")).good
        found = problems([entry("H6")], *whole())
        assert found == ["no case of this requirement fails any more"]

    def test_its_failures_have_to_be_as_expected_each(self) -> None:
        cases = [case("H6/sign", cause=Flooded(1 << 20)), case("H6/word[a]", cause=NotHttp("SSH"))]
        found = problems([entry("H6", cause="flooded")], *cases)
        assert found == [
            "H6/word[a]: fails for another reason than flooded: the response is not HTTP: SSH"
        ]

    def test_a_selection_without_its_failing_case_tells_nothing(self) -> None:
        found = judged([entry("H6")], [case("H6/sign", "pass")])
        assert found.good
        assert [item.what for item in found.untried] == ["H6"]


class TestWhatWasNotTried:
    def test_cases_that_are_not_claimed(self) -> None:
        assert judged([entry("W1/raw")], [case("W1/raw", "unsupported")]).good
        assert judged([entry("W1")], [case("W1/raw", "unsupported")]).good
        mixed = [case("S1/size[a]", "unsupported"), case("S1/size[b]")]
        assert judged([entry("S1/*")], mixed).expected == ("S1/size[b]",)

    def test_a_case_that_did_not_run_has_not_failed_as_expected(self) -> None:
        gone = case("H6/sign", "not_run", KilledBy("S8/x", None))
        assert problems([entry("H6/sign")], gone) == ["H6/sign: expected fail, got not_run"]
        assert judged([entry("H6/sign", outcome=Outcome.NOT_RUN)], [gone]).good


class TestUnexpectedFailures:
    @pytest.mark.parametrize("outcome", ["fail", "inconclusive", "not_run", "error"])
    def test_a_must_needs_an_entry(self, outcome: str) -> None:
        found = judged([], [case("H6/sign", outcome)])
        assert [c.id for c in found.unexpected] == ["H6/sign"]

    @pytest.mark.parametrize("outcome", ["pass", "disputed", "unsupported"])
    def test_what_is_no_failure_needs_none(self, outcome: str) -> None:
        assert judged([], [case("H6/sign", outcome)]).good

    @pytest.mark.parametrize("more", [{"level": "SHOULD"}, {"basis": "derived"}])
    def test_what_only_a_strict_run_counts_needs_one_there(self, more: dict[str, Any]) -> None:
        cases = [case("H6/sign", **more)]
        lenient = judged([], cases)
        assert lenient.good
        assert not judged([], cases, strict=True).good
        assert judged([entry("H6/sign")], cases).expected == ("H6/sign",)

    @pytest.mark.parametrize("level", ["MAY", "DISPUTED"])
    def test_a_may_never_needs_one(self, level: str) -> None:
        found = judged([], [case("H6/sign", level=level)], strict=True)
        assert found.good
        assert not found.unexpected


class TestFiles:
    def load(self, tmp_path: Path, text: str) -> Expectations:
        path = tmp_path / "expect.yaml"
        path.write_text(text, encoding="utf-8")
        return load_expectations(path)

    def test_every_member(self, tmp_path: Path) -> None:
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
        first, second = self.load(tmp_path, text).entries
        assert first == Expectation(
            line=3,
            requirements=(),
            case="H6/word[*]",
            outcome=Outcome.NOT_RUN,
            cause=CausePattern("killed_by", (("role", "identity/*"), ("case", "S8/*"))),
            reason="It reads with atoi.",
            link="https://example.com/1",
            expires=date(2026, 12, 31),
        )
        assert (second.line, second.requirements, second.outcome) == (11, ("H6",), "fail")

    def test_the_example_of_the_manual(self, tmp_path: Path) -> None:
        manual = (Path(__file__).parents[2] / "docs" / "ci.md").read_text(encoding="utf-8")
        (example,) = re.findall(r"```yaml\n(seed:.*?)```", manual, re.DOTALL)
        entries = self.load(tmp_path, example).entries
        assert entries[0].cause == CausePattern("accepted_invalid_request", (("status", 200),))
        assert len(entries) == 4
        assert [entry.flaky for entry in entries] == [False, False, True, False]


BY_CAUSE = """\
expected:
  - {requirement: [H6, S1], cause: accepted_invalid_request, reason: known}
  - {case: "S1/size[b]", reason: another}
"""


class TestEntriesByCause:
    """Entries of several requirements, which are about one cause."""

    def judged(self, tmp_path: Path, *cases: CaseResult) -> Judgement:
        path = tmp_path / "expect.yaml"
        path.write_text(BY_CAUSE)
        known = {case.id: case.requirement for case in cases}
        return judge_expectations(load_expectations(path), cases, known, TODAY, Gate())

    def test_each_failure_for_the_cause_is_expected(self, tmp_path: Path) -> None:
        found = self.judged(
            tmp_path,
            case_of("H6/word[a]", "fail", cause=ACCEPTED),
            case_of("S1/size[a]", "pass"),
            case_of("S1/size[b]", "fail", cause=WrongStatus("200", 500, "")),
        )
        assert found.good
        assert set(found.expected) == {"H6/word[a]", "S1/size[b]"}

    def test_failure_for_another_cause_is_unexpected(self, tmp_path: Path) -> None:
        found = self.judged(
            tmp_path,
            case_of("H6/word[a]", "fail", cause=WrongStatus("200", 500, "")),
            case_of("S1/size[a]", "fail", cause=ACCEPTED),
            case_of("S1/size[b]", "fail"),
        )
        assert "H6/word[a]" not in found.expected

    def test_entry_whose_cause_is_gone_does_not_hold(self, tmp_path: Path) -> None:
        found = self.judged(
            tmp_path,
            case_of("H6/word[a]", "pass"),
            case_of("S1/size[b]", "fail"),
        )
        (problem,) = found.problems
        assert "no case of these requirements fails for the cause" in problem.text

    def test_several_requirements_need_a_cause(self, tmp_path: Path) -> None:
        path = tmp_path / "expect.yaml"
        path.write_text("expected:\n  - {requirement: [H6, S1], reason: known}\n")
        with pytest.raises(UsageError, match="cause"):
            load_expectations(path)
