"""Known failures: only what fails exactly as expected is excused, and never in the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from v2_conformance.cli.expect import as_yaml, essence, updated
from v2_conformance.errors import ExpectFileError
from v2_conformance.formats.terminal import expectation_lines
from v2_conformance.report.expectations import (
    Expectation,
    Expectations,
    Judgement,
    judge_expectations,
    load_expectations,
)

TODAY = date(2026, 6, 15)
ACCEPTED = (
    "sent to identity/UINT8 [16] binary, 16 blob bytes in all, Inference-Header-Content-Length: "
    "abc: an error status wanted, but the server accepted it with 200: "
)
KNOWN = {
    "H6/word[a]": "H6",
    "H6/word[b]": "H6",
    "H6/sign": "H6",
    "S1/size[a]": "S1",
    "S1/size[b]": "S1",
    "P4/type": "P4",
    "W1/raw": "W1",
}


def case(
    case_id: str, outcome: str = "fail", message: str = "it is wrong", **more: Any
) -> dict[str, Any]:
    return {
        "id": case_id,
        "requirement": case_id.partition("/")[0],
        "level": "SHOULD" if case_id[0] == "P" else "MUST",
        "basis": "text",
        "outcome": outcome,
        "message": message if outcome not in ("pass", "unsupported") else "",
        **more,
    }


def entry(what: str, **more: Any) -> Expectation:
    kind = "case" if "/" in what or "*" in what else "requirement"
    given = {
        "line": 1,
        "requirement": "",
        "case": "",
        "outcome": "fail",
        "message": "",
        "reason": "known",
        "link": "",
        "expires": None,
    }
    return Expectation(**{**given, kind: what, **more})


def judged(
    entries: Sequence[Expectation], cases: Sequence[dict[str, Any]], *, strict: bool = False
) -> Judgement:
    file = Expectations("expect.yaml", tuple(entries))
    return judge_expectations(file, cases, KNOWN, TODAY, strict=strict)


def problems(entries: Sequence[Expectation], *cases: dict[str, Any]) -> list[str]:
    return [problem.text for problem in judged(entries, cases).problems]


def whole(*failing: str) -> list[dict[str, Any]]:
    """A run of every case, in which these fail."""
    return [case(name, "fail" if name in failing else "pass") for name in KNOWN]


class TestExpectedFailures:
    def test_what_fails_as_expected_is_good(self) -> None:
        found = judged([entry("H6/word[*]")], whole("H6/word[a]", "H6/word[b]"))
        assert found.good
        assert found.expected == ("H6/word[a]", "H6/word[b]")

    def test_one_that_passes_is_named(self) -> None:
        cases = whole("H6/word[a]")
        assert problems([entry("H6/word[*]")], *cases) == ["H6/word[b]: expected fail, came pass"]

    def test_brackets_of_a_pattern_stand_for_themselves(self) -> None:
        assert judged([entry("H6/word[a]")], whole("H6/word[a]")).good
        found = problems([entry("H6/word[ab]")], *whole())
        assert found == ["matches no case of the suite"]

    def test_another_outcome_is_another_failure(self) -> None:
        late = case("H6/sign", "inconclusive", "no complete answer")
        found = problems([entry("H6/sign")], late)
        assert found == ["H6/sign: expected fail, came inconclusive"]
        assert judged([entry("H6/sign", outcome="inconclusive")], [late]).good

    def test_another_message_is_another_failure(self) -> None:
        expected = [entry("H6/sign", message="accepted it with 200")]
        assert not problems(expected, case("H6/sign", message=ACCEPTED + "{}"))
        found = problems(expected, case("H6/sign", message="did not survive"))
        assert found == ["H6/sign: fails differently: did not survive"]

    @pytest.mark.parametrize(
        ("expected", "came"),
        [
            ("refused by 127.0.0.1:8000", "refused by 127.0.0.1:35121"),
            ("no answer within 20 s", "no answer within 5 s (5.1 s, 0 bytes came)"),
            ("at 0x7f3a12345678", "object at 0x7f99aabbccdd0"),
            ("id 5fbf0c9a-6a1c-4b8e-9d58-5f0a3a0b1c2d", "id 0fbf0c9a-6a1c-4b8e-9d58-5f0a3a0b1c2e"),
            ("since 2026-01-01T10:00:00Z", "since 2026-02-03 11:12:13.5+01:00"),
            ("element * is *, wanted", "OUT: element 3 of 4 is 00 (0), wanted 01 (1)"),
            ("two\n words", "two   words"),
        ],
    )
    def test_what_changes_from_run_to_run_makes_no_difference(
        self, expected: str, came: str
    ) -> None:
        assert not problems([entry("H6/sign", message=expected)], case("H6/sign", message=came))

    @pytest.mark.parametrize(("expected", "came"), [("status 400", "status 500"), ("a.c", "abc")])
    def test_what_a_server_says_makes_one(self, expected: str, came: str) -> None:
        assert problems([entry("H6/sign", message=expected)], case("H6/sign", message=came))

    def test_the_first_entry_that_means_a_case_counts(self) -> None:
        expected = [entry("H6/word[a]", message="this"), entry("H6")]
        cases = [case("H6/word[a]", message="that"), case("H6/sign")]
        assert problems(expected, *cases) == ["H6/word[a]: fails differently: that"]
        found = problems([entry("H6"), entry("H6/sign")], *whole("H6/sign"))
        assert found == ["means only cases that entries above it have already"]

    def test_an_entry_that_matches_nothing(self) -> None:
        assert problems([entry("H99"), entry("Z/*")], *whole()) == [
            "matches no case of the suite",
            "matches no case of the suite",
        ]

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
        cases = [case("H6/sign", message="this"), case("H6/word[a]", message="that")]
        found = problems([entry("H6", message="this")], *cases)
        assert found == ["H6/word[a]: fails differently: that"]

    def test_a_selection_without_its_failing_case_tells_nothing(self) -> None:
        found = judged([entry("H6")], [case("H6/sign", "pass")])
        assert found.good
        assert [item.what for item in found.untried] == ["H6"]


class TestWhatWasNotTried:
    def test_cases_that_were_not_selected(self) -> None:
        found = judged([entry("H6/*"), entry("S1")], [case("P4/type", "pass")])
        assert found.good
        assert len(found.untried) == 2

    def test_cases_that_are_not_claimed(self) -> None:
        assert judged([entry("W1/raw")], [case("W1/raw", "unsupported")]).good
        assert judged([entry("W1")], [case("W1/raw", "unsupported")]).good
        mixed = [case("S1/size[a]", "unsupported"), case("S1/size[b]")]
        assert judged([entry("S1/*")], mixed).expected == ("S1/size[b]",)

    def test_a_case_that_did_not_run_has_not_failed_as_expected(self) -> None:
        gone = case("H6/sign", "not_run", "needs what S8/x killed")
        assert problems([entry("H6/sign")], gone) == ["H6/sign: expected fail, came not_run"]
        assert judged([entry("H6/sign", outcome="not_run")], [gone]).good


class TestUnexpectedFailures:
    @pytest.mark.parametrize("outcome", ["fail", "inconclusive", "not_run", "error"])
    def test_a_must_needs_an_entry(self, outcome: str) -> None:
        found = judged([], [case("H6/sign", outcome)])
        assert [c["id"] for c in found.unexpected] == ["H6/sign"]

    @pytest.mark.parametrize("outcome", ["pass", "disputed", "unsupported"])
    def test_what_is_no_failure_needs_none(self, outcome: str) -> None:
        assert judged([], [case("H6/sign", outcome)]).good

    @pytest.mark.parametrize("more", [{"level": "SHOULD"}, {"basis": "derived"}])
    def test_what_only_a_strict_run_counts_needs_one_there(self, more: dict[str, str]) -> None:
        cases = [case("H6/sign", **more)]
        lenient = judged([], cases)
        assert lenient.good
        assert len(lenient.tolerated) == 1
        assert not judged([], cases, strict=True).good
        assert judged([entry("H6/sign")], cases).expected == ("H6/sign",)

    @pytest.mark.parametrize("level", ["MAY", "DISPUTED"])
    def test_a_may_never_needs_one(self, level: str) -> None:
        found = judged([], [case("H6/sign", level=level)], strict=True)
        assert found.good
        assert not found.tolerated


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
    message: killed
    reason: >-
      It reads
      with atoi.
    link: https://example.com/1
    expires: 2026-12-31
  - {requirement: H6, reason: known}
"""
        first, second = self.load(tmp_path, text).entries
        assert first == Expectation(
            *(3, "", "H6/word[*]", "not_run", "killed", "It reads with atoi."),
            *("https://example.com/1", date(2026, 12, 31)),
        )
        assert (second.line, second.requirement, second.outcome) == (11, "H6", "fail")

    def test_a_file_without_entries(self, tmp_path: Path) -> None:
        assert self.load(tmp_path, "expected:\n").entries == ()
        assert self.load(tmp_path, '{"expected": []}').entries == ()

    @pytest.mark.parametrize(
        ("lines", "line", "words"),
        [
            ([], 1, "the file"),
            (["expected:", "- case: H6/*"], 2, "'reason' is a required"),
            (["expected:", "- case: H6/*", "  reason: ' '"], 3, "reason"),
            (["expected:", "- case: H6/*", "  reason:"], 3, "reason"),
            (["expected:", "- reason: x", "  link: https://h"], 2, "expected.0"),
            (["expected:", "- {case: H6/*, requirement: H6, reason: x}"], 2, "expected.0"),
            (["expected:", "- requirement: H6*", "  reason: x"], 2, "requirement"),
            (["expected:", "- case: a", "  reason: x", "  outcome: pass"], 4, "outcome"),
            (["expected:", "- case: a", "  reason: x", "  link: javascript:1"], 4, "link"),
            (["expected:", "- case: a", "  reason: x", "  expires: soon"], 4, "expires"),
            (["expected:", "- case: a", "  reason: x", "  expires: 2026-02-30"], 4, "expires"),
            (["expected:", "- case: a", "  resaon: x", "  reason: x"], 2, "resaon"),
            (["expected:", "- case: ]"], 2, "not YAML"),
        ],
    )
    def test_a_wrong_file_is_one_line_with_its_place(
        self, lines: list[str], line: int, words: str, tmp_path: Path
    ) -> None:
        with pytest.raises(ExpectFileError) as error:
            self.load(tmp_path, "\n".join(lines) + "\n")
        message = str(error.value)
        assert f"expect.yaml:{line}: " in message
        assert words in message
        assert "\n" not in message

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(ExpectFileError, match="cannot read"):
            load_expectations(tmp_path / "none.yaml")


