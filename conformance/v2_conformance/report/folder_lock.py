"""One run at a time writes into a report folder: two would lose each other's records."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from v2_conformance.errors import UsageError, unwritable


def unwritable_folder(directory: Path, error: OSError) -> UsageError:
    """Return the error for a folder that takes no reports, with the way out."""
    return unwritable(
        error,
        f"cannot write reports into {directory}: {error.strerror}; choose another folder with "
        "--report-dir",
    )


@contextlib.contextmanager
def sole_run(directory: Path) -> Iterator[None]:
    """Lock `directory`, made if need be, for as long as the context lasts.

    The lock ends with its process. A file system without locks has none. Raises UsageError if
    another run has it, and if the folder cannot be made.
    """
    made = not directory.exists()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise unwritable_folder(directory, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(
                f"{directory} is in use: another run is writing its report there; wait for it, or "
                "choose another folder with --report-dir"
            ) from error
        except OSError:
            pass  # this file system has no locks
        yield
    finally:
        os.close(descriptor)
        if made:
            with contextlib.suppress(OSError):  # it has reports in it
                directory.rmdir()
