"""Known failures on the command line and under pytest, with whole runs of few cases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Cli
from v2_conformance.certifying import servers as certifying
from v2_conformance.report.files import load_report
from v2_conformance.suite.library import suite_cases
from v2_mutants.servers import MutantServer

FAULTS = ("--fault", "request-blobs-off-by-one", "--fault", "binary-response-typed-json")


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite of few cases, so that a whole run is short."""
    kept = (
        "P2/blob-follows-json[INT32]",
        "P4/binary",
        "R3/survives-a",
        "P12/",
        "H6/not-a-number[l",
    )
    cases = [case for case in suite_cases() if case.id.startswith(kept)]
    monkeypatch.setattr(certifying, "suite_cases", lambda **_: cases)


def test_written_expectations_keep_ci_green(tmp_path: Path, cli: Cli) -> None:
    file, report = tmp_path / "v2-expect.yaml", tmp_path / "report.json"
    assert "NOT CONFORMANT" in cli("run", *FAULTS, "--report-dir", tmp_path, code=1).shown
    file.write_text("# ours\n\nexpected:\n- {requirement: P2, reason: by hand}\n")
    cli("expect", "--write", report, file, code=0)
    text = file.read_text()
    seed = load_report(report).seed
    assert text.startswith(
        f"# ours\n\nseed: {seed}\nexpected:\n- requirement: P2\n  reason: by hand"
    )
    out = tmp_path / "out"
    printed = cli("run", *FAULTS, "--report-dir", out, "--strict", "--expect", file, code=0).out
    again = load_report(out / "report.json")
    bad = [case for case in again.cases if case.outcome != "pass"]
    assert all(case.expected for case in bad)
    assert again.verdict == load_report(report).verdict
    assert f"not conformant; failures: {len(bad)} expected, 0 unexpected" in printed
    assert "reasons that still begin with TODO: " in printed
    assert "expected FAIL MUST (blocks conformant) P12/octet-stream-accepted[" in printed
    cli("expect", report, file, code=0)  # the report can be judged later, too
    cli("expect", "--write", report, file, code=0)
    assert file.read_text() == text
    file.write_text("# ours\nexpected: []\n")
    cli("expect", "--write", report, file, code=0)
    assert file.read_text().startswith("# ours\nseed: ")
    assert "\nexpected:\n- case: P2/blob-" in cli("expect", "--write", report, "-", code=0).out
    stopped = {**json.loads(report.read_text()), "complete": False}
    report.write_text(json.dumps(stopped))
    cli("expect", report, file, code=3)


def test_what_is_not_as_expected_fails_the_run(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "expect.yaml"
    call = ["run", "--expect", file, "--report-dir", tmp_path]
    file.write_text("expected: []")
    printed = cli(*call, *FAULTS, code=1).out
    assert "unexpected: FAIL MUST (blocks conformant) P2/blob-follows-json[INT32]" in printed
    assert "unexpected: FAIL SHOULD" not in printed
    file.write_text("expected:\n- {requirement: R3, reason: x}\n- {case: 'P2/*', reason: y}")
    lines = cli(*call, code=1).out.splitlines()
    assert f"{file}:2: R3: no case of this requirement fails any more" in lines
    assert f"{file}:3: P2/*: P2/blob-follows-json[INT32]: expected fail, got pass" in lines


@pytest.fixture(scope="module")
def bad_url() -> Iterator[str]:
    """The URL of a server that fails H6."""
    with MutantServer(["non-numeric-header-length-raw"]) as server:
        yield server.url


def under_pytest(pytester: pytest.Pytester, url: str, text: str, *more: str) -> pytest.RunResult:
    pytester.makefile(".yaml", expect=text)
    given = ("--v2-url", url, "--v2-expect", "expect.yaml", "--v2-report-dir", "out", "-rxX")
    return pytester.runpytest("-p", "no:hypothesispytest", *given, *more)


def test_an_expected_failure_is_an_xfail_of_pytest(pytester: pytest.Pytester, bad_url: str) -> None:
    text = "expected: [{requirement: H6, reason: It reads with atoi.}, {case: Z/*, reason: x}]"
    result = under_pytest(pytester, bad_url, text, "-m", "H6 or P12", "-n", "1")
    assert result.ret == 0
    assert set(result.parseoutcomes()) == {"xfailed", "passed"}
    result.stdout.fnmatch_lines(["XFAIL v2-conformance::H6/*It reads with atoi.*"])
    result.stdout.fnmatch_lines(["expect.yaml:1: Z/*: matches none of the suite's cases*"])
    cases = load_report(pytester.path / "out" / "report.json").cases
    assert {c.outcome for c in cases if c.expected} == {"fail"}


def test_an_expected_failure_that_passes_fails(pytester: pytest.Pytester, bad_url: str) -> None:
    result = under_pytest(pytester, bad_url, "expected: [{case: P12/*, reason: x}]", "-m", "P12")
    assert set(result.parseoutcomes()) == {"failed", "deselected"}
    result.stdout.fnmatch_lines(["expected fail, got pass*", "expect.yaml:1: P12/*"])
