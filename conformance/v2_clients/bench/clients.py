"""Ways to run a client: as a command of its own, or as a function of this process.

Whatever a client does ends its scenario alone: one that hangs or floods is ended, and what it
prints is bounded. A command is never given to a shell.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from v2_clients.judging.judge import MOST_OUTPUT
from v2_conformance.child_processes import no_survivors
from v2_conformance.errors import UsageError
from v2_conformance.redaction import Mask
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.tasks import Line, Said, Task, checked_line, read_lines

STARTUP_S = 20.0
"""Seconds that a command has besides the time limits of its requests, to start and to end."""

_IN_PROCESS_S = 2.0
_READ = 64 * 1024
STDERR = 4096
"""Bytes of the end of standard error that a report keeps."""
_PIPES_S = 0.5
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy", "ws_proxy"})


class Client(Protocol):
    """A client that is tested."""

    def run(self, task: Task, url: str) -> Said:
        """Do the task against the server at `url`, and return its result. Never raises for what the
        client does.
        """


class CommandClient:
    """A command that is run once for each scenario, in a process group of its own. When it ends, so
    does whatever it left behind.

    `{url}`, `{scenario}` and `{task}` in its arguments stand for the base URL, the scenario's id
    and the path of a JSON file with the task, which are in its environment, too (V2_BENCH_URL,
    V2_BENCH_SCENARIO, V2_BENCH_TASK, V2_BENCH_TIMEOUT). Variables that name a proxy are removed:
    the bench is on this machine. What it prints beside its lines is kept without the secrets of
    `mask`.
    """

    def __init__(
        self, command: Sequence[str], *, startup_s: float = STARTUP_S, mask: Mask | None = None
    ) -> None:
        if not command:
            raise UsageError("no command to run")
        self.command = tuple(command)
        self._startup_s = startup_s
        self._mask = mask or Mask()

    def run(self, task: Task, url: str) -> Said:
        """See Client. Raises UsageError if the command cannot be started at all."""
        limit = self._startup_s + task.timeout_s * len(task.requests)
        with tempfile.TemporaryDirectory(prefix="v2-bench-") as folder, no_survivors():
            path = Path(folder) / "task.json"
            path.write_bytes(msgspec.json.encode(task))
            known = {"{url}": url, "{scenario}": task.scenario, "{task}": str(path)}
            variables = {
                "V2_BENCH_URL": url,
                "V2_BENCH_SCENARIO": task.scenario,
                "V2_BENCH_TASK": str(path),
                "V2_BENCH_TIMEOUT": f"{task.timeout_s:g}",
            }
            arguments = [_filled(argument, known) for argument in self.command]
            with started(arguments, variables, stdin=subprocess.DEVNULL) as process:
                try:
                    output = _Output(process, time.monotonic() + limit, self._mask.longest)
                finally:
                    end(process)
        lines, garbage = read_lines(bytes(output.stdout), len(task.requests))
        return Said(
            lines=lines,
            garbage=shown_garbage(self._mask, garbage),
            ended=output.ended,
            exit=process.returncode if output.ended == "exit" else None,
            stderr=shown_end(self._mask, output.stderr),
            seconds=limit,
        )


def started(
    arguments: Sequence[str], variables: Mapping[str, str], *, stdin: int
) -> subprocess.Popen[bytes]:
    """Start a client in a process group of its own, without a shell, with these variables and its
    output in pipes. Raises UsageError if it cannot be started.
    """
    try:
        return subprocess.Popen(
            arguments,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**_without_proxies(os.environ), **variables},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot run {arguments[0]!a:.200}: {why}") from error


def shown_garbage(mask: Mask, garbage: str | None) -> str | None:
    """Return what is wrong with a line that a client printed as a report has it."""
    return None if garbage is None else printable(_without_secrets(mask, garbage.encode()))


def shown_end(mask: Mask, stderr: bytes | bytearray) -> str:
    """Return the end of what a client printed on standard error as a report has it."""
    return printable(_without_secrets(mask, stderr)[-STDERR:], 2 * STDERR)


def _without_secrets(mask: Mask, printed: bytes | bytearray) -> str:
    return mask.excerpt(bytes(printed)).decode("utf-8", "replace")


def _without_proxies(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without variables that would send a client to the bench through a
    proxy: that might not reach it, and would be judged in place of the client.
    """
    return {name: value for name, value in variables.items() if name.lower() not in _PROXIES}


def _filled(argument: str, known: Mapping[str, str]) -> str:
    for name, value in known.items():
        argument = argument.replace(name, value)
    return argument


class _Output:
    """Output of a process, until the process ends or its time or room is used up. Of what it prints
    on standard error, `overlap` bytes are kept before those that are shown."""

    def __init__(self, process: subprocess.Popen[bytes], deadline: float, overlap: int) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.ended: Any = "exit"
        errors = 0
        assert process.stdout is not None
        assert process.stderr is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            selector.register(process.stderr, selectors.EVENT_READ)
            while selector.get_map():
                left = deadline - time.monotonic()
                if left <= 0:
                    self.ended = "timeout"
                    return
                if process.poll() is not None:
                    # A child of the client may keep its pipes open forever.
                    deadline = min(deadline, time.monotonic() + _PIPES_S)
                for key, _ in selector.select(min(left, _PIPES_S)):
                    data = os.read(key.fd, _READ)
                    if not data:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is process.stdout:
                        self.stdout += data
                    else:
                        errors += len(data)
                        self.stderr = (self.stderr + data)[-STDERR - overlap :]
                if len(self.stdout) > MOST_OUTPUT or errors > MOST_OUTPUT:
                    del self.stdout[MOST_OUTPUT:]
                    self.ended = "flood"
                    return
                if process.poll() is not None and time.monotonic() >= deadline:
                    return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
        if process.poll() is None:
            self.ended = "timeout"


def end(process: subprocess.Popen[bytes]) -> None:
    """End the client and every process of its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


Spoken = Line | Mapping[str, Any]
"""A line as a function gives it."""


class InProcessClient:
    """A function of this process, in a thread of its own: for selftest and tests.

    `does` gets the task and gives its lines, as `Line`s or as the JSON that they are.
    """

    def __init__(self, does: Callable[[Task], Iterable[Spoken]]) -> None:
        self._does = does

    def run(self, task: Task, url: str) -> Said:
        """See Client."""
        lines: list[Line] = []
        problems: list[tuple[int, str]] = []

        def work() -> None:
            try:
                for item in self._does(task):
                    line = item if isinstance(item, Line) else msgspec.convert(item, Line)
                    lines.append(checked_line(line))
            except Exception as error:  # catches whatever the client raises
                problems.append((1, printable(f"{type(error).__name__}: {error}")))

        limit = _IN_PROCESS_S + task.timeout_s * len(task.requests)
        thread = threading.Thread(target=work, name="bench-client", daemon=True)
        thread.start()
        thread.join(limit)
        if thread.is_alive():
            return Said(lines=tuple(lines), ended="timeout", seconds=limit)
        code, stderr = problems[0] if problems else (0, "")
        return Said(lines=tuple(lines), exit=code, stderr=stderr, seconds=limit)
