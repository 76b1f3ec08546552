"""What GitHub Actions is told of a run, and what no server can make it believe."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import msgspec
import pytest

from support.commands import Cli
from support.reports import case, passes, report_of
from support.responses import HOSTILE
from support.servers import Start
from v2_conformance.formats.github import MOST_ANNOTATIONS, annotation_lines, markdown, publish
from v2_conformance.formats.text.terminal import summary_lines
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.report.document import ExpectedFailure, OverallVerdict, Report
from v2_conformance.report.files import load_report
from v2_conformance.suite.requirements import catalogue
from v2_conformance.terminal_safe_text import plain

MUSTS = [r.id for r in catalogue().values() if r.profile == "binary" and r.level == "MUST"]


def as_shown(text: str) -> str:
    return html.unescape(re.sub(r"</?code>|<br>", " ", text))


def commands(output: str) -> list[str]:
    """The lines that GitHub's runner takes for commands, as it reads them."""
    return [
        line
        for line in re.split(r"\r\n|\r|\n", output)
        if line.lstrip().startswith("::") or ("##[" in line and not line.startswith("::"))
    ]


@pytest.fixture
def hostile(start: Start) -> str:
    """The URL of a server that tries to give the runner commands."""

    class Hostile(Behaviour):
        def server_metadata(self, request: Request) -> Response:
            return self.json_response({"name": HOSTILE, "version": HOSTILE, "extensions": []})

        def json_response(self, document: object) -> Response:
            return Response(200, (), (json.dumps(document).encode(),))

        def handle(self, request: Request) -> Response:
            if request.target.endswith("identity_int32/infer"):
                body = "::set-env name=PATH::x " * 20 + HOSTILE
                return Response(500, (), (body.encode(),))
            return super().handle(request)

    return start(Hostile).url


class TestMarkdown:
    def test_it_says_the_verdict_and_each_failure(self) -> None:
        report = report_of(
            outcomes={"P2": "fail", "P4": "fail", "P9": "not_run", "H6": "inconclusive"},
            message="the reason of it",
        )
        shown = as_shown(markdown(report, Path("reports")))
        assert shown.startswith("### ✗ V2 binary tensor data: not conformant; from correct ")
        for words in (
            "Server 9.8.7", "binary", "v2-conformance", "1.2.3",
            "MUST (blocks conformant) P2 failed (1 case)", "the reason of it",
            "P2/case-2[INT32]", "reports/report.html",
        ):  # fmt: skip
            assert words in shown, words

    def test_a_partial_run_has_no_verdict(self) -> None:
        text = as_shown(markdown(report_of(outcomes={"P2": "fail"}, left_out=["P3", "P5"])))
        assert "incomplete run" in text
        assert "4 planned cases did not run" in text
        assert "P2/case-2" in text

    def test_nothing_of_a_server_is_markup_a_link_a_mention_or_a_line(self) -> None:
        report = report_of(outcomes={"P2": "fail"}, server=(HOSTILE, HOSTILE), message=HOSTILE)
        text, calm = markdown(report), markdown(report_of(outcomes={"P2": "fail"}))
        assert len(text.splitlines()) == len(calm.splitlines())
        quoted = re.findall(r"<code>(.*?)</code>", text)
        assert quoted
        for inside in quoted:
            assert re.fullmatch(r"(?:\w|[ ,]|&#[0-9]+;)*", inside), inside
        outside = re.sub(r"<code>.*?</code>", "", text)
        assert set(re.findall(r"<[^>]*>", outside)) == {"<br>"}
        assert "alert" not in outside
        assert "@" not in text
        assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e\ufffe]", text)

    def test_it_is_bounded(self) -> None:
        report = report_of(
            outcomes=dict.fromkeys(MUSTS, "fail"),
            message="\U0001f4a5<|" * 1000,
            verdict=OverallVerdict(False, False, ("*" * 1000,) * 1000, ()),
        )
        text = markdown(report)
        assert len(text.encode()) < 210_000
        assert "- and 990 more reasons" in text


