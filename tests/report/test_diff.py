"""diff: what broke is never missed, what the suite changed is never blamed on the server."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from v2_conformance.cli.main import main
from v2_conformance.formats.diff_text import as_markdown, as_text
from v2_conformance.report.diff import Difference, compare
from v2_conformance.resources import schema

HOSTILE = (
    "a|b`c`\n# d <img src=x onerror=alert(1)> @octocat https://e.example [f](http://g) \x1b[31m"
)


def case(case_id: str, outcome: str = "pass", **more: Any) -> dict[str, Any]:
    return {
        "id": case_id,
        "requirement": case_id.partition("/")[0],
        "level": "SHOULD" if case_id[0] == "P" else "MUST",
        "basis": "text",
        "content": "0123456789abcdef",
        "outcome": outcome,
        "message": "" if outcome in ("pass", "unsupported") else "it is wrong",
        "duration_ms": 1,
        "exchanges": [],
        **more,
    }


def report(*cases: Mapping[str, Any], verdict: int = 0, **more: Any) -> dict[str, Any]:
    """A report; `verdict` is 0 for not conformant, 1 for conformant, 2 for robust."""
    return {
        "suite": {"name": "v2-conformance", "version": "1.0.0", "catalogue": "aaaa"},
        "target": {
            "url": "http://h:1",
            "server": {"name": "some", "version": "1.0", "extensions": []},
            "profiles": ["binary"],
        },
        "started": "2026-01-01T00:00:00+00:00",
        "duration_s": 1,
        "complete": True,
        "verdict": {"conformant": verdict > 0, "robust": verdict > 1, "reasons": []},
        "requirements": [],
        "cases": list(cases),
        **more,
    }


def kinds(old: list[Any], new: list[Any]) -> dict[str, str]:
    return {change.id: change.kind for change in compare(report(*old), report(*new)).cases}


def broken(old: dict[str, Any], new: dict[str, Any], *, strict: bool = False) -> bool:
    return compare(old, new).broken(strict=strict)


def text(difference: Difference) -> str:
    return "\n".join(as_text(difference))


def test_the_reports_of_these_tests_are_reports() -> None:
    schema("report").validate(report(case("H6/a"), verdict=2))


class TestCases:
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
    def test_two_outcomes(self, before: str, after: str, kind: str) -> None:
        assert kinds([case("H6/a", before)], [case("H6/a", after)]) == {"H6/a": kind}

    def test_what_is_as_it_was_is_only_counted(self) -> None:
        cases = [case("H6/a"), case("H6/b", "fail")]
        difference = compare(report(*cases), report(*reversed(cases)))
        assert difference.cases == ()
        assert difference.same == 2

    def test_new_and_gone(self) -> None:
        assert kinds([case("H6/a")], [case("H6/b")]) == {"H6/b": "new", "H6/a": "gone"}

    def test_a_failure_that_is_another_one_now(self) -> None:
        was = case("H6/a", "fail", message="refused by 127.0.0.1:80801 after 1.5 s")
        same = case("H6/a", "fail", message="refused by 127.0.0.1:40022 after 1.7 s")
        other = case("H6/a", "fail", message="accepted")
        assert kinds([was], [same]) == {}
        assert kinds([was], [other]) == {"H6/a": "changed"}


class TestExitCode:
    @pytest.mark.parametrize(
        ("level", "lenient", "strict"),
        [("MUST", True, True), ("SHOULD", False, True), ("MAY", False, False)],
    )
    def test_levels(self, level: str, lenient: bool, strict: bool) -> None:
        for old in ([case("H6/a")], []):  # one that broke, and a new one that fails
            before, after = report(*old), report(case("H6/a", "fail", level=level))
            assert broken(before, after) == lenient
            assert broken(before, after, strict=True) == strict

    def test_what_is_better_or_as_bad_is_not_broken(self) -> None:
        before = report(case("H6/a", "fail"), case("H6/b", "not_run"), case("H6/c"), verdict=1)
        after = report(case("H6/a"), case("H6/b", "fail"), case("H6/d"), verdict=2)
        assert not broken(before, after, strict=True)

    @pytest.mark.parametrize(("before", "after"), [(2, 1), (2, 0), (1, 0)])
    def test_a_worse_verdict_is_broken(self, before: int, after: int) -> None:
        assert broken(report(verdict=before), report(verdict=after))
        assert not broken(report(verdict=after), report(verdict=before))

    @pytest.mark.parametrize(
        ("new", "options", "code"),
        [
            (report(case("H6/a")), [], 0),
            (report(case("H6/a", "fail")), [], 1),
            (report(case("H6/a", "fail")), ["--exit-zero"], 0),
            (report(case("H6/a", "fail")), ["--markdown"], 1),
            (report(case("H6/a"), case("P4/a", "fail")), [], 0),
            (report(case("H6/a"), case("P4/a", "fail")), ["--strict"], 1),
            (report(case("H6/a"), complete=False), [], 3),
            (report(complete=False), [], 3),
            (report(case("H6/a", "fail"), complete=False), [], 1),
        ],
    )
    def test_the_command(
        self, new: dict[str, Any], options: list[str], code: int, tmp_path: Path
    ) -> None:
        (tmp_path / "old.json").write_text(json.dumps(report(case("H6/a"), case("P4/a"))))
        (tmp_path / "new.json").write_text(json.dumps(new))
        names = [str(tmp_path / "old.json"), str(tmp_path / "new.json")]
        assert main(["diff", *names, *options]) == code

    def test_what_is_no_report_is_a_usage_error(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "old.json").write_text("{}")
        assert main(["diff", str(tmp_path / "old.json"), str(tmp_path / "none.json")]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def _other_suite(new: dict[str, Any]) -> None:
    new["suite"] = {"name": "v2-conformance", "version": "1.1.0", "catalogue": "bbbb"}


def _other_case(new: dict[str, Any]) -> None:
    _other_suite(new)
    new["cases"][0]["content"] = "ffff"


def _without_content(new: dict[str, Any]) -> None:
    _other_suite(new)
    del new["cases"][0]["content"]


def _without_content_same_suite(new: dict[str, Any]) -> None:
    del new["cases"][0]["content"]


def _other_server(new: dict[str, Any]) -> None:
    new["target"]["server"]["version"] = "1.1"


def _other_target(new: dict[str, Any]) -> None:
    new["target"]["url"] = "http://i:1"


def _other_profiles(new: dict[str, Any]) -> None:
    new["target"]["profiles"] = ["raw", "binary"]


def _stopped(new: dict[str, Any]) -> None:
    new["complete"] = False


class TestWhatChanged:
    @pytest.mark.parametrize(
        ("change", "said", "unsaid"),
        [
            (None, ["suite: the same, 1.0.0", "server: some 1.0"], ["case itself", "cannot"]),
            (
                _other_suite,
                ["the suite changed: 1.0.0 (cases aaaa) -> 1.1.0 (cases bbbb)"],
                ["case itself", "cannot be told"],
            ),
            (
                _other_case,
                [
                    "the cases that send or expect something else under the same id now: 1",
                    "the case itself changed",
                ],
                ["cannot be told"],
            ),
            (
                _without_content,
                ["whether they changed cannot be told", "the case itself changed cannot be told"],
                ["under the same id now"],
            ),
            (_without_content_same_suite, ["suite: the same"], ["cannot be told"]),
            (_other_server, ["the server changed: some 1.0 -> some 1.1"], ["different targets"]),
            (_other_target, ["reports are of different targets: http://h:1 -> http://i:1"], []),
            (_other_profiles, ["profiles changed: binary -> binary, raw"], []),
            (_stopped, ["the new report is incomplete"], ["the old report"]),
        ],
    )
    def test_server_and_suite_are_told_apart(
        self,
        change: Callable[[dict[str, Any]], None] | None,
        said: list[str],
        unsaid: list[str],
    ) -> None:
        old = report(case("H6/a"))
        new = copy.deepcopy(report(case("H6/a", "fail")))
        if change:
            change(new)
        difference = compare(old, new)
        for shown in (" ".join(text(difference).split()), *_notes_of_markdown(difference)):
            assert all(words in shown for words in said), shown
            assert not any(words in shown for words in unsaid), shown

    def test_requirements_and_verdict(self) -> None:
        row = {"id": "H6", "level": "MUST", "basis": "text", "outcome": "pass", "cases": {}}
        old = report(verdict=2, requirements=[row, {**row, "id": "H7"}, {**row, "id": "H8"}])
        new = report(requirements=[{**row, "outcome": "fail"}, {**row, "id": "H7", "level": "MAY"}])
        shown = text(compare(old, new))
        assert "verdict: conformant, robust -> not conformant\n" in shown
        assert "  H6 MUST pass -> MUST fail\n" in shown
        assert "  H7 MUST pass -> MAY pass\n" in shown
        assert "  H8 MUST pass -> none" in shown


def _notes_of_markdown(difference: Difference) -> list[str]:
    html = MarkdownIt("commonmark").enable("table").render("\n".join(as_markdown(difference)))
    return [html.replace("&gt;", ">")]


def hostile() -> Difference:
    old, new = (
        report(
            case("H6/a", outcome, message=HOSTILE),
            case(HOSTILE, message=HOSTILE),
            requirements=[
                {
                    "id": HOSTILE,
                    "title": HOSTILE,
                    "level": "MUST",
                    "basis": "text",
                    "outcome": outcome,
                    "cases": {},
                }
            ],
        )
        for outcome in ("pass", "fail")
    )
    new["cases"][1]["id"] += HOSTILE
    new["target"]["server"]["name"] = HOSTILE
    new["target"]["url"] = "http://" + HOSTILE
    return compare(old, new)


def test_text_is_plain_and_has_80_columns() -> None:
    lines = text(hostile()).split("\n")
    assert all(line.isascii() and line.isprintable() for line in lines)
    assert max(map(len, lines)) <= 80


def test_markdown_makes_nothing_of_what_a_server_wrote() -> None:
    lines = list(as_markdown(hostile()))
    assert all("\n" not in line and line.isprintable() for line in lines)
    rows = [line for line in lines if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {4, 6}
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(lines))
    inline = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in inline} == {"text", "html_inline"}
    assert {c.content for c in inline if c.type == "html_inline"} == {"<code>", "</code>"}
    assert {token.type for token in tokens if token.type.startswith("html")} == set()
    # What a server wrote stands in code, where nobody is mentioned and nothing is linked.
    code = False
    for child in inline:
        if child.type == "html_inline":
            code = child.content == "<code>"
        elif "octocat" in child.content or "e.example" in child.content:
            assert code
    assert "@" not in "\n".join(lines)
    assert "http:" not in "\n".join(lines)


def test_very_many_changes_are_counted_and_cut() -> None:
    old = [case(f"H6/{number}") for number in range(3000)]
    new = [{**entry, "outcome": "fail", "message": HOSTILE * 20} for entry in old]
    new += [
        case(f"H7/{number}" + HOSTILE * 20, "fail", message=HOSTILE * 20) for number in range(99)
    ]
    difference = compare(report(*old), report(*new))
    for lines in (list(as_text(difference)), list(as_markdown(difference))):
        assert any("3000 broken" in line for line in lines)
        assert any("2950 more" in line for line in lines)
    assert "too long" in lines[-1]
    assert len("\n".join(as_markdown(difference))) < 65_536
