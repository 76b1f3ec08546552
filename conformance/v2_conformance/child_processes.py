"""Programs that the suite runs for its user: servers, clients, restart commands."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PROC = Path("/proc")
_SET_CHILD_SUBREAPER = 36  # prctl(2)
_LONGEST_S = 10.0


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to the process group that `process` leads, even if that has ended itself."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


@contextmanager
def no_survivors() -> Iterator[None]:
    """End whatever descends from the processes that the block starts, and leaves behind.

    On Linux this includes what has a session of its own: orphans become children of this process.
    The block must end those that it starts, and nothing else in this process may start any
    meanwhile.
    """
    if not _adopts_orphans(True):
        yield
        return
    known = _children()
    try:
        yield
    finally:
        deadline = time.monotonic() + _LONGEST_S
        # The children of what ends become ours.
        while (left := _children() - known) and time.monotonic() < deadline:
            for process in left:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)
            for process in left:
                with suppress(ChildProcessError):
                    os.waitpid(process, 0)
        _adopts_orphans(False)


def _adopts_orphans(adopts: bool) -> bool:
    """Return True if this process now takes or leaves orphans as told."""
    if sys.platform != "linux" or not _PROC.is_dir():
        return False
    try:
        changed: int = ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(adopts), 0, 0, 0)
    except (OSError, AttributeError):
        return False
    return changed == 0


def _children() -> set[int]:
    """Return the ids of this process's children."""
    own, found = os.getpid(), set()
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it has ended
                # "pid (name) state ppid …", where a name may have anything in it
                after_name = (folder / "stat").read_bytes().rpartition(b")")[2].split()
                if int(after_name[1]) == own:
                    found.add(int(folder.name))
    return found
