"""The command against hostile servers and signals: what is shown, hidden and kept."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen

import pytest

from support.commands import Cli
from support.runs import command
from support.servers import Start
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.report.files import load_report


@contextlib.contextmanager
def half_done(start: Start, folder: Path, *more: str, after: int = 5) -> Iterator[Popen[str]]:
    """A run that waits for answers after `after` results, and gets none."""
    reached, release = threading.Event(), threading.Event()
    journal = folder / "report.jsonl"

    class Pauses(Behavior):
        def infer(self, model: object, request: Request) -> Response:
            done = journal.read_bytes() if journal.exists() else b""
            if done.count(b'\n{"case":') >= after:
                reached.set()
                release.wait(20)
            return super().infer(model, request)  # type: ignore[arg-type]

    with command("run", start(Pauses).url, "--report-dir", str(folder), *more) as process:
        try:
            assert reached.wait(40)
            yield process
        finally:
            release.set()


@pytest.mark.parametrize(
    ("number", "more", "after"),
    [
        (signal.SIGTERM, ["-n", "1"], 5),
        (signal.SIGINT, ["-n", "2"], 5),
        (signal.SIGHUP, ["--case", "C6/unlike-ids", "--case", "C6/unlike-shapes"], 1),
    ],
)
def test_a_signal_leaves_a_report_that_says_incomplete(
    start: Start, tmp_path: Path, number: signal.Signals, more: list[str], after: int
) -> None:
    with half_done(start, tmp_path, *more, after=after) as process:
        process.send_signal(number)
        _, errors = process.communicate(timeout=15)  # earlier than the answers
    assert process.returncode == 3
    assert errors.splitlines()[-1] == (
        "v2-conformance: stopped; what was found so far: v2-conformance report "
        f"{tmp_path / 'report.jsonl'}"
    )
    assert "Traceback" not in errors
    report = load_report(tmp_path / "report.json")
    assert not report.complete
    assert not report.verdict.conformant
    assert "incomplete" in report.verdict.reasons[0]
    assert 0 < len(report.cases) < 500


def test_killed_run_becomes_report(start: Start, tmp_path: Path, cli: Cli) -> None:
    with half_done(start, tmp_path) as process:
        process.kill()
        process.communicate(timeout=20)
    assert not (tmp_path / "report.json").exists()
    assert "report.json" in cli("report", tmp_path / "report.jsonl", code=0).out
    report = load_report(tmp_path / "report.json")
    assert not report.complete
    assert report.cases
