"""A server that a run starts and ends itself."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import IO

from v2_conformance.bounded_files import create_new, write_all
from v2_conformance.errors import UnreachableError, UsageError, unwritable
from v2_conformance.redaction import Mask, MaskedStream
from v2_conformance.runs.targets.reaching import answers, wait_until_ready
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.causes.base import printable

OUTPUT = "server.log"
STARTED_WITHIN_S = 60.0

_MOST_OUTPUT = 8 << 20
_PIECE = 64 << 10
_LONGEST_END = 64 << 10
_LAST_LINES = 5
_LONGEST_SHOWN = 160
_ENDS_WITHIN_S = 10.0
_OUTPUT_WITHIN_S = 2.0


@contextmanager
def started_server(
    command: str, target: Target, output: Path, ready_within_s: float | None = None
) -> Iterator[None]:
    """Run a shell command that serves `target` until the block ends. The block begins once the
    server is ready.

    The command is a process group of its own, which is ended however the block ends: with SIGTERM,
    and with SIGKILL after ten seconds. What it prints goes to the file `output`, without the
    target's secrets and up to 8 MiB. Raises UsageError if something serves the target already, and
    UnreachableError if the command ends, with the last lines that it printed, or is not ready after
    `ready_within_s` seconds (60 by default).
    """
    if answers(target):
        raise UsageError(
            f"something already answers at {target.public_url}: stop it, or leave out --start"
        )
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        file = FileIO(create_new(output), "w")
    except OSError as error:
        raise unwritable(error, f"cannot write {output}: {error.strerror}") from error
    with file:
        process = subprocess.Popen(
            command,
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert process.stdout is not None
        printed = _Printed(process.stdout, file, target.mask)
        try:
            limit = STARTED_WITHIN_S if ready_within_s is None else ready_within_s

            def pause(seconds: float) -> None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(seconds)
                    raise UnreachableError(_died(process.returncode, printed, output))

            wait_until_ready(target, limit, pause=pause)
            if process.poll() is not None:
                raise UnreachableError(_died(process.returncode, printed, output))
            yield
        finally:
            _end(process)
            printed.finish()


def _died(code: int, printed: _Printed, output: Path) -> str:
    printed.finish()
    how = f"exit code {code}" if code >= 0 else f"signal {-code}"
    last = " | ".join(printed.last) or "nothing"
    return (
        f"the server of --start ended with {how} before it was ready; it printed: {last} ({output})"
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    signal_group(process, signal.SIGTERM)
    try:
        process.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        signal_group(process, signal.SIGKILL)
        process.wait()


class _Printed:
    """Output of a server, copied to a file without secrets in a thread of its own."""

    def __init__(self, source: IO[bytes], file: FileIO, mask: Mask) -> None:
        self._source = source
        self._file = file
        self._masked = MaskedStream(mask)
        self._end = b""
        self._room = _MOST_OUTPUT
        self._open = True
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._copy, name="server-output", daemon=True)
        self._thread.start()

    @property
    def last(self) -> list[str]:
        """The last lines, once all is copied."""
        lines = [line.strip() for line in self._end.decode("utf-8", "replace").splitlines()]
        return [printable(line, _LONGEST_SHOWN) for line in lines if line][-_LAST_LINES:]

    def finish(self) -> None:
        """Wait for the end of the output, but not for processes that outlive their group."""
        self._thread.join(_OUTPUT_WITHIN_S)
        with self._lock, contextlib.suppress(OSError):
            self._write(self._masked.rest())
            self._open = False

    def _copy(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._source as source:
            while piece := os.read(source.fileno(), _PIECE):
                with self._lock:
                    if self._open:
                        self._write(self._masked.feed(piece))

    def _write(self, masked: bytes) -> None:
        self._end = (self._end + masked)[-_LONGEST_END:]
        write_all(self._file.fileno(), masked[: self._room])
        self._room = max(0, self._room - len(masked))


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to the process group that `process` leads, even if that has ended itself."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
