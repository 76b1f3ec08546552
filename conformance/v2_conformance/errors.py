"""Errors around a run. Each message says what is wrong and what to do, in one line."""

from __future__ import annotations

import errno

# A full disk, a quota, a limit on the size of files, a device or terminal that is gone.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class ConformanceError(Exception):
    """The base of the suite's own errors; `exit_code` is the command's."""

    exit_code = 2


class UsageError(ConformanceError):
    """The call is wrong, or a file that it names: then the message has the file and the line."""


class FullError(UsageError):
    """Nothing more can be written where the call says."""

    exit_code = 3


class CaseFileError(UsageError):
    """A file under cases/ is not what its schema says; the message has the file and the line."""


class ReportFileError(UsageError):
    """A report is missing, cut off beyond use, or not a report."""


class ReportFormatError(ReportFileError):
    """A report that an older version wrote, in a format that this one does not read."""


class UnreachableError(ConformanceError):
    """The target does not answer, or what answers is not a V2 server."""

    exit_code = 3


class NothingRanError(ConformanceError):
    """A selection without cases, or a server without a single model of the contract."""

    exit_code = 4


class StoppedError(ConformanceError):
    """Somebody stopped a run, which left a record."""

    exit_code = 3


class LeakError(ConformanceError):
    """A file would show a secret, and was not written."""

    exit_code = 3


def unwritable(problem: OSError, words: str) -> UsageError:
    """Return the error for what cannot be written: a wrong call, or a full disk."""
    return (FullError if problem.errno in FULL else UsageError)(words)
