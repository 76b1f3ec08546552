"""Nothing that a server or a forged report says becomes markup, a command or a terminal's code."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace

from support.behaviors import Hostile
from support.commands import Cli
from support.pages import Page, rows_of
from support.reports import case, exchange, expectation, passes, report_of, saved
from support.responses import HOSTILE, message_with, sized, v2
from support.servers import Start
from v2_conformance.formats.badge import endpoint, svg
from v2_conformance.formats.github import MOST_ANNOTATIONS, annotation_lines, markdown
from v2_conformance.formats.html.page import render
from v2_conformance.formats.junit import render as render_junit
from v2_conformance.formats.registry import FORMATS, Format
from v2_conformance.formats.text.case import lines
from v2_conformance.formats.text.diff import as_markdown, as_text
from v2_conformance.formats.text.terminal import expectation_lines, summary_lines
from v2_conformance.report.diff import diff_reports
from v2_conformance.report.document import CitedDocument, OverallVerdict, Report
from v2_conformance.report.expectations import Expectations, judge_expectations
from v2_conformance.report.files import load_report
from v2_conformance.report.verdict.judged import Gate
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.kinds import InvalidCase, NotHttp, WrongValue
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.suite.requirements import catalogue
from v2_conformance.terminal_safe_text import plain, visible
from v2_conformance.wire.response import Ending
from v2_publishing.matrix.columns import column_of
from v2_publishing.matrix.page import render as render_matrix

MUSTS = [r.id for r in catalogue().values() if r.profile == "binary" and r.level == "MUST"]
TERMINAL = "\x1b[2J\x00<b>\u202e\x9b31m\u2028😀"
UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\u202e\ufffe]")


def hostile(text: str = HOSTILE) -> Report:
    """A report in which whatever may be text is this text."""
    answer = f"HTTP/1.1 500 X\r\nX: {text}\r\nContent-Length: 9\r\n\r\n{text}".encode()
    bad = case(
        "P5/x[<script>alert(1)</script>]", "fail", text,
        exchange(message_with(text.encode(), name=text), answer, text, detail=text),
        exchange(answer, message_with(text.encode()), text, ending=Ending.MALFORMED),
        cite=(CitedDocument("Elsewhere", "javascript:alert(1)", "Here", None),),
        cause=InvalidCase(text),
    )  # fmt: skip
    made = report_of(
        passes(bad, case("S2/x", "not_run", text), case("D5/x", "pass", text)),
        server=(text, text),
        extensions=[text],
        url=f"javascript:alert(1){text}",
        absent={text: text},
        unsupported=(text,),
        suite_version=text,
        suite_catalogue=text,
        started=text,
        verdict=OverallVerdict(False, False, (text, "no MUST case passed"), (text,)),
    )
    cite = (CitedDocument(text, "javascript:alert(1)", text, None),)
    rows = [
        replace(r, title=text, statement=text, note=text, follows=text, cite=cite)
        for r in made.requirements
    ]
    target = replace(made.target, profiles=(*made.target.profiles, text))
    rows.append(replace(rows[0], id=text))
    return replace(made, requirements=tuple(rows), target=target)


def is_calm(text: list[str]) -> bool:
    return all(line.replace("…", "").isascii() and line.isprintable() for line in text)


def test_a_terminal_gets_printable_ascii_in_80_columns() -> None:
    for text in (HOSTILE, TERMINAL):
        report = hostile(text)
        difference = list(as_text(diff_reports(report_of(), report)))
        for shown in (difference, summary_lines(report, Path("out"))):
            assert is_calm(shown)
            assert max(map(len, shown)) <= 80


@pytest.mark.parametrize(
    "words", ["verify", "report", "show P5", "diff OLD", "badge B", "expect E"]
)
def test_a_command_prints_a_report_in_printable_ascii(
    words: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    old = saved(report_of(), tmp_path / "old.json")
    path = saved(hostile(TERMINAL), tmp_path / "r.json")
    command, *more = words.replace("OLD", str(old)).split()
    printed = cli(command, path, *more)
    assert is_calm((printed.out + printed.err).splitlines())


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.file_name)
def test_no_file_has_a_code_of_a_terminal(form: Format) -> None:
    for text in (HOSTILE, TERMINAL):
        made = form.render(hostile(text))
        assert not UNSAFE.search(made if isinstance(made, str) else made.decode())


def test_a_terminal_gets_a_case_in_printable_ascii() -> None:
    text = TERMINAL
    blobs = v2({"outputs": [sized(32, name=text)], text: text}, bytes(32))
    found = FirstDifference(text, text, 1, 1, 150, text, text, text, text)
    bad = case(
        f"D1/{text}", "fail", text * 40,
        exchange(blobs, text.encode(), text, detail=text, ending=Ending.MALFORMED),
        exchange(text.encode(), blobs, f"canary {text}", Purpose.CANARY_SAME),
        why=text, cause=WrongValue(found, 8, 1), cite=(CitedDocument(text, text, text, 1),),
    )  # fmt: skip
    made = [line.plain for line in lines(report_of([bad]), bad, path="r.json")]
    assert is_calm(made)
    assert "\\x1b[2J\\x00" in "\n".join(made)


def test_a_hostile_cause_stays_on_the_line_of_its_expectation() -> None:
    entry = expectation("H6/sign", cause={"kind": "not_http", "detail": "no\x1b*"})
    failed = case("H6/sign", "fail", cause=NotHttp("a\nb\x1b[2J\u202e"))
    file, today = Expectations("expect.yaml", (entry,)), date(2026, 6, 15)
    found = judge_expectations(file, [failed], {"H6/sign": "H6"}, today, Gate())
    assert expectation_lines("expect.yaml", found, words="not conformant")[1] == (
        r"expect.yaml:1: H6/sign: fails for another reason than not_http (detail: no\x1b*): "
        r"the response is not HTTP: a\nb\x1b[2J\u202e"
    )


def test_markdown_has_it_as_code_in_which_nothing_is_a_link_or_a_mention() -> None:
    compared = "\n".join(as_markdown(diff_reports(report_of(), hostile())))
    summary = markdown(hostile())
    for text in (compared, summary):
        tokens = MarkdownIt("commonmark").enable("table").parse(text)
        inline = [child for token in tokens for child in token.children or ()]
        allowed = {"text", "html_inline", "softbreak", "strong_open", "strong_close"}
        assert {child.type for child in inline} <= allowed
        tags = {child.content for child in inline if child.type == "html_inline"}
        assert tags <= {"<code>", "</code>", "<br>"}
        outside = re.sub(r"<code>.*?</code>", "", text)
        assert "alert" not in outside
        assert "octocat" not in outside
        assert "@" not in text
        assert "http:" not in text


@pytest.mark.parametrize("text", [HOSTILE, "\\\"'><img src=x onerror=alert(1)>\u202e\x00"])
def test_pages_have_it_as_text(text: str) -> None:
    report, usual = hostile(text), report_of(passes())
    shown = render(report)
    assert visible(text) in {row["message"] for row in rows_of(shown)}
    beside = column_of(report_of(server=("B", "1")), "")
    pages = [
        (Page(shown), Page(render(usual))),
        (
            Page(render_matrix([("a", column_of(report, "")), ("b", beside)])),
            Page(render_matrix([("a", column_of(usual, "")), ("b", beside)])),
        ),
    ]
    for page, plain_page in pages:
        assert page.tags["script"] == plain_page.tags["script"]
        assert page.tags["img"] == 0
        assert not [name for name in page.attributes if name.startswith("on")]
        assert not [
            link for link in page.links if link and not link.startswith(("#", "?", "https://"))
        ]
        assert not re.search(r"[\x00\x0b\x1b\u202e\ufffe]", page.text)
        assert page.text.count("alert(1)>") > 5


def test_xml_has_it_as_text() -> None:
    report = hostile()
    for drawing in (svg(report), render_junit(report).decode()):
        root = ElementTree.fromstring(drawing)  # well-formed, without what XML forbids
        assert "<script>" not in drawing
        assert not {"script", "img", "a", "image"} & {n.tag.rpartition("}")[2] for n in root.iter()}
    long = report_of(server=(HOSTILE * 100, HOSTILE))
    assert len(svg(long)) < 4000
    assert "forged" not in endpoint(report)


def test_lone_surrogates_do_not_break_the_page() -> None:
    # No report.json can have them, but reports are made before they are written.
    whole = report_of(passes(case("P5/x", "fail", "m")))
    bad = replace(whole.cases[-1], id="P5/x\ud800", message="\udfff")
    render(replace(whole, cases=(*whole.cases[:-1], bad), started="\ud800")).encode("utf-8")


@pytest.mark.long
def test_very_many_differences_are_counted_and_cut() -> None:
    cause = NotHttp(HOSTILE * 20)
    numbers = range(3000)
    new = report_of(
        [case(f"H6/{number}", "fail", cause=cause) for number in numbers]
        + [case(f"H7/{number}" + HOSTILE * 20, "fail", cause=cause) for number in range(99)]
    )
    found = diff_reports(report_of([case(f"H6/{number}") for number in numbers]), new)
    for shown in (list(as_text(found)), list(as_markdown(found))):
        assert any("3000 broken" in line for line in shown)
        assert any("2950 more" in line for line in shown)
    assert "too long" in shown[-1]
    assert len("\n".join(as_markdown(found))) < 65_536


def test_a_step_summary_is_bounded() -> None:
    reasons = OverallVerdict(False, False, ("*" * 1000,) * 1000, ())
    failed = dict.fromkeys(MUSTS, "fail")
    text = markdown(report_of(outcomes=failed, message="\U0001f4a5<|" * 1000, verdict=reasons))
    assert len(text.encode()) < 210_000
    assert "- and 990 more reasons" in text


def commands(output: str) -> list[str]:
    """The lines that GitHub's runner takes for commands, as it reads them."""
    return [
        line
        for line in re.split(r"\r\n|\r|\n", output)
        if line.lstrip().startswith("::") or ("##[" in line and not line.startswith("::"))
    ]


