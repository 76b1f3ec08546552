"""`matrix run`: many targets, some of which cannot be tested, and one page."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from support.commands import Cli
from support.servers import Peer, free_port, serving, steps
from v2_conformance.cli.main import main
from v2_conformance.reference.server import ReferenceServer
from v2_mutants.servers import MutantServer

SOME = ("--case", "R2", "--case", "P2/*")


@pytest.mark.long
def test_every_target_is_on_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, reports = tmp_path / "targets", tmp_path / "reports"
    folder.mkdir()
    (folder / "README.md").write_text("no target")
    with ReferenceServer() as good, MutantServer(["error-is-plain-text"]) as bad:
        (folder / "good.yaml").write_text(f"url: {good.url}\n")
        (folder / "bad.json").write_text(f'{{"url": "{bad.url}"}}')
        (folder / "away.yml").write_text(f"url: http://127.0.0.1:{free_port()}\n")
        call = ["matrix", "run", str(folder), "--report-dir", str(reports), "--jobs", "2"]
        assert main([*call, "--", *SOME]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split(":")[0] for line in lines[:3]) == ["away", "bad", "good"]
    assert any("away: exit code 3: " in line and "cannot be reached" in line for line in lines)
    assert "good: exit code 0: incomplete run" in lines
    assert "not on the page: away, which left no report" in lines
    page = (reports / "index.html").read_text(encoding="utf-8")
    assert "good/report.html" in page
    assert "bad/report.html" in page
    assert "away" not in page
    assert "tested\n" not in (reports / "away/run.log").read_text()


@pytest.mark.long
def test_a_report_of_an_older_run_is_not_taken_for_a_new_one(tmp_path: Path, cli: Cli) -> None:
    folder, reports = tmp_path / "targets", tmp_path / "reports"
    folder.mkdir()
    with ReferenceServer() as server:
        (folder / "one.yaml").write_text(f"url: {server.url}\n")
        call = ["matrix", "run", str(folder), "--report-dir", str(reports), "--", *SOME]
        assert main(call) == 0
    assert (reports / "one/report.json").exists()
    assert "not on the page: one, which left no report" in cli(*call, code=3).out


def test_runs_end_with_the_command_that_started_them(tmp_path: Path) -> None:
    """Ctrl-C and SIGTERM leave no run behind."""
    folder = tmp_path / "targets"
    folder.mkdir()
    gone = threading.Event()

    with serving(steps(Peer.until_closed, gone)) as server:
        (folder / "one.yaml").write_text(f"url: {server.url}\ntimeout: 300\n")
        call = ["matrix", "run", str(folder), "--report-dir", str(tmp_path / "reports")]
        with subprocess.Popen(
            [sys.executable, "-m", "v2_conformance", *call], stderr=subprocess.PIPE
        ) as process:
            try:
                while not server.peers:
                    assert process.poll() is None
                process.send_signal(signal.SIGTERM)
                assert process.wait(60) == 3
            finally:
                process.kill()
        assert gone.wait(10)  # nobody is left who waits for an answer