class TestAnnotations:
    def test_the_verdict_comes_first_then_the_strictest(self) -> None:
        lines = annotation_lines(
            report_of(outcomes={"P4": "fail", "S1": "fail"}, message="the reason of it")
        )
        assert lines == [
            "::error title=V2 conformance%3A not conformant::Server 9.8.7, profiles binary; "
            "without BF16: 1 of 110 MUST fails: S1",
            f"::error title=MUST (blocks conformant) S1 {catalogue()['S1'].title}::"
            "S1/case-2[INT32]: the reason of it",
            f"::warning title=SHOULD P4 {catalogue()['P4'].title}::P4/case-2[INT32]: the "
            "reason of it",
        ]

    def test_what_was_expected_is_a_notice(self) -> None:
        failing = case("S1/x", "fail", expected=ExpectedFailure("known"))
        report = report_of(passes(failing))
        verdict, failure = annotation_lines(report)
        assert verdict.startswith("::notice title=V2 conformance%3A not conformant")
        assert failure.startswith("::notice title=expected%3A MUST (blocks conformant) S1 ")
        assert "</code> (expected)<br>" in markdown(report)

    def test_the_verdict_is_an_error_if_a_single_failure_was_not_expected(self) -> None:
        known = case("S1/x", "fail", expected=ExpectedFailure("known"))
        report = report_of(passes(known, case("S2/x", "fail")))
        assert annotation_lines(report)[0].startswith("::error ")

    def test_a_good_run_is_a_notice_and_a_part_of_one_an_error(self) -> None:
        assert [line.split(" ")[0] for line in annotation_lines(report_of())] == ["::notice"]
        assert annotation_lines(report_of(left_out=["P4"]))[0].startswith("::error ")

    def test_they_are_few_and_each_is_one_command(self) -> None:
        report = report_of(
            outcomes=dict.fromkeys(MUSTS, "fail"),
            server=(HOSTILE, HOSTILE),
            message="a%b," + HOSTILE,
        )
        rows = (msgspec.structs.replace(row, title=HOSTILE) for row in report.requirements)
        lines = annotation_lines(msgspec.structs.replace(report, requirements=tuple(rows)))
        assert len(lines) == MOST_ANNOTATIONS
        for line in lines:
            assert line.splitlines() == [line]
            assert re.fullmatch(r"::(error|warning|notice) title=[^:,]*::.*", line), line
            assert len(line) < 1000
        assert "a%25b," in lines[1]


class TestPublish:
    def report(self) -> Report:
        return report_of(outcomes={"P2": "fail"})

    def test_the_summary_is_appended(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "summary.md"
        path.write_text("# of another step\n")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
        publish(self.report(), None, print)
        publish(self.report(), None, print)
        text = path.read_text()
        assert text.startswith("# of another step\n### ")
        assert text.count("V2 binary tensor data: not conformant") == 2

    def test_unwritable_summary(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
        said: list[str] = []
        publish(self.report(), None, said.append)
        assert len(said) == 1
        assert "the step summary was not written" in said[0]


class TestForgedCommands:
    def test_text_is_defused_in_ci_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        text = "::error::x ##[error]y a:::b ##vso[task.complete] ##teamcity[x]"
        assert plain(text) == text
        rest = r"##\x5berror]y {} ##vso\x5btask.complete] ##teamcity\x5bx]"
        for name in ("TF_BUILD", "TEAMCITY_VERSION"):
            monkeypatch.setenv(name, "True")
            assert plain(text) == "::error::x " + rest.format("a:::b")
            monkeypatch.delenv(name)
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        assert plain(text) == r":\x3aerror:\x3ax " + rest.format(r"a:\x3a:b")

    def test_no_line_of_a_summary_is_a_command(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        message = "::error::forged ##[error] " * 10 + "::warning::" * 20
        report = report_of(outcomes=dict.fromkeys(MUSTS, "fail"), server=("::error::x", message))
        cases = (
            msgspec.structs.replace(shifted, message="x" * (shift // 2) + " " + message)
            for shift, shifted in enumerate(report.cases)
        )
        lines = summary_lines(msgspec.structs.replace(report, cases=tuple(cases)), Path("out"))
        assert sum("error" in line for line in lines) > 20
        assert commands("\n".join(lines)) == []

    def test_a_run_prints_its_own_commands_and_no_others(
        self, hostile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
    ) -> None:
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
        cases = ["--case", "P1", "--case", "P2", "--case", "H6"]
        printed = cli("run", hostile, *cases, "--report-dir", tmp_path, code=1)
        assert commands(printed.err) == []
        report = load_report(tmp_path / "report.json")
        assert commands(printed.out) == annotation_lines(report)
        assert len(annotation_lines(report)) > 1
        assert "incomplete run" in (tmp_path / "summary.md").read_text()

    def test_pytest_prints_them_too_and_no_others(
        self, hostile: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "summary.md"))
        pytester.makepyfile("def test_own():\n    pass\n")
        result = pytester.runpytest(
            *("-p", "no:hypothesispytest", "--v2-url", hostile, "-m", "P1 or P2 or H6", "-rA"),
            "--v2-report-dir=out",
        )
        report = load_report(pytester.path / "out" / "report.json")
        assert commands(result.stdout.str()) == annotation_lines(report)
        assert "incomplete run" in (pytester.path / "summary.md").read_text()