def test_annotations_are_few_and_each_is_one_command() -> None:
    no, text = NotHttp("no"), "a%b," + HOSTILE
    report = report_of([case(f"{name}/x", "fail", text, cause=no) for name in MUSTS])
    rows = tuple(replace(row, title=HOSTILE) for row in report.requirements)
    found = annotation_lines(replace(report, requirements=rows))
    assert len(found) == MOST_ANNOTATIONS
    for line in found:
        assert line.splitlines() == [line]
        assert re.fullmatch(r"::(error|warning|notice) title=[^:,]*::.*", line), line
        assert len(line) < 1000
    assert "a%25b," in found[1]


def test_text_is_defused_in_ci_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "::error::x ##[error]y a:::b ##vso[task.complete] ##teamcity[x]"
    assert plain(text) == text
    rest = r"##\x5berror]y {} ##vso\x5btask.complete] ##teamcity\x5bx]"
    for name in ("TF_BUILD", "TEAMCITY_VERSION"):
        monkeypatch.setenv(name, "True")
        assert plain(text) == "::error::x " + rest.format("a:::b")
        monkeypatch.delenv(name)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert plain(text) == r":\x3aerror:\x3ax " + rest.format(r"a:\x3a:b")


def test_a_run_prints_its_own_commands_and_no_others(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    cases = ["--case", "P1", "--case", "P2", "--case", "H6"]
    printed = cli("run", start(Hostile).url, *cases, "--report-dir", tmp_path, code=1)
    assert commands(printed.err) == []
    report = load_report(tmp_path / "report.json")
    assert commands(printed.out) == annotation_lines(report)
    assert len(annotation_lines(report)) > 1
    assert "incomplete run" in (tmp_path / "summary.md").read_text()


def test_pytest_prints_its_own_commands_and_no_others(
    start: Start, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "summary.md"))
    pytester.makepyfile("def test_own():\n    pass\n")
    options = ("-p", "no:hypothesispytest", "-m", "P1 or P2 or H6", "-rA", "--v2-report-dir=out")
    result = pytester.runpytest("--v2-url", start(Hostile).url, *options)
    report = load_report(pytester.path / "out" / "report.json")
    assert commands(result.stdout.str()) == annotation_lines(report)
    assert "incomplete run" in (pytester.path / "summary.md").read_text()
