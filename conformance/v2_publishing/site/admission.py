"""Which reports a site takes: those that hold, judged again from a copy of their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from v2_conformance.errors import ReportFileError
from v2_conformance.report.files import PACKED_REPORT, packed_bytes, write_atomically
from v2_conformance.report.tested import this_suite
from v2_conformance.suite.cases import Case
from v2_conformance.suite.causes.base import printable
from v2_conformance.terminal_safe_text import short
from v2_conformance.verifying.verification import Verification, verify

_LONGEST_REASON = 300
_MOST_REQUIREMENTS = 1000


class RefusedError(Exception):
    """A report is not published, for this reason. `exit_code` is 1 if it does not hold, 2 if it
    cannot be read, cannot be confirmed here, or is not a report on a whole."""

    def __init__(self, reason: str, exit_code: int) -> None:
        super().__init__(reason)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Admitted:
    """A report that holds. `confirmed` is False if its catalogue asks something else."""

    verified: Verification
    confirmed: bool


def stage(path: Path, folder: Path) -> Path:
    """Copy a report, packed, into `folder`; the path of the copy.

    What is judged is thereby what is published, whatever happens to the file meanwhile. Raises
    RefusedError, and UsageError if the copy cannot be written.
    """
    copy = folder / PACKED_REPORT
    try:
        write_atomically(copy, packed_bytes(path))
    except ReportFileError as error:
        raise RefusedError(str(error), 2) from error
    return copy


def admit(copy: Path, cases: Sequence[Case], *, outdated: bool) -> Admitted:
    """Judge a staged report again. With `outdated`, one whose catalogue asks something else is
    taken if nothing in it is wrong. Raises RefusedError with the reason."""
    try:
        result = verify(copy, cases)
    except ReportFileError as error:
        words = str(error).replace(f"{copy}:", "line ").replace(str(copy), "it")
        raise RefusedError(words, 2) from error
    if result.unsealed:
        raise RefusedError(
            "it is the record of a run, which has no digest: `v2-conformance report` makes a "
            "report.json of it",
            2,
        )
    if result.exit_code == 1:
        raise RefusedError(_what_is_wrong(result), 1)
    if problem := _problem_with_start(result.report.started):
        raise RefusedError(problem, 1)
    if result.foreign:
        if not outdated:
            raise RefusedError(_other_suite(result), 2)
        if len(result.report.requirements) > _MOST_REQUIREMENTS:
            raise RefusedError("it has more requirements than any version of the suite", 1)
    elif result.exit_code != 0:
        raise RefusedError(_what_is_open(result), 2)
    return Admitted(result, not result.foreign)


def _problem_with_start(started: str) -> str:
    """Return why a run cannot have started then, "" if it can: a site shows the newest report of a
    version, and one of the future would be that for good. Clocks may differ by a day.
    """
    try:
        moment = datetime.fromisoformat(started.replace("Z", "+00:00"))
        future = moment > datetime.now(timezone.utc) + timedelta(days=1)
    except (TypeError, ValueError, OverflowError):
        return "the start of the run is not a time with a time zone"
    return "the run is said to have started in the future" if future else ""


def _what_is_wrong(verification: Verification) -> str:
    differing = [(case.id, case.problem) for case in verification.cases if case.problem is not None]
    wrong = [*verification.edits, *(f"{name}: {problem}" for name, problem in differing)]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return f"it does not hold: {short(printable(wrong[0]), _LONGEST_REASON)}{more}"


def _what_is_open(verification: Verification) -> str:
    unjudged = [
        f"{case.id}: {case.unjudged}" for case in verification.cases if case.unjudged is not None
    ]
    left = [*verification.unconfirmed, *unjudged]
    more = f" (and {len(left) - 1} more)" if len(left) > 1 else ""
    return f"it cannot be confirmed: {short(printable(left[0]), _LONGEST_REASON)}{more}"


def _other_suite(verification: Verification) -> str:
    suite = verification.report.suite
    return (
        f"it is about catalogue {printable(suite.of_catalogue, 40)}; this one, "
        f"{this_suite().of_catalogue}, asks or expects something else: run the suite again, or "
        "publish it as outdated with --outdated"
    )
