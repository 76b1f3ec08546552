"""Known failures on the command line and under pytest, with whole runs of few cases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Cli
from v2_conformance.certifying import servers as certifying
from v2_conformance.cli.main import main
from v2_conformance.report.files import load_report
from v2_conformance.suite.library import suite_cases
from v2_mutants.servers import MutantServer

FAULTS = ("--fault", "request-blobs-off-by-one", "--fault", "binary-response-typed-json")


@pytest.fixture(scope="module")
def _few() -> Iterator[None]:
    """A suite of few cases, so that a whole run is short."""
    kept = (
        "P2/blob-follows-json[INT32]",
        "P4/binary",
        "R3/survives-a",
        "P12/",
        "H6/not-a-number[letters]",
    )
    cases = [case for case in suite_cases() if case.id.startswith(kept)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certifying, "suite_cases", lambda **_: cases)
        yield


@pytest.fixture(scope="module")
def report(_few: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run in which P2 and P4 fail."""
    folder = tmp_path_factory.mktemp("run")
    assert main(["run", *FAULTS, "--report-dir", str(folder)]) == 1
    return folder / "report.json"


@pytest.mark.usefixtures("_few")
class TestCommands:
    def run(self, tmp_path: Path, text: str, *more: str) -> int:
        (tmp_path / "expect.yaml").write_text(text)
        expect = ["--expect", str(tmp_path / "expect.yaml"), "--report-dir", str(tmp_path / "out")]
        return main(["run", *expect, *more])

    def test_written_expectations_keep_ci_ok(self, report: Path, tmp_path: Path, cli: Cli) -> None:
        file = tmp_path / "v2-expect.yaml"
        assert main(["expect", "--write", str(report), str(file)]) == 0
        out = ["--report-dir", str(tmp_path / "out")]
        printed = cli("run", *FAULTS, *out, "--strict", "--expect", file, code=0).out
        again = load_report(tmp_path / "out" / "report.json")
        bad = [case for case in again.cases if case.outcome != "pass"]
        assert bad
        assert all(case.expected and case.expected.reason.startswith("TODO: ") for case in bad)
        assert again.verdict == load_report(report).verdict
        assert "NOT CONFORMANT" in printed
        assert f"not conformant; failures: {len(bad)} expected, 0 unexpected" in printed
        assert "reasons that still begin with TODO: " in printed
        assert "expected FAIL MUST (blocks conformant) P12/octet-stream-accepted[" in printed
        # The report can be judged later, too.
        assert main(["expect", str(report), str(file)]) == 0
        # Nothing changed, so nothing is written anew.
        before = file.read_text()
        assert main(["expect", "--write", str(report), str(file)]) == 0
        assert file.read_text() == before

    def test_unexpected_failure(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.run(tmp_path, "expected: []", *FAULTS) == 1
        printed = capsys.readouterr().out
        assert "unexpected: FAIL MUST (blocks conformant) P2/blob-follows-json[INT32]" in printed
        assert "unexpected: FAIL SHOULD" not in printed

    def test_expected_but_passed(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        text = "expected:\n- {requirement: R3, reason: x}\n- {case: 'P2/*', reason: y}"
        assert self.run(tmp_path, text) == 1
        lines = capsys.readouterr().out.splitlines()
        path = tmp_path / "expect.yaml"
        assert f"{path}:2: R3: no case of this requirement fails any more" in lines
        wanted = "P2/*: P2/blob-follows-json[INT32]: expected fail, got pass"
        assert f"{path}:3: {wanted}" in lines

    def test_wrong_file_stops(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.run(tmp_path, "expected: [{case: x}]", "http://127.0.0.1:1") == 2
        assert "'reason' is a required property" in capsys.readouterr().err

    def test_hand_written_lines_above_the_entries_stay(self, report: Path, tmp_path: Path) -> None:
        file = tmp_path / "mine.yaml"
        file.write_text("# ours\n\nexpected:\n- {requirement: P2, reason: by hand}\n")
        assert main(["expect", "--write", str(report), str(file)]) == 0
        text = file.read_text()
        seed = load_report(report).seed
        entry = "expected:\n- requirement: P2\n  reason: by hand\n"
        assert text.startswith(f"# ours\n\nseed: {seed}\n{entry}")

    def test_a_dash_prints_the_file(self, report: Path, cli: Cli) -> None:
        ended = cli("expect", "--write", report, "-", code=0)
        assert "\nexpected:\n- case: P2/blob-follows-json[INT32]\n" in ended.out

    def test_stopped_run_is_not_green(self, report: Path, tmp_path: Path) -> None:
        document = json.loads(report.read_text())
        document["complete"] = False
        stopped = tmp_path / "stopped.json"
        stopped.write_text(json.dumps(document))
        file = tmp_path / "v2-expect.yaml"
        assert main(["expect", "--write", str(stopped), str(file)]) == 0
        assert main(["expect", str(stopped), str(file)]) == 3


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The URL of a server that fails H6."""
    with MutantServer(["non-numeric-header-length-raw"]) as server:
        yield server.url


class TestPytest:
    def run(self, pytester: pytest.Pytester, url: str, text: str, *more: str) -> pytest.RunResult:
        pytester.makefile(".yaml", expect=text)
        return pytester.runpytest(
            *("-p", "no:hypothesispytest", "--v2-url", url, "--v2-expect", "expect.yaml"),
            *("-rxX", *more),
        )

    def test_expected_failure_is_xfail(self, pytester: pytest.Pytester, url: str) -> None:
        text = "expected: [{requirement: H6, reason: It reads with atoi.}]"
        options = ["-m", "H6 or P12", "--v2-report-dir", "out", "-n", "1"]
        result = self.run(pytester, url, text, *options)
        assert result.ret == 0
        assert set(result.parseoutcomes()) == {"xfailed", "passed"}
        result.stdout.fnmatch_lines(["XFAIL v2-conformance::H6/*It reads with atoi.*"])
        cases = load_report(pytester.path / "out" / "report.json").cases
        assert {c.outcome for c in cases if c.expected} == {"fail"}

    @pytest.mark.usefixtures("_few")
    def test_xfail_has_no_traceback(self, pytester: pytest.Pytester, url: str) -> None:
        seen = """
            def pytest_runtest_logreport(report):
                if hasattr(report, "wasxfail"):
                    assert report.longrepr == "It reads with atoi.", report.longrepr
            """
        pytester.makeconftest(seen)
        text = "expected: [{requirement: H6, reason: It reads with atoi.}]"
        result = self.run(pytester, url, text, "-m", "H6")
        assert result.ret == 0
        assert set(result.parseoutcomes()) == {"xfailed", "deselected"}

    def test_one_that_passes_fails_the_test(self, pytester: pytest.Pytester, url: str) -> None:
        text = "expected: [{case: P12/*, reason: x}]"
        result = self.run(pytester, url, text, "-m", "P12")
        assert set(result.parseoutcomes()) == {"failed", "deselected"}
        result.stdout.fnmatch_lines(["expected fail, got pass*", "expect.yaml:1: P12/*"])

    def test_entry_for_retired_cases_is_a_note(self, pytester: pytest.Pytester, url: str) -> None:
        text = "expected: [{case: Z/*, reason: x}, {requirement: H6, reason: y}]"
        result = self.run(pytester, url, text, "-m", "P12")
        assert "failed" not in result.parseoutcomes()
        assert result.ret == 0
        result.stdout.fnmatch_lines(["expect.yaml:1: Z/*: matches none of the suite's cases*"])

    def test_wrong_file_is_usage_error(self, pytester: pytest.Pytester, url: str) -> None:
        result = self.run(pytester, url, "expected: [{case: x}]")
        assert result.ret == 4
        assert len([line for line in result.errlines if line]) == 1
