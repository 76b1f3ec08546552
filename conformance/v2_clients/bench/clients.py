"""Runs a client: as a command, or as a function of this process.

A command reads a task from each line of its standard input, and prints a line with its answer:

    {"scenario": "K2/blobs-in-order", "lines": [{"outputs": …}, {"error": …}]}

One that ends after an answer is started again for the next task. One with `{task}`, `{url}` or
`{scenario}` in its arguments is started for each task and reads nothing.

Whatever a client does ends its scenario alone: one that hangs or floods is ended, and what it
prints is bounded. A command is never given to a shell.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from v2_clients.bench.messages import PrintedAnswer, Task, checked_line, read_answer, unlike
from v2_clients.bench.process_groups import end_group, start_group
from v2_clients.bench.tasks import MOST_OUTPUT
from v2_conformance.errors import UsageError
from v2_conformance.redaction import Mask
from v2_conformance.runs.patience import Budget
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.client_lines import ClientResult, Line

STARTUP_S = 20.0
"""Seconds that a command has besides the time limits of its requests, to start and to end."""

STDERR = 4096
"""Bytes of the end of standard error that a report keeps."""

_IN_PROCESS_S = 2.0
_READ = 64 * 1024
_POLL_S = 0.5
_ENDS_S = 2.0
# A proxy might not reach the bench, and would be judged in place of the client.
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy", "ws_proxy"})
_KEPT = 8  # lines
_PLACES = ("{url}", "{scenario}", "{task}")


class Client(Protocol):
    """A client that is tested."""

    def run(self, task: Task, began: Callable[[], bool], budget: Budget) -> ClientResult:
        """Do the task within the `budget` of the run, and return its result. `began` is True once a
        request of it has come. Never raises for what the client does.
        """

    def another(self) -> Client:
        """Return the same client, to be run at the same time."""

    def close(self) -> None:
        """End the client, and start it no more. Any thread may call this."""


class CommandClient:
    """A command in a process group of its own. When it ends, so does whatever it left behind.

    `{url}`, `{scenario}` and `{task}` in its arguments stand for the base URL, the scenario's id
    and the path of a JSON file with the task. Variables that name a proxy are removed: the bench is
    on this machine. What it prints beside its answers is kept without the secrets of `mask`.
    """

    def __init__(
        self, command: Sequence[str], *, startup_s: float = STARTUP_S, mask: Mask | None = None
    ) -> None:
        if not command:
            raise UsageError("no command to run")
        self.command = tuple(command)
        self._startup_s = startup_s
        self._mask = mask or Mask()
        self._reads = not any(place in word for place in _PLACES for word in self.command)
        self._process: _Process | None = None
        self._lock = threading.Lock()
        self._closed = False

    def another(self) -> CommandClient:
        """See Client."""
        return CommandClient(self.command, startup_s=self._startup_s, mask=self._mask)

    def close(self) -> None:
        """See Client."""
        with self._lock:
            self._closed = True
            self._end()

    def run(self, task: Task, began: Callable[[], bool], budget: Budget) -> ClientResult:
        """See Client. Raises UsageError if the command cannot be started at all."""
        limit = self._startup_s + task.timeout_s * len(task.requests)
        with tempfile.TemporaryDirectory(prefix="v2-bench-") as folder:
            while True:
                process, is_new = self._process, self._process is None
                if process is None:
                    process = self._start(task, Path(folder) / "task.json")
                kept = False
                try:
                    line = msgspec.json.encode(task) + b"\n" if self._reads else b""
                    reported = process.reported(task, line, min(limit, budget.left_s))
                    kept = self._reads and process.answered
                finally:
                    if not kept:
                        with self._lock:
                            self._end()
                # One that had answered an earlier task may have ended before it read this one.
                if (
                    is_new
                    or process.answered
                    or reported.ended != "exit"
                    or reported.garbage
                    or began()
                ):
                    return reported

    def _start(self, task: Task, path: Path) -> _Process:
        arguments = list(self.command)
        if not self._reads:
            path.write_bytes(msgspec.json.encode(task))
            for place, value in zip(_PLACES, (task.url, task.scenario, str(path)), strict=True):
                arguments = [word.replace(place, value) for word in arguments]
        with self._lock:
            if self._closed:
                raise UsageError("the client is closed")
            self._process = _Process(arguments, self._mask, reads=self._reads)
            return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


class _Process:
    """A process of a client, which is given one task after another."""

    def __init__(self, arguments: Sequence[str], mask: Mask, *, reads: bool) -> None:
        self._mask = mask
        try:
            self._process = start_group(
                arguments,
                stdin=subprocess.PIPE if reads else subprocess.DEVNULL,
                env={k: value for k, value in os.environ.items() if k.lower() not in _PROXIES},
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise UsageError(f"cannot run {arguments[0]!a:.200}: {why}") from error
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
        self.answered = False
        """True once it has answered the last task."""
        self._stdout = bytearray()
        self._lines: list[bytes] = []  # the last ones that were printed
        self._errors = bytearray()
        self._task: Task
        self._answer: PrintedAnswer | None = None
        self._garbage: str | None = None
        self._printed = 0

    def end(self) -> None:
        """End it, with every process of its group and what they left behind."""
        end_group(self._process)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def reported(self, task: Task, line: bytes, limit_s: float) -> ClientResult:
        """Give it a task, and return what it says of it within `limit_s` seconds."""
        self._task, self._answer, self._garbage, self._printed = task, None, None, 0
        self.answered = False
        self._errors.clear()
        how = self._talk(bytearray(line), time.monotonic() + limit_s)
        lines, garbage = (), self._garbage
        if self._answer is not None:
            lines, garbage = self._answer.checked(len(task.requests))
            self.answered = True
        code = self._process.poll() if how == "exit" and not lines and garbage is None else None
        return ClientResult(
            lines=lines,
            garbage=None if garbage is None else printable(self._shown(garbage.encode())),
            ended=how,
            exit=code,
            stderr=printable(self._shown(self._errors).rstrip()[-STDERR:], 2 * STDERR),
            seconds=limit_s,
        )

    def _talk(self, unsent: bytearray, deadline: float) -> Literal["exit", "timeout", "flood"]:
        """Talk to it until it has answered, has ended or has to be ended; return how."""
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdout is not None
        assert stderr is not None
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            selector.register(stderr, selectors.EVENT_READ)
            if stdin is not None:
                selector.register(stdin, selectors.EVENT_WRITE)
            while (left := deadline - time.monotonic()) > 0:
                ready = selector.select(min(left, _POLL_S))
                if not ready and self._process.poll() is not None:
                    return self._exited()  # a child of it may keep its pipes open forever
                # Standard error first: what came before an answer belongs to it.
                for key, _ in sorted(ready, key=lambda one: one[0].fileobj is stdout):
                    if key.fileobj is stdin:
                        if not _written(key.fd, unsent):
                            selector.unregister(key.fileobj)
                    elif not self._read(key.fd, errors=key.fileobj is stderr):
                        if key.fileobj is stdout:
                            return self._exited()
                        selector.unregister(key.fileobj)
                    if self._printed > MOST_OUTPUT:
                        return "flood"
                if self._answer is not None or self._garbage is not None:
                    return "exit"
        self._garbage = unlike(self._lines, of_any=True)
        return "timeout"

    def _exited(self) -> Literal["exit", "timeout"]:
        """Return how it ended, now that it closed a pipe: by itself, if it does so soon."""
        assert self._process.stderr is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDS_S)
        os.set_blocking(self._process.stderr.fileno(), False)
        with contextlib.suppress(OSError):
            while self._read(self._process.stderr.fileno(), errors=True):
                pass
        self._take(bytes(self._stdout))  # without the end of its line
        if self._answer is None and self._garbage is None:
            self._garbage = unlike(self._lines)
        ended = self._process.poll() is not None
        return "exit" if ended or self._garbage is not None or self._answer else "timeout"

    def _read(self, file: int, *, errors: bool) -> bool:
        """Read what has come; return False at its end."""
        data = os.read(file, _READ)
        self._printed += len(data)
        if errors:
            self._errors = (self._errors + data)[-STDERR - self._mask.longest :]
            return bool(data)
        self._stdout += data
        if b"\n" in data:
            *lines, self._stdout = self._stdout.split(b"\n")
            for line in lines:
                self._take(bytes(line))
        return bool(data)

    def _take(self, line: bytes) -> None:
        """Take a line that it printed."""
        self._lines = [*self._lines[1 - _KEPT :], line]
        if self._answer is None and self._garbage is None:
            answer, self._garbage = read_answer(line)
            if answer is not None and answer.scenario == self._task.scenario:
                self._answer = answer

    def _shown(self, printed: bytes | bytearray) -> str:
        return self._mask.excerpt(bytes(printed)).decode("utf-8", "replace")


def _written(file: int, unsent: bytearray) -> bool:
    """Write what the pipe takes; return True if there is more to write, to somebody who reads."""
    try:
        del unsent[: os.write(file, unsent[:_READ])]
    except BlockingIOError:
        return True
    except OSError:
        return False
    return bool(unsent)


Spoken = Line | Mapping[str, Any]
"""A line as a function gives it."""


class InProcessClient:
    """A function of this process, in a thread of its own: for selftest and tests.

    `does` gets the task and gives its lines, as `Line`s or as the JSON that they are.
    """

    def __init__(self, does: Callable[[Task], Iterable[Spoken]]) -> None:
        self._does = does

    def another(self) -> InProcessClient:
        """See Client."""
        return self

    def close(self) -> None:
        """See Client: a thread cannot be ended."""

    def run(self, task: Task, began: Callable[[], bool], budget: Budget) -> ClientResult:
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

        limit = min(_IN_PROCESS_S + task.timeout_s * len(task.requests), budget.left_s)
        thread = threading.Thread(target=work, name="bench-client", daemon=True)
        thread.start()
        thread.join(limit)
        if thread.is_alive():
            return ClientResult(lines=tuple(lines), ended="timeout", seconds=limit)
        code, stderr = problems[0] if problems else (0, "")
        return ClientResult(lines=tuple(lines), exit=code, stderr=stderr, seconds=limit)
