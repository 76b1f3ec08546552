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

from support.commands import Cli, Ended
from support.runs import command
from support.servers import Peer, Start, free_port, serving
from v2_conformance.certifying import servers as certifying
from v2_conformance.cli import reporting
from v2_conformance.cli.main import main
from v2_conformance.conversations.steps import Result
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.report.files import load_report
from v2_conformance.suite.cases import Case
from v2_conformance.suite.causes.kinds import WrongStatus
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import catalogue_version
from v2_mutants.faults import FAULTS
from v2_mutants.selftest import servers as selftest
from v2_mutants.selftest.trials import FaultTrial, Half

COMMAND = [sys.executable, "-m", "v2_conformance"]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("arguments", [["run", "--help"], ["list", "faults"]])
def test_characters_that_the_output_cannot_show_are_replaced(
    arguments: list[str], encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding))
    assert main(arguments) == 0
    assert written.getvalue().decode(encoding)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """A suite of few cases, so that a whole run is short."""
    kept = ("P2/blob-follows-json[INT32]", "P4/", "R3/", "O5/")
    cases = [case for case in suite_cases() if case.id.startswith(kept)]
    monkeypatch.setattr(certifying, "suite_cases", lambda **_: cases)
    return cases


def problem(ended: Ended) -> str:
    """The one line that the command printed on standard error."""
    lines = [x for x in ended.err.splitlines() if not x.startswith("testing ")]
    assert len(lines) == 1, ended.err
    assert lines[0].startswith("v2-conformance: ")
    assert "Traceback" not in ended.err + ended.out
    return lines[0]


WRONG = Result(suite_cases()[0], Verdict(Outcome.FAIL, WrongStatus("200", 500, "it is wrong")))


