"""Files that others wrote or may have replaced: reads are bounded, writes follow no link."""

from __future__ import annotations

import fcntl
import os
import select
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from v2_conformance.errors import ConformanceError

_PATIENCE_S = 10.0
_PIECE = 1 << 20
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def read_bounded(path: Path, most: int, error: type[ConformanceError]) -> bytes:
    """Return all of a file, pipe or device, at most `most` bytes. Raises `error` in one line."""
    try:
        # Opening a named pipe waits for a writer, unless told not to block.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not select.select([file], [], [], _PATIENCE_S)[0]:
                raise error(f"cannot read {path}: nothing came out of it")
            os.set_blocking(file.fileno(), True)
            # A pipe or a device has no size: memory is taken for what comes out of it alone.
            size, pieces = os.fstat(file.fileno()).st_size, list[bytes]()
            step, length = max(size + 1, _PIECE), size if size > most else 0
            while length <= most and (piece := file.read(step)):
                pieces.append(piece)
                length += len(piece)
    except IsADirectoryError as problem:
        hint = "; name the report.json in it" if (path / "report.json").is_file() else ""
        raise error(f"cannot read {path}: it is a folder{hint}") from problem
    except (OSError, ValueError) as problem:  # a ValueError for a NUL in its name
        is_url = path.parts[:1] in (("http:",), ("https:",))
        why = "it is a URL" if is_url else getattr(problem, "strerror", problem)
        raise error(f"cannot read {path}: {why}") from problem
    if length > most:
        bound = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most >> 10} KiB"
        raise error(f"cannot read {path}: it has more than {bound}")
    return b"".join(pieces)


def create_new(path: Path) -> int:
    """The descriptor of a new, empty file, to write and to read, in the place of whatever has that
    name. Raises OSError.

    What was there is removed, not written to: it may be a link to another file. Every file that is
    opened by its name to be written is opened here.
    """
    with suppress(FileNotFoundError):
        path.unlink()
    return os.open(path, _NEW, 0o666)


def write_whole(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a whole file or leave the old one; a link is replaced, not followed. Raises OSError."""
    fresh = path.with_name(path.name + ".new")
    descriptor = create_new(fresh)
    try:
        try:
            for piece in pieces:
                write_all(descriptor, piece)
        finally:
            os.close(descriptor)
        os.replace(fresh, path)
    except OSError:
        with suppress(OSError):
            fresh.unlink()
        raise


def write_all(descriptor: int, content: bytes) -> None:
    """Write all of it, however many calls that takes. Raises OSError."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@contextmanager
def sole_use(
    directory: Path, in_use: ConformanceError, wrong: Callable[[OSError], ConformanceError]
) -> Iterator[None]:
    """Lock `directory`, made if need be and removed if it is left empty, if its file system has
    locks. Raises `in_use` if another process has, and what is `wrong` if it cannot be written to.
    """
    made = not os.path.lexists(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise wrong(error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise in_use from error
        except OSError:
            pass  # this file system has no locks
        yield
    finally:
        os.close(descriptor)
        if made:
            with suppress(OSError):  # there is something in it
                directory.rmdir()
