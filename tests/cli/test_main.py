"""The command: exit codes, one line for each problem, reports, and what must never be shown."""

from __future__ import annotations

import io
import json
import re
import signal
import sys
import urllib.request
from pathlib import Path
from subprocess import run

import pytest

from support.commands import Cli
from support.runs import command
from v2_conformance.cli import reporting
from v2_conformance.cli.main import main
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.report.files import load_report
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.requirements import catalogue_version
from v2_mutants.faults import FAULTS
from v2_mutants.selftest import servers as selftest
from v2_mutants.selftest.trials import FaultTrial, Half


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("arguments", [["run", "--help"], ["list", "faults"]])
def test_characters_that_the_output_cannot_show_are_replaced(
    arguments: list[str], encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding))
    assert main(arguments) == 0
    assert written.getvalue().decode(encoding)


def test_the_embedded_server_conforms(tmp_path: Path, cli: Cli) -> None:
    profiles = [word for name in SERVER_PROFILES[1:] for word in ("--profile", name)]
    printed = cli("run", *profiles, "-n", "2", "--report-dir", tmp_path, code=0)
    report = load_report(tmp_path / "report.json")  # valid by the schema, or this raises
    assert report.complete
    assert report.verdict.conformant
    assert report.verdict.robust
    assert [case.id for case in report.cases] == [case.id for case in suite_cases()]
    assert {case.outcome for case in report.cases} == {"pass", "disputed"}
    assert (tmp_path / "report.json").stat().st_size < 6_000_000
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "CONFORMANT, ROBUST" in printed.out
    assert "2 cases at a time (-n)" in " ".join(printed.err.split())


def test_a_mistake_of_the_suite_is_not_taken_for_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr(reporting, "summary_lines", None)
    ended = cli("run", "--case", "R3", "--report-dir", tmp_path, code=3)
    assert "bug in the suite" in ended.err


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("requirements", f"requirement catalogue {catalogue_version()}"),
        ("requirements", "P2  MUST (blocks conformant) text    binary                1.0.0  Req"),
        ("cases", "P2/blob-follows-json[INT32]  MUST (blocks conformant) success"),
        ("faults", "H5  header-length-clamped: "),
        ("client-faults", "K4  header-name-by-case: "),
        ("client-variants", "json-indented: JSON is indented. (K1 K2 K18 K35; RFC 8259"),
        ("scenarios", "K4/letter-case[lower]"),
        ("models", "18 needed (31 with optional ones and those of profiles), all but 2 identity"),
        ("variations", "json     members-reversed: "),
    ],
)
def test_lists(what: str, line: str, cli: Cli) -> None:
    lines = cli("list", what, code=0).out.splitlines()
    assert any(x.startswith(line) for x in lines)
    assert all(x.isprintable() for x in lines)
    last = json.loads(cli("list", what, "--json", code=0).out)[-1]
    assert last.get("id", last.get("name", last.get("role"))) in "".join(lines[-3:])


def test_serve_prints_its_url_and_ends_with_an_interrupt() -> None:
    with command("serve", "--port", "0") as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        with urllib.request.urlopen(found[0] + "/v2", timeout=10) as response:
            assert "binary_tensor_data" in json.load(response)["extensions"]
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


@pytest.mark.parametrize(("own", "code"), [(("P2/x",), 0), ((), 1)])
def test_the_selftest_fails_for_a_hole(
    own: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    def made_up(workers: int | None, *, full: bool, seed: int) -> selftest.SelftestResult:
        assert (workers, full, seed) == (2, True, 7)
        return selftest.SelftestResult(Half((FaultTrial(next(iter(FAULTS)), "P2", own, ()),)))

    monkeypatch.setattr(selftest, "run_selftest", made_up)
    printed = cli("selftest", "-n", "2", "--full", "--seed", "7", code=code).out
    assert "--seed 7" in printed
    assert f"1 faults, {len(own)} caught by a case of their own requirement" in printed


def test_the_exit_code_is_that_of_the_process(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "v2_conformance", "run", "--case", "Q1"]
    done = run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 4
    assert done.stderr.startswith("v2-conformance: the pattern 'Q1' matches no case")
    assert done.stderr.count("\n") == 1
