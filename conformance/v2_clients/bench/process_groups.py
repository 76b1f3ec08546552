"""The process group of a client, which ends whole: every process that descends from it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from v2_conformance.runs.targets.started import signal_group

_PROC = Path("/proc")
_SET_CHILD_SUBREAPER = 36  # prctl(2)
_LONGEST_S = 10.0

_lock = threading.Lock()
_groups: set[int] = set()
_before: set[int] | None = None  # children from before the first group, if orphans are adopted


def start_group(
    arguments: Sequence[str], *, stdin: int, env: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a program in a process group of its own, without a shell, with its output in pipes. Any
    thread may call this, and has to call `end_group`. Raises OSError and ValueError.
    """
    global _before
    with _lock:
        if not _groups:
            _before = set(_children()) if _adopts_orphans(True) else None
        process = subprocess.Popen(
            arguments,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            start_new_session=True,
        )
        _groups.add(process.pid)
        return process


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a program, every process of its group, and whatever descends from them.

    On Linux this includes what has a session of its own: orphans become children of this process.
    """
    with _lock:
        if process.pid not in _groups:
            return
        signal_group(process, signal.SIGKILL)
        process.wait()
        _groups.discard(process.pid)
        if _before is None:
            return
        deadline = time.monotonic() + _LONGEST_S
        # The children of what ends become ours.
        while (left := _orphans(_before)) and time.monotonic() < deadline:
            for orphan in left:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(orphan, signal.SIGKILL)
            for orphan in left:
                with suppress(ChildProcessError):
                    os.waitpid(orphan, 0)
        if not _groups:
            _adopts_orphans(False)


def _orphans(before: set[int]) -> list[int]:
    """Return the children of this process that no group has which has not ended."""
    result = _children().items()
    return [one for one, group in result if one not in before and group not in _groups]


def _adopts_orphans(adopts: bool) -> bool:
    """Return True if this process now takes or leaves orphans as told."""
    if sys.platform != "linux" or not _PROC.is_dir():
        return False
    try:
        changed: int = ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(adopts), 0, 0, 0)
    except (OSError, AttributeError):
        return False
    return changed == 0


def _children() -> dict[int, int]:
    """Return the ids of this process's children, each with its process group."""
    own, result = os.getpid(), {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it has ended
                # "pid (name) state ppid pgrp …", where a name may have anything in it
                after_name = (folder / "stat").read_bytes().rpartition(b")")[2].split()
                if int(after_name[1]) == own:
                    result[int(folder.name)] = int(after_name[2])
    return result
