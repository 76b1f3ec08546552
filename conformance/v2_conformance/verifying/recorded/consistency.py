"""Checks that the times and notes of a recorded case can be true together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

from v2_conformance.conversations.case import MOST_EXCHANGES
from v2_conformance.redaction import WITHHELD
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.suite.cases import Case, GeneratedCase, RequestCase
from v2_conformance.suite.outcomes import Outcome, Purpose, sample_note
from v2_conformance.verifying.recorded.transcripts import RecordedError

_FIRST = datetime(2020, 1, 1, tzinfo=timezone.utc)
# Each time is rounded to a microsecond.
_ROUNDED_MS = 0.002
# Older reports took how long a run lasted from a clock that somebody may have set meanwhile.
_MEASURED_MS = 1000.0
_CLOCKS_DIFFER = timedelta(days=1)


def check_count(recorded: CaseResult, case: Case | None) -> None:
    """Raise RecordedError for more exchanges than a case can have, before any is read."""
    several = len(case.requests) if isinstance(case, GeneratedCase) else 1
    if len(recorded.exchanges) > MOST_EXCHANGES * several:
        raise RecordedError(
            f"{len(recorded.exchanges)} exchanges are recorded: no case has so many"
        )


def check_notes(recorded: CaseResult, case: Case | None) -> None:
    """Raise RecordedError for a note that contradicts its record."""
    if recorded.expected is not None and recorded.outcome.harmless:
        raise RecordedError("the case is marked as an expected failure, but it did not fail")
    for exchange in recorded.exchanges:
        note = exchange.note.removesuffix(WITHHELD).rstrip()
        # A sample of a case that has none is reported elsewhere.
        if exchange.purpose is Purpose.SAMPLE:
            together = case.together if isinstance(case, RequestCase) else 1
            good = together == 1 or _is_sample_note(note, together)
        else:
            good = note == exchange.purpose.note
        if not good:
            raise RecordedError("the note of an exchange is not that of its purpose")


def _is_sample_note(note: str, together: int) -> bool:
    count = re.match(r"one of ([1-9][0-9]{0,5}),", note)
    return count is not None and note == sample_note(int(count[1]), together)


def check_times(recorded: CaseResult) -> None:
    """Raise RecordedError for times that no clock can have shown.

    The exchanges of a case that failed concurrently may be later than its own time.
    """
    for exchange in recorded.exchanges:
        first = exchange.first_byte_ms
        if first is not None and first > exchange.duration_ms + _ROUNDED_MS:
            raise RecordedError("the first byte of a response came after the end of its exchange")
        if (first is None) != (not exchange.response):
            raise RecordedError("only a response with bytes can have a time, and it must have one")
    if recorded.outcome is Outcome.FAIL:
        return
    total = sum(exchange.duration_ms for exchange in recorded.exchanges)
    if total > recorded.duration_ms + _ROUNDED_MS * (1 + len(recorded.exchanges)):
        raise RecordedError("its exchanges took longer than the case")
    idle = [e.closed_before_ms or 0 for e in recorded.exchanges if e.purpose.after]
    if max(idle, default=0) > recorded.duration_ms + 1:
        raise RecordedError("a connection was idle for longer than its case took")


def time_edits(report: Report) -> Iterator[str]:
    """Yield what is wrong with when a run is said to have started, and with how long it took."""
    problem = _problem_with_time(report.started, report.duration_s)
    if problem:
        yield problem
    # Cases that ran at the same time may take longer than the run, each exchange does not.
    exchanges = (exchange.duration_ms for case in report.cases for exchange in case.exchanges)
    longest = max(exchanges, default=0.0)
    if longest > report.duration_s * 1000 + _MEASURED_MS:
        yield "the run is said to have taken less time than a part of it"


def _problem_with_time(started: str, duration_s: float) -> str:
    try:
        moment = datetime.fromisoformat(started.replace("Z", "+00:00"))
        if moment.tzinfo is None:
            return "the time at which the run started has no time zone"
        if moment > datetime.now(timezone.utc) + _CLOCKS_DIFFER:
            return "the run is said to have started in the future"
        if moment < _FIRST:
            return "the run is said to be older than the protocol"
        if moment + timedelta(seconds=duration_s) > datetime.now(timezone.utc) + _CLOCKS_DIFFER:
            return "the run is said to end in the future"
    except (ValueError, OverflowError):
        return "the start time of the run is not a time"
    return ""