class TestWriting:
    def test_what_is_written_holds(self, tmp_path: Path) -> None:
        cases = [
            case("H6/word[a]", message=ACCEPTED + '{"id":1}'),
            case("H6/word[b]", message=ACCEPTED + '{"id":2}'),
            case("H6/sign", "inconclusive", "no answer \x1b[31m \u2028 `x` \U0001f600"),
            case("S1/size[a]", "not_run", "needs what S8/x killed (y)"),
            case("S1/size[b]", "pass"),
            case("P4/type", message="Content-Type wrong: *"),
            case("W1/raw", "unsupported"),
        ]
        update = updated(Expectations("new"), cases, KNOWN)
        assert [e.what for e in update.added] == ["H6/word[*]", "H6/sign", "S1/size[a]", "P4/type"]
        path = tmp_path / "expect.yaml"
        path.write_text(as_yaml(update.added), encoding="utf-8")
        found = judge_expectations(load_expectations(path), cases, KNOWN, TODAY, strict=True)
        assert found.good
        assert len(found.expected) == 5
        assert path.read_text().isascii()
        assert all(e.reason.startswith("TODO: ") for e in update.added)
        assert update.added[0].reason.startswith("TODO: an error status wanted, but the server acc")

    def test_a_pattern_never_means_more_than_what_failed(self) -> None:
        for other in ([], [case("H6/word[b]", "pass")], [case("H6/word[b]", "not_run")]):
            update = updated(Expectations("new"), [case("H6/word[a]"), *other], KNOWN)
            assert "H6/word[*]" not in [e.what for e in update.added]

    def test_entries_that_hold_stay_as_they_are(self) -> None:
        old = Expectations(
            "old",
            (
                entry("H6", reason="by hand"),
                entry("S1/size[*]", reason="half fixed", link="https://h/1"),
                entry("P4/type", reason="other", message="was like this"),
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
        assert other.reason == "TODO: it is wrong (before, for another failure: other)"

    def test_an_expired_entry_that_still_fails_is_kept(self) -> None:
        old = Expectations("old", (entry("H6/sign", expires=date(2020, 1, 1)),))
        assert updated(old, whole("H6/sign"), KNOWN).kept == old.entries

    @pytest.mark.parametrize(
        ("message", "wanted"),
        [
            (ACCEPTED + "{}", "an error status wanted, but the server accepted it with 200"),
            ("sent GET /v2: status 200 wanted, 404 came: <p>", "status 200 wanted, 404 came"),
            ("x; did not survive: on a fresh connection: …", "did not survive"),
            ("needs what S8/x[1] killed (m)", "needs what * killed"),
            (
                "sent to m [3] binary, 12 blob bytes in all: OUT: element 3 of 4 is 00, wanted 01",
                ": element * is *, wanted ",
            ),
            ("sent GET /v2: no `extensions`", "no `extensions`"),
        ],
    )
    def test_the_message_is_what_stays_the_same(self, message: str, wanted: str) -> None:
        assert essence(message) == wanted


def test_hostile_messages_stay_one_plain_line() -> None:
    expected = [entry("H6/sign", message="no")]
    found = judged(expected, [case("H6/sign", message="a\nb\x1b[2J\u202e")])
    lines = expectation_lines("expect.yaml", found, conformant=False)
    assert lines[1] == r"expect.yaml:1: H6/sign: fails differently: a b\x1b[2J\u202e"