class TestRun:
    def test_embedded_conforms(self, tmp_path: Path, cli: Cli) -> None:
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

    def test_killing_fault_is_the_same_with_several_workers(self, tmp_path: Path) -> None:
        reports = []
        for workers in ("1", "8"):
            folder = tmp_path / workers
            chosen = ["--fault", "rejection-stops-listening", "--case", "R1", "--case", "D1"]
            main(["run", *chosen, "-n", workers, "--report-dir", str(folder)])
            reports.append(load_report(folder / "report.json"))
        alone, beside = ({case.id: case.outcome for case in r.cases} for r in reports)
        assert beside == alone
        assert {Outcome.FAIL, Outcome.NOT_RUN} <= set(alone.values())

    @pytest.mark.usefixtures("few")
    def test_a_fault_makes_it_not_conformant(self, tmp_path: Path, cli: Cli) -> None:
        fault = ["--fault", "request-blobs-off-by-one"]
        printed = cli("run", *fault, "--report-dir", tmp_path, code=1).out
        assert "NOT CONFORMANT" in " ".join(printed.split())
        assert "FAIL MUST (blocks conformant) P2/blob-follows-json[INT32]" in printed

    @pytest.mark.usefixtures("few")
    def test_a_warning_fails_a_strict_run_only(self, tmp_path: Path) -> None:
        fault = ["--fault", "binary-response-typed-json", "--report-dir", str(tmp_path)]
        assert main(["run", *fault]) == 0
        assert main(["run", *fault, "--strict"]) == 1
        assert main(["run", "--strict", "--report-dir", str(tmp_path)]) == 0

    def test_a_mistake_of_the_suite_is_not_taken_for_a_verdict(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
    ) -> None:
        def broken(*_: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(reporting, "summary_lines", broken)
        ended = cli("run", "--case", "R3", "--report-dir", tmp_path, code=3)
        assert "bug in the suite" in ended.err


_silent = Peer.until_closed


class TestProblems:
    def test_nobody_there(self, cli: Cli, tmp_path: Path) -> None:
        url = f"http://127.0.0.1:{free_port()}"
        ended = cli("run", url, "--report-dir", tmp_path / "new", code=3)
        assert "connection refused" in problem(ended)
        assert not (tmp_path / "new").exists()

    def test_a_server_without_models(self, start: Start, cli: Cli, tmp_path: Path) -> None:
        class Empty(Behaviour):
            def find_model(self, name: str, version: str | None) -> None:  # type: ignore[override]
                super().find_model("nothing", version)

        ended = cli("run", start(Empty).url, "--report-dir", tmp_path, code=4)
        assert "none of the contract's models" in " ".join(ended.out.split())
        assert load_report(tmp_path / "report.json").verdict.standing == "nothing tested"


class TestOtherCommands:
    @pytest.mark.parametrize(
        ("what", "line"),
        [
            ("requirements", f"requirement catalogue {catalogue_version()}"),
            (
                "requirements",
                "P2  MUST (blocks conformant) text    binary                1.0.0  Request blobs",
            ),
            ("cases", "P2/blob-follows-json[INT32]  MUST (blocks conformant) success"),
            ("faults", "H5  header-length-clamped: "),
            ("client-faults", "K4  header-name-by-case: "),
            ("client-variants", "json-indented: JSON is indented. (K1 K2 K18 K35; RFC 8259"),
            ("scenarios", "K4/letter-case[lower]"),
            ("models", "identity/INT32: identity_int32"),
        ],
    )
    def test_lists(self, what: str, line: str, cli: Cli) -> None:
        lines = cli("list", what, code=0).out.splitlines()
        assert any(x.startswith(line) for x in lines)
        assert all(x.isprintable() for x in lines)

    @pytest.mark.parametrize("kit", ["triton", "kserve"])
    def test_a_kit_goes_into_a_new_folder_only(self, kit: str, tmp_path: Path, cli: Cli) -> None:
        assert cli("kit", kit, tmp_path / "kit", code=0).out.startswith("wrote ")
        assert (tmp_path / "kit" / "README.md").exists()
        assert "not empty" in problem(cli("kit", kit, tmp_path / "kit", code=2))

    def test_serve_prints_its_url_and_ends_with_an_interrupt(self) -> None:
        with command("serve", "--port", "0") as process:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found
            with urllib.request.urlopen(found[0] + "/v2", timeout=10) as response:
                assert "binary_tensor_data" in json.load(response)["extensions"]
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0

    def test_serve_needs_a_free_port(self, cli: Cli) -> None:
        with serving(_silent) as server:
            ended = cli("serve", "--port", server.port, code=3)
        assert problem(ended).endswith(
            f"cannot listen on port {server.port}: address already in use; choose another with "
            "--port, or a free one with --port 0"
        )

    @pytest.mark.parametrize(
        ("own", "idle", "wrong", "code"),
        [
            (("P2/x",), [], [], 0),
            ((), [], [], 1),
            (("P2/x",), ["P2/y"], [], 1),
            (("P2/x",), [], [WRONG], 1),
        ],
    )
    def test_the_selftest_fails_for_every_hole(
        self,
        own: tuple[str, ...],
        idle: list[str],
        wrong: list[Result],
        code: int,
        monkeypatch: pytest.MonkeyPatch,
        cli: Cli,
    ) -> None:
        def made_up(workers: int | None, *, full: bool, seed: int) -> selftest.SelftestResult:
            assert (workers, full, seed) == (2, True, 7)
            trial = FaultTrial(next(iter(FAULTS)), "P2", own, ())
            return selftest.SelftestResult(Half((trial,), tuple(wrong), tuple(idle)))

        monkeypatch.setattr(selftest, "run_selftest", made_up)
        printed = cli("selftest", "-n", "2", "--full", "--seed", "7", code=code).out
        assert "--seed 7" in printed
        assert f"1 faults, {len(own)} caught by a case of their own requirement" in printed
        assert all(words in printed for words in (*idle, *(r.case.id for r in wrong)))

    def test_the_exit_code_is_that_of_the_process(self, tmp_path: Path) -> None:
        done = run([*COMMAND, "run", "--case", "Q1"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 4
        assert done.stderr.startswith("v2-conformance: the pattern 'Q1' matches no case")
        assert done.stderr.count("\n") == 1
