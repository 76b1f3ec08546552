"""`run --start`: the server under test is started, waited for and ended."""

from __future__ import annotations

import shlex
import socket
import sys
from pathlib import Path

import pytest

from support.commands import Cli
from support.runs import command
from support.servers import free_port
from v2_conformance.cli.main import main
from v2_conformance.reference.server import ReferenceServer

SOME = ("--case", "P2/blob-follows-json[INT32]")
PYTHON = shlex.quote(sys.executable)


def serve(port: int) -> str:
    return f"{PYTHON} -m v2_conformance serve --port {port}"


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def run(port: int, start: str, folder: Path, *options: str) -> int:
    url = f"http://127.0.0.1:{port}"
    return main(["run", url, "--start", start, "--report-dir", str(folder), *SOME, *options])


def test_the_server_is_there_for_the_run_and_gone_after_it(tmp_path: Path) -> None:
    port = free_port()
    assert run(port, serve(port), tmp_path) == 0
    assert (tmp_path / "report.json").exists()
    assert (tmp_path / "server.log").read_text().startswith(f"serving on http://127.0.0.1:{port}")
    assert is_free(port)


def test_all_of_its_process_group_is_ended_also_what_the_shell_left_behind(tmp_path: Path) -> None:
    port = free_port()
    assert run(port, f"{serve(port)} & true", tmp_path) == 3  # the command itself has ended
    assert is_free(port)


def test_server_that_dies_at_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(free_port(), "echo loading; echo 'no such model' >&2; exit 7", tmp_path)
    assert code == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "the server of --start ended with exit code 7 before it was ready" in line
    assert "it printed: loading | no such model" in line
    assert not (tmp_path / "report.json").exists()


def test_server_never_ready_is_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(free_port(), "exec sleep 600", tmp_path, "--wait-ready", "0.1") == 3
    assert "--wait-ready changes the limit" in capsys.readouterr().err


def test_other_server_at_the_url(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ReferenceServer() as other:
        port = int(other.url.rpartition(":")[2])
        assert run(port, "exec sleep 600", tmp_path) == 2
    assert "something already answers at" in capsys.readouterr().err


def test_output_is_bounded_and_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "Zk9-pQ7w_vX2-mN4-t0ken")
    port = free_port()
    noise = "print('x' * (1 << 20) * 9)"
    start = f'echo "token $MY_TOKEN"; {PYTHON} -c "{noise}"; exec {serve(port)}'
    assert run(port, start, tmp_path, "--bearer-env", "MY_TOKEN") == 0
    log = (tmp_path / "server.log").read_bytes()
    assert b"t0ken" not in log
    assert log.startswith(b"token ******")
    assert len(log) <= 8 << 20


def test_output_is_masked_across_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "Zk9-pQ7w_vX2-mN4-t0ken"
    monkeypatch.setenv("MY_TOKEN", secret)
    port = free_port()
    says = f"print('-' * (65536 - 9) + '{secret}')"
    start = f'{PYTHON} -c "{says}"; exec {serve(port)}'
    assert run(port, start, tmp_path, "--bearer-env", "MY_TOKEN") == 0
    log = (tmp_path / "server.log").read_bytes()
    printed = log.partition(b"serving on")[0]
    assert set(printed) == set(b"-*\n")
    assert printed.count(b"*") == len(secret)


def test_its_log_is_not_written_through_a_link(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("mine")
    reports = tmp_path / "reports"
    reports.mkdir()
    (reports / "server.log").symlink_to(other)
    port = free_port()
    assert run(port, serve(port), reports) == 0
    assert other.read_text() == "mine"
    assert (reports / "server.log").read_text().startswith("serving on")


def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    port = free_port()
    arguments = ["run", f"http://127.0.0.1:{port}", "--start", serve(port)]
    with command(*arguments, "--report-dir", str(tmp_path)) as process:
        assert process.stderr is not None
        assert "testing http" in process.stderr.readline()
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 3
    assert is_free(port)


def test_a_replay_can_start_it_too(tmp_path: Path, cli: Cli) -> None:
    broken = ["--case", "P5", "--fault", "response-header-length-short"]
    assert main(["run", *broken, "--report-dir", str(tmp_path)]) == 1
    port = free_port()
    words = ["replay", str(tmp_path / "report.json"), f"http://127.0.0.1:{port}"]
    assert "fixed" in cli(*words, "--start", serve(port), code=0).out
    assert (tmp_path / "server.log").exists()
    assert is_free(port)
