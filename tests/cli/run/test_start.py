"""`run --start`: the server under test is started, waited for and ended."""

from __future__ import annotations

import shlex
import socket
import sys
from pathlib import Path

import pytest

from support.runs import command
from support.servers import free_port
from v2_conformance.cli.main import main

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
    port, reports, other = free_port(), tmp_path / "reports", tmp_path / "other"
    other.write_text("mine")
    reports.mkdir()
    (reports / "server.log").symlink_to(other)  # it is not written through a link
    assert run(port, serve(port), reports) == 0
    assert (reports / "report.json").exists()
    assert (reports / "server.log").read_text().startswith(f"serving on http://127.0.0.1:{port}")
    assert other.read_text() == "mine"
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


def test_output_is_masked_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "Zk9-pQ7w_vX2-mN4-t0ken"
    monkeypatch.setenv("MY_TOKEN", secret)
    port = free_port()
    says = f"print('-' * (65536 - 9) + '{secret}', 'x' * (9 << 20))"
    start = f'{PYTHON} -c "{says}"; exec {serve(port)}'
    assert run(port, start, tmp_path, "--bearer-env", "MY_TOKEN") == 0
    log = (tmp_path / "server.log").read_bytes()
    assert log.startswith(b"-" * (65536 - 9) + b"*" * len(secret))  # across two pieces
    assert len(log) <= 8 << 20


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
