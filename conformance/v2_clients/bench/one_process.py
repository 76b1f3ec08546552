"""A client as one process for all scenarios: it reads a task from each line of its standard input,
and prints a line with the answer to each, in any order.

    {"scenario": "K2/blobs-in-order", "lines": [{"outputs": …}, {"error": …}]}

Lines that do not begin with `{"` are ignored, as are answers to tasks that it does not have.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from v2_clients.bench.clients import STARTUP_S, STDERR, end, shown_end, shown_garbage, started
from v2_clients.judging.judge import MOST_OUTPUT
from v2_conformance.child_processes import no_survivors
from v2_conformance.errors import ConformanceError, UsageError
from v2_conformance.redaction import Mask
from v2_conformance.suite.tasks import (
    Line,
    Said,
    Task,
    checked_lines,
    invalid,
    is_meant,
    stripped_line,
)

_PLACES = ("{url}", "{scenario}", "{task}")
_READ = 64 * 1024
_ENDS_S = 2.0
_POLL_S = 0.5


class LostBesideOthersError(ConformanceError):
    """The process ended while it had several tasks: this one has to be run again alone."""


class _Answer(msgspec.Struct, frozen=True):
    """An answer to a task."""

    scenario: str
    lines: tuple[msgspec.Raw, ...]


_ANSWER = msgspec.json.Decoder(_Answer)
_ANSWER_MEMBERS = ("scenario", "lines")


@dataclass
class _Asked:
    """A task that the process has. `limit_s` is its time, which `since` began."""

    task: Task
    limit_s: float
    since: float
    said: Future[Said] = field(default_factory=Future)


@dataclass(frozen=True)
class _Ended:
    """How a process ended, as in Said."""

    how: Literal["exit", "timeout", "flood"]
    code: int | None = None
    garbage: str | None = None


class OneProcessClient:
    """A command that is started once, in a process group of its own, and again after it ended.

    V2_BENCH_TASKS is `stdin` in its environment. When it is closed, so is its standard input;
    a moment later it is ended, with whatever it left behind.
    """

    def __init__(
        self, command: Sequence[str], *, startup_s: float = STARTUP_S, mask: Mask | None = None
    ) -> None:
        if not command:
            raise UsageError("no command to run")
        for place in _PLACES:
            if any(place in argument for argument in command):
                raise UsageError(
                    f"a command that runs once for all scenarios cannot have {place} in it: it "
                    "reads its tasks from standard input"
                )
        self.command = tuple(command)
        self._startup_s = startup_s
        self._mask = mask or Mask()
        self._session: _Session | None = None
        self._closed = False
        self._lock = threading.Lock()

    def run(self, task: Task, url: str) -> Said:
        """See Client; any thread may call this. Raises LostBesideOthersError, and UsageError if
        the command cannot be started at all."""
        with self._lock:
            if self._closed:
                raise LostBesideOthersError("the client is closed")
            session = self._session
            if session is None or not session.usable:
                if session is not None:
                    session.close()
                session = self._session = _Session(self.command, self._mask)
            asked = session.ask(task, self._startup_s)
        return asked.result()

    def close(self) -> None:
        """End the process, and start no more."""
        with self._lock:
            self._closed = True
            if self._session is not None:
                self._session.close()
                self._session = None


class _Session:
    """One process, from its start to its end, and the thread that talks to it."""

    def __init__(self, command: Sequence[str], mask: Mask) -> None:
        self._command = command
        self._mask = mask
        self._asked: dict[str, _Asked] = {}
        self._unsent = bytearray()
        self._lock = threading.Lock()
        self._closing = False
        self._ended = False
        self._waiting, self._waker = socket.socketpair()
        self._stdout = bytearray()
        self._garbage: str | None = None
        self._idle = 0  # bytes of output since the last answer
        self._stderr = bytearray()
        begun: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._serve, args=(begun,), name="bench-client", daemon=True
        )
        self._thread.start()
        begun.result()

    @property
    def usable(self) -> bool:
        """False once it has ended."""
        return not self._ended

    def ask(self, task: Task, slack_s: float) -> Future[Said]:
        """Send a task, and return what the client will have said."""
        limit_s = slack_s + task.timeout_s * len(task.requests)
        asked = _Asked(task, limit_s, time.monotonic())
        with self._lock:
            if self._ended:
                asked.said.set_exception(LostBesideOthersError("the process has ended"))
            else:
                self._asked[task.scenario] = asked
                self._unsent += msgspec.json.encode(task) + b"\n"
        self._wake()
        return asked.said

    def close(self) -> None:
        """End the process, at once if it still has tasks."""
        self._closing = True
        self._wake()
        self._thread.join()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._waker.send(b".")

    def _serve(self, begun: Future[None]) -> None:
        """Talk to the process until it ends, then give every task that it has its end."""
        ended = _Ended("exit")
        failed: BaseException | None = None
        try:
            with no_survivors():
                variables = {"V2_BENCH_TASKS": "stdin"}
                with started(self._command, variables, stdin=subprocess.PIPE) as process:
                    begun.set_result(None)
                    try:
                        ended = self._talk(process)
                    finally:
                        end(process)
                if ended.how == "exit" and ended.garbage is None:
                    ended = replace(ended, code=process.returncode)
        except BaseException as error:
            failed = error
        with self._lock:
            self._ended = True
            left = list(self._asked.values())
            self._asked.clear()
        self._waiting.close()
        self._waker.close()
        for asked in left:
            if failed is not None:
                asked.said.set_exception(failed)
            elif len(left) > 1 or self._closing:
                asked.said.set_exception(LostBesideOthersError("the process has ended"))
            else:
                asked.said.set_result(self._said(asked, ended, self._stderr))
        if failed is not None and not begun.done():
            begun.set_exception(failed)

    def _said(
        self,
        asked: _Asked,
        ended: _Ended,
        stderr: bytearray,
        lines: tuple[Line, ...] = (),
        garbage: str | None = None,
    ) -> Said:
        return Said(
            lines=lines,
            garbage=shown_garbage(self._mask, garbage if garbage is not None else ended.garbage),
            ended=ended.how,
            exit=ended.code,
            stderr=shown_end(self._mask, stderr),
            seconds=asked.limit_s,
        )

    def _talk(self, process: subprocess.Popen[bytes]) -> _Ended:
        """Talk to the process until it ends, has ended or has to be ended; return how."""
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
        os.set_blocking(stdin.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            selector.register(stderr, selectors.EVENT_READ)
            selector.register(self._waiting, selectors.EVENT_READ)
            writing = False
            while not self._closing:
                wants = bool(self._unsent)
                if wants and not writing:
                    selector.register(stdin, selectors.EVENT_WRITE)
                elif writing and not wants:
                    selector.unregister(stdin)
                writing = wants
                left_s = self._left_s()
                if left_s <= 0:
                    return _Ended("timeout")
                ready = selector.select(min(left_s, _POLL_S))
                if not ready and process.poll() is not None:
                    # A child of the client may keep its pipes open forever.
                    return self._exited(process)
                # Standard error first: what came before an answer belongs to it.
                for key, _ in sorted(ready, key=lambda one: one[0].fileobj is stdout):
                    if key.fileobj is self._waiting:
                        self._waiting.recv(_READ)
                    elif key.fileobj is stdin:
                        if not self._write(stdin.fileno()):
                            return self._exited(process)
                    elif not self._read(key.fd, errors=key.fileobj is stderr):
                        if key.fileobj is stdout:
                            return self._exited(process)
                        selector.unregister(stderr)
                    if self._idle > MOST_OUTPUT:  # before an answer that may come next
                        return _Ended("flood")
                if self._garbage is not None:
                    return _Ended("exit", garbage=self._garbage)
        if not self._asked:
            with contextlib.suppress(OSError):
                stdin.close()
            self._exited(process)
        return _Ended("exit")

    def _exited(self, process: subprocess.Popen[bytes]) -> _Ended:
        """Return how a process ended that closed a pipe: by itself, if it does so soon."""
        assert process.stderr is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_ENDS_S)
        os.set_blocking(process.stderr.fileno(), False)
        with contextlib.suppress(OSError):
            while self._read(process.stderr.fileno(), errors=True):
                pass
        self._take(stripped_line(bytes(self._stdout)))  # without the end of its line
        if self._garbage is not None:
            return _Ended("exit", garbage=self._garbage)
        return _Ended("exit" if process.poll() is not None else "timeout")

    def _left_s(self) -> float:
        """Return the seconds until the first task is out of time."""
        with self._lock:
            ends = [asked.since + asked.limit_s for asked in self._asked.values()]
        return min((at - time.monotonic() for at in ends), default=_POLL_S)

    def _write(self, file: int) -> bool:
        """Write what the pipe takes; return False if nobody reads it anymore."""
        with self._lock:
            try:
                del self._unsent[: os.write(file, self._unsent[:_READ])]
            except BlockingIOError:
                pass
            except OSError:
                return False
        return True

    def _read(self, file: int, *, errors: bool) -> bool:
        """Read what has come; return False at its end."""
        data = os.read(file, _READ)
        self._idle += len(data)
        if errors:
            self._stderr = (self._stderr + data)[-STDERR - self._mask.longest :]
        else:
            self._stdout += data
            if b"\n" in data:
                *lines, self._stdout = self._stdout.split(b"\n")
                for line in lines:
                    self._take(stripped_line(bytes(line)))
        return bool(data)

    def _take(self, line: bytes) -> None:
        """Take a line that the client printed."""
        if not is_meant(line, _ANSWER_MEMBERS) or self._garbage is not None:
            return
        try:
            answer = _ANSWER.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            self._garbage = f"{invalid(line, error, _ANSWER_MEMBERS)}, in {line[:120]!r:.200}"
            return
        with self._lock:
            asked = self._asked.pop(answer.scenario, None)
            if asked is None:
                return
            now = time.monotonic()
            for other in self._asked.values():
                other.since = now  # it may do one after the other
            stderr, self._stderr, self._idle = self._stderr, bytearray(), 0
        lines, garbage = checked_lines(map(bytes, answer.lines), len(asked.task.requests))
        asked.said.set_result(self._said(asked, _Ended("exit"), stderr, lines, garbage))
