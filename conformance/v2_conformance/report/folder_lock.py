"""One run at a time writes into a report folder: two would lose each other's records.

The lock is the system's (flock), which ends with its process, and a file that says who has it. The
file alone decides where there is no flock, or where it does not reach the other machine (NFS).

The library filelock would replace two dozen lines of this, the flock itself: it names no holder,
knows nothing of other machines, and takes longer to import than a command to start.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from v2_conformance.bounded_files import read_bounded, write_all
from v2_conformance.errors import UsageError, unwritable
from v2_conformance.report.files import RECORD
from v2_conformance.suite.causes.base import printable

LOCK = "run.lock"
_LONGEST = 4096
_TRIES = 100
# A run on another machine that has written nothing for so long is taken to have crashed.
_SILENT_S = 600.0
_NO_FLOCK = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL})


class _Holder(msgspec.Struct, frozen=True):
    """Who has the lock. `process_started` tells processes with the same id apart; "" if unknown."""

    pid: int
    host: str
    started: str
    process_started: str = ""


@contextlib.contextmanager
def sole_run(directory: Path) -> Iterator[None]:
    """Lock `directory`, made if need be, for as long as the context lasts.

    The lock of a run that crashed is taken over. Raises UsageError if another run has it, naming
    that run, and if the folder cannot be written to.
    """
    made = not directory.exists()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = _acquired(directory)
    except OSError as error:
        raise unwritable(
            error,
            f"cannot write reports into {directory}: {error.strerror}; choose another folder with "
            "--report-dir",
        ) from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            (directory / LOCK).unlink()
        os.close(descriptor)
        if made:
            with contextlib.suppress(OSError):  # it has reports in it
                directory.rmdir()


def _acquired(directory: Path) -> int:
    """Return the open, locked lock file. Raises OSError and UsageError."""
    path = directory / LOCK
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    for _ in range(_TRIES):
        descriptor = os.open(path, flags, 0o666)
        try:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
                raise UsageError(f"{path} is not the lock of a run: remove it")
            locked = _flock(descriptor)
            holder = _holder(path)
            if locked is False or (holder and _may_run(holder, directory, locked)):
                raise UsageError(_refusal(directory, holder))
            if _is_at(path, descriptor):  # otherwise the previous run has just removed it
                os.ftruncate(descriptor, 0)
                write_all(descriptor, msgspec.json.encode(_this_process()))
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise UsageError(_refusal(directory, None))


def _flock(descriptor: int) -> bool | None:
    """Return True if the system gave this process the lock; None if it has no locks."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_FLOCK:
            return None
        raise
    return True


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _holder(path: Path) -> _Holder | None:
    """Return who wrote the lock file; None if nobody did, or another program."""
    try:
        return msgspec.json.decode(read_bounded(path, _LONGEST, UsageError), type=_Holder)
    except (UsageError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _may_run(holder: _Holder, directory: Path, locked: bool | None) -> bool:
    """Return True if the holder may be running, although the system gave this process the lock or
    has no locks.
    """
    if holder.host != socket.gethostname():
        return time.time() - _last_written(directory) < _SILENT_S
    return locked is None and holder.pid != os.getpid() and _is_alive(holder)


def _last_written(directory: Path) -> float:
    found = 0.0
    for name in (LOCK, RECORD):
        with contextlib.suppress(OSError):
            found = max(found, (directory / name).stat().st_mtime)
    return found


def _is_alive(holder: _Holder) -> bool:
    if holder.pid <= 0:
        return False
    try:
        os.kill(holder.pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    now = _process_started(holder.pid)
    return not now or not holder.process_started or now == holder.process_started


def _process_started(pid: int) -> str:
    """Return when a process started, in the system's own count; "" if the system does not say."""
    try:
        # The name of the program, which may have anything in it, ends with the last bracket.
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _this_process() -> _Holder:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return _Holder(os.getpid(), socket.gethostname(), now, _process_started(os.getpid()))


def _refusal(directory: Path, holder: _Holder | None) -> str:
    who = "another run"
    if holder is not None:
        who = f"the run with process id {holder.pid} on {printable(holder.host, 80)}"
        who += f", started {printable(holder.started, 40)},"
    return (
        f"{directory} is in use: {who} is writing its report there; wait for it or choose another "
        f"folder (if that run is gone, remove {directory / LOCK})"
    )
