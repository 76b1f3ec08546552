"""Whole commands as users wait for them: `whole.py URL` prints JSON.

`run` without a URL tests the embedded server; its exchanges are sent again on one bare connection
to the server at URL. `pytest` and `run` test the server at URL, with a report. Times are medians.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from replay import answered_requests, timed_replay
from sizes import size

from v2_conformance.formats.html.page import render
from v2_conformance.report.files import load_report
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.transport import WAKING_S

ROUNDS = size(3, 1)
COMMAND = [sys.executable, "-m", "v2_conformance"]
# C5 has requests of many kinds, HEAD among them.
RUN = [*COMMAND, "run", *size((), ("--case", "C5"))]
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *size((), ("-k", "C5"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    url = parser.parse_args().url
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(_measured(url, Path(folder))))


def _measured(url: str, folder: Path) -> dict[str, object]:
    own, away = folder / "own", folder / "away"
    path = own / "report.json"
    whole, bare, run, pytest = [], [], [], []
    for _ in range(ROUNDS):
        whole.append(_timed([*RUN, "--report-dir", str(own)]))
        requests = answered_requests(load_report(path))
        bare.append(timed_replay(url, requests))
        run.append(_timed([*RUN, url, "--report-dir", str(away)]))
        pytest.append(_timed([*PYTEST, "--v2-url", url, "--v2-report-dir", str(away)], folder))
    report = load_report(path)
    case = next(case.id for case in report.cases if case.exchanges)
    commands = {
        "--help": ["--help"],
        "list cases": ["list", "cases"],
        "show": ["show", str(path), case],
    }
    return {
        "exchanges": len(requests),
        "whole_s": statistics.median(whole),
        "bare_s": statistics.median(bare),
        "whole_ratio": statistics.median(a / b for a, b in zip(whole, bare, strict=True)),
        "pytest_ratio": statistics.median(a / b for a, b in zip(pytest, run, strict=True)),
        "pytest_s": statistics.median(pytest),
        "run_s": statistics.median(run),
        "page_s": statistics.median(_clocked(lambda: render(report)) for _ in range(ROUNDS)),
        "paused_s": sum(_paused_s(one) for case in report.cases for one in case.exchanges),
        "page_bytes": (own / "report.html").stat().st_size,
        "report_bytes": path.stat().st_size,
        "packed_bytes": len(gzip.compress(path.read_bytes())),
        "commands": {
            name: statistics.median(_timed([*COMMAND, *given]) for _ in range(ROUNDS))
            for name, given in commands.items()
        },
    }


def _paused_s(exchange: Exchange) -> float:
    """Seconds that a request pauses between its writes, but for a client that waits for 100."""
    short = exchange.pause_ms / 1000 <= WAKING_S
    return exchange.pause_ms / 1000 * (len(exchange.pieces) - 1) if short and exchange.pieces else 0


def _clocked(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _timed(command: list[str], folder: Path | None = None) -> float:
    """Seconds for a command, whatever its verdict."""
    return _clocked(lambda: subprocess.run(command, cwd=folder, capture_output=True))


if __name__ == "__main__":
    main()
