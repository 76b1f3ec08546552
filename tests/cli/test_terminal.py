"""Whatever is printed is printable, and a stream that is closed changes no exit code."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from support.commands import Cli
from support.reports import case, report_of, saved

HOSTILE = "\x1b]0;title\x07\x1b[2J\u202e\x00\x9b"


@pytest.mark.parametrize("command", ["verify", "diff", "show", "report", "expect"])
def test_no_text_or_path_tells_the_terminal_what_to_do(
    command: str, tmp_path: Path, cli: Cli
) -> None:
    report = report_of([case("D1/x", "fail")])
    suite = msgspec.structs.replace(report.suite, version=HOSTILE, catalogue_version=HOSTILE)
    folder = tmp_path / "\x1b]0;title\x07\u202e"
    path = saved(msgspec.structs.replace(report, suite=suite), folder / "report.json")
    more: dict[str, list[object]] = {
        "diff": [path],
        "show": ["D1/x"],
        "expect": [folder / "expect.yaml"],
    }
    printed = cli(command, path, *more.get(command, ()))
    assert all(line.isprintable() for line in (printed.out + printed.err).splitlines())


@pytest.mark.parametrize(("closed", "shown"), [("2>&-", ""), (">&- 2>&-", ""), (">&-", "cannot")])
def test_a_closed_stream_changes_no_exit_code(closed: str, shown: str, tmp_path: Path) -> None:
    call = f"{sys.executable} -m v2_conformance verify {tmp_path}/none.json"
    done = subprocess.run(["sh", "-c", f"{call} {closed}"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert shown in done.stderr


def test_a_progress_bar_may_move_the_cursor(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    call = [sys.executable, "-m", "v2_conformance", "run", "--case", "P5", "--report-dir"]
    with open(ours, "rb", buffering=0) as terminal:
        subprocess.run([*call, str(tmp_path)], stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        shown = terminal.read(1 << 16)
    assert b"\x1b[?25l" in shown
    assert b"\\x1b" not in shown
