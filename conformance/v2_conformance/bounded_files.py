"""Files that somebody else wrote or may have replaced: read within bounds, written beside traps."""

from __future__ import annotations

import os
import select
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from v2_conformance.errors import ConformanceError

_PATIENCE_S = 10.0
"""How long a pipe may say nothing."""
_LONGEST_S = 60.0
"""How long it may take to read whole what is no regular file."""
_PIECE = 1 << 20
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_NEW |= getattr(os, "O_BINARY", 0)


def read_bounded(
    path: Path, most: int, error: type[ConformanceError], *, regular: bool = False
) -> bytes:
    """All bytes of a file, of which there may be `most`. Unless it has to be `regular`, because
    nobody named it, it may be a pipe or a device.

    Raises `error`, in one line, if it cannot be read, has more, or does not come to an end.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_WAIT)
    except OSError as problem:
        raise error(_unreadable(path, problem)) from problem
    except ValueError as problem:  # a NUL in its name
        raise error(f"cannot read {path}: {problem}") from problem
    try:
        if regular and not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise error(f"cannot read {path}: it is not a regular file")
        return _read(descriptor, path, most, error)
    except OSError as problem:
        raise error(_unreadable(path, problem)) from problem
    finally:
        os.close(descriptor)


def _unreadable(path: Path, problem: OSError) -> str:
    if isinstance(problem, IsADirectoryError):
        hint = "; name the report.json in it" if (path / "report.json").is_file() else ""
        return f"cannot read {path}: it is a folder{hint}"
    return f"cannot read {path}: {problem.strerror}"


def _read(descriptor: int, path: Path, most: int, error: type[ConformanceError]) -> bytes:
    too_long = error(f"cannot read {path}: it has more than {_in_words(most)}")
    if os.fstat(descriptor).st_size > most:
        raise too_long
    data = bytearray()
    deadline = time.monotonic() + _LONGEST_S
    while True:
        try:
            # A file in /proc says that it is empty, and so does a device: only reading tells.
            piece = os.read(descriptor, min(_PIECE, most + 1 - len(data)))
        except BlockingIOError:
            piece = None
        if piece == b"" and (data or not _is_pipe_without_writer(descriptor)):
            return bytes(data)
        if piece:
            data += piece
        elif time.monotonic() > deadline or not _more_comes(descriptor):
            raise error(f"cannot read {path}: nothing more came out of it, and it did not end")
        if len(data) > most:
            raise too_long


def _more_comes(descriptor: int) -> bool:
    """Return True if there is something to read, or an end, before patience runs out."""
    return bool(select.select([descriptor], [], [], _PATIENCE_S)[0])


def _is_pipe_without_writer(descriptor: int) -> bool:
    """Return True if it is a pipe that nobody has opened to write to yet: its end is no end
    then."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    # After a writer has gone it says that it hung up, and a file is always readable.
    return not poll.poll(0)


def _in_words(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def create_new(path: Path) -> int:
    """The descriptor of a new, empty file, to write and to read, in the place of whatever has that
    name. Raises OSError.

    What was there is removed, not written to: it may be a link to another file. Every file that is
    opened by its name to be written is opened here.
    """
    with suppress(FileNotFoundError):
        path.unlink()
    return os.open(path, _NEW, 0o666)


def write_whole(path: Path, pieces: Iterable[bytes], *, suffix: str = ".new") -> None:
    """Write a whole file in the place of the old one, or leave the old one. Raises OSError.

    Another file, or a link to one, is replaced and not written to. Until it is whole it stands
    beside, under its name with the `suffix`, of which processes that may write at the same time
    need one each.
    """
    beside = path.with_name(path.name + suffix)
    descriptor = create_new(beside)
    try:
        try:
            for piece in pieces:
                write_all(descriptor, piece)
        finally:
            os.close(descriptor)
        os.replace(beside, path)
    except OSError:
        with suppress(OSError):
            beside.unlink()
        raise


def write_all(descriptor: int, content: bytes) -> None:
    """Write all of it, however many calls that takes. Raises OSError."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
