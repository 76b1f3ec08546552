"""diff in words: 80 columns for a terminal, Markdown in which nothing of a server is markup."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from markdown_it import MarkdownIt

from support.reports import case, report_of, row_of
from v2_conformance.formats.text.diff import as_markdown, as_text
from v2_conformance.report.diff import ReportDiff, diff_reports
from v2_conformance.report.document import CaseResult, OverallVerdict, Report
from v2_conformance.suite.causes.kinds import NotHttp
from v2_conformance.suite.outcomes import Outcome

HOSTILE = (
    "a|b`c`\n# d <img src=x onerror=alert(1)> @octocat https://e.example [f](http://g) \x1b[31m"
)
FAILS = OverallVerdict(False, False, ("because",), ())


def report(*cases: CaseResult, **more: Any) -> Report:
    return report_of(cases, **{"verdict": FAILS, "suite_catalogue": "aaaa", **more})


def text(found: ReportDiff) -> str:
    return "\n".join(as_text(found))


def hostile() -> ReportDiff:
    row = row_of(id=HOSTILE, title=HOSTILE)
    cause = NotHttp(HOSTILE)
    old = report(case("H6/a"), case(HOSTILE))
    new = report(
        case("H6/a", "fail", cause=cause),
        case(HOSTILE * 2, "fail", cause=cause),
        server=(HOSTILE, "1"),
        url="http://" + HOSTILE,
    )
    failed = msgspec.structs.replace(row, outcome=Outcome.FAIL)
    return diff_reports(
        msgspec.structs.replace(old, requirements=(row,)),
        msgspec.structs.replace(new, requirements=(failed,)),
    )


def _other_suite(report: Report) -> Report:
    suite = msgspec.structs.replace(report.suite, version="1.3.0", catalogue="bbbb")
    return msgspec.structs.replace(report, suite=suite)


@pytest.mark.parametrize(
    ("new", "said", "unsaid"),
    [
        (
            report(case("H6/a", "fail")),
            ["suite: the same, 1.2.3", "server: Server 9.8.7"],
            ["case itself"],
        ),
        (
            _other_suite(report(case("H6/a", "fail"))),
            ["the suite changed: 1.2.3 (cases aaaa) -> 1.3.0 (cases bbbb)"],
            ["case itself"],
        ),
        (
            _other_suite(report(case("H6/a", "fail", content="ffff"))),
            ["something else under the same id now: 1", "the case itself changed"],
            [],
        ),
        (report(case("H6/a"), complete=False), ["the new report is incomplete"], ["the old rep"]),
    ],
)
def test_server_and_suite_are_told_apart(new: Report, said: list[str], unsaid: list[str]) -> None:
    found = diff_reports(report(case("H6/a")), new)
    markdown = MarkdownIt("commonmark").enable("table").render("\n".join(as_markdown(found)))
    for shown in (" ".join(text(found).split()), markdown.replace("&gt;", ">")):
        assert all(words in shown for words in said), shown
        assert not any(words in shown for words in unsaid), shown


def test_requirements_and_verdict() -> None:
    row = row_of(id="H6")
    changed = msgspec.structs.replace
    old = changed(
        report(verdict=OverallVerdict(True, True, (), ())),
        requirements=(row, changed(row, id="H7"), changed(row, id="H8")),
    )
    new = changed(
        report(),
        requirements=(
            changed(row, outcome=Outcome.FAIL),
            changed(row, id="H7", level="MAY", blocks=None),
        ),
    )
    shown = text(diff_reports(old, new))
    assert "verdict: conformant, robust -> not conformant\n" in shown
    assert "  H6 MUST (blocks conformant) pass -> MUST (blocks conformant) fail\n" in shown
    assert "  H7 MUST (blocks conformant) pass -> MAY pass\n" in shown
    assert "  H8 MUST (blocks conformant) pass -> none" in shown


def test_a_failure_that_is_gone_at_another_url_may_be_hidden() -> None:
    old, direct = report(case("H6/a", "fail")), report(case("H6/a"))
    behind = report(case("H6/a"), url="http://proxy.example")
    assert "1 fixed" in text(diff_reports(old, direct))
    assert "Fixed\n  MUST" in text(diff_reports(old, direct))
    found = diff_reports(old, behind)
    assert "1 hidden or fixed" in text(found)
    assert "Hidden or fixed\n  MUST" in text(found)
    assert "#### Hidden or fixed" in "\n".join(as_markdown(found))


def test_text_is_plain_and_has_80_columns() -> None:
    lines = text(hostile()).split("\n")
    assert all(line.isascii() and line.isprintable() for line in lines)
    assert max(map(len, lines)) <= 80


def test_markdown_makes_nothing_of_what_a_server_wrote() -> None:
    lines = list(as_markdown(hostile()))
    assert all("\n" not in line and line.isprintable() for line in lines)
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(lines))
    inline = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in inline} == {"text", "html_inline"}
    assert {c.content for c in inline if c.type == "html_inline"} == {"<code>", "</code>", "<br>"}
    assert {token.type for token in tokens if token.type.startswith("html")} == set()
    # What a server wrote stands in code, where nobody is mentioned and nothing is linked.
    code = False
    for child in inline:
        if child.type == "html_inline":
            code = child.content == "<code>" or (code and child.content == "<br>")
        elif "octocat" in child.content or "e.example" in child.content:
            assert code
    assert "@" not in "\n".join(lines)
    assert "http:" not in "\n".join(lines)


@pytest.mark.long
def test_very_many_changes_are_counted_and_cut() -> None:
    cause = NotHttp(HOSTILE * 20)
    numbers = range(3000)
    old = report(*(case(f"H6/{number}") for number in numbers))
    new = report(
        *(case(f"H6/{number}", "fail", cause=cause) for number in numbers),
        *(case(f"H7/{number}" + HOSTILE * 20, "fail", cause=cause) for number in range(99)),
    )
    found = diff_reports(old, new)
    for lines in (list(as_text(found)), list(as_markdown(found))):
        assert any("3000 broken" in line for line in lines)
        assert any("2950 more" in line for line in lines)
    assert "too long" in lines[-1]
    assert len("\n".join(as_markdown(found))) < 65_536
