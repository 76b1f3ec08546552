"""Runs the command in a process of its own for each run, and tells what that took.

What a run loads, reads and compiles before it sends anything takes most of its time. So one process
does that once, with a run of its own, and forks for each run: `Suite` starts it, `main` is its
program.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from v2_conformance.cli.main import main as command

MIB = 1 << 20


@dataclass(frozen=True)
class Ended:
    """How a run ended: its exit code (negative: the signal), time, and peak of resident memory.

    `code` is None if the run had to be killed, because it took longer than it was given.
    """

    code: int | None
    seconds: float
    peak_mib: float
    out: str
    err: str


class Suite:
    """The process that forks runs. Use it as a context manager."""

    def __enter__(self) -> Suite:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=60)

    def run(self, arguments: Sequence[str], folder: Path, within_s: float) -> Ended:
        """The command with `arguments`; what it prints passes through files in `folder`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        task = {"arguments": list(arguments), "folder": str(folder), "within_s": within_s}
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        code, seconds = json.loads(self._process.stdout.readline())
        peak = folder / "peak"
        return Ended(
            code,
            seconds,
            float(peak.read_text()) if peak.exists() else 0.0,
            (folder / "out").read_text(),
            (folder / "err").read_text(),
        )


def main() -> None:
    """Fork a run for each line of standard input, and say how it ended."""
    _load()
    for line in sys.stdin:
        task = json.loads(line)
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            _run(task["arguments"], Path(task["folder"]))
        code = _wait(child, started + task["within_s"])
        sys.stdout.write(json.dumps([code, time.monotonic() - started]) + "\n")
        sys.stdout.flush()


def _load() -> None:
    """Run one case against the embedded server, and keep nothing but what that loads."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        nowhere = stack.enter_context(open(os.devnull, "w"))
        stack.enter_context(redirect_stdout(nowhere))
        stack.enter_context(redirect_stderr(nowhere))
        command(["run", "--case", "P1/*", "--report-dir", folder])


def _wait(child: int, deadline: float) -> int | None:
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _run(arguments: Sequence[str], folder: Path) -> None:
    """The run itself, in the child; never returns."""
    code = 70
    try:
        Path("/proc/self/clear_refs").write_text("5")  # from here on the peak is this run's
        with ExitStack() as stack:
            out = stack.enter_context((folder / "out").open("w"))
            err = stack.enter_context((folder / "err").open("w"))
            os.dup2(err.fileno(), 2)
            stack.enter_context(redirect_stdout(out))
            stack.enter_context(redirect_stderr(err))
            code = command(arguments)
        lines = Path("/proc/self/status").read_text().splitlines()
        peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
        (folder / "peak").write_text(str(peak / 1024))
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
