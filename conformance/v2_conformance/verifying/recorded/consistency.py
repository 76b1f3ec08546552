"""Checks that the times and notes of a recorded case can be true together."""

from __future__ import annotations

import re
from datetime import datetime

from v2_conformance.report.document import CaseResult, Report
from v2_conformance.suite.cases import Case, GeneratedCase, RequestCase
from v2_conformance.suite.outcomes import Outcome, Purpose, sample_note
from v2_conformance.verifying.recorded.transcripts import RecordedError

# Each time is rounded to a microsecond.
_ROUNDED_MS = 0.002
# The first request, the case's own, the canaries, and the retries that a gateway can cause.
_MOST_EXCHANGES = 6


def check_count(recorded: CaseResult, case: Case | None) -> None:
    """Raise RecordedError for more exchanges than a case can have, before any is read."""
    several = len(case.requests) if isinstance(case, GeneratedCase) else 1
    if len(recorded.exchanges) > _MOST_EXCHANGES * several:
        raise RecordedError(
            f"{len(recorded.exchanges)} exchanges are recorded: no case has so many"
        )


def check_notes(recorded: CaseResult, case: Case | None) -> None:
    """Raise RecordedError for a note that contradicts its record."""
    if recorded.expected is not None and recorded.outcome.harmless:
        raise RecordedError("the case is marked as an expected failure, but it did not fail")
    for exchange in recorded.exchanges:
        # A sample of a case that has none is reported elsewhere.
        if exchange.purpose is Purpose.SAMPLE:
            together = case.together if isinstance(case, RequestCase) else 1
            good = together == 1 or _is_sample_note(exchange.note, together)
        else:
            good = exchange.note == exchange.purpose.note
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


def date_edits(report: Report) -> list[str]:
    """Return what is wrong with the time at which a run is said to have started."""
    try:
        started = datetime.fromisoformat(report.started.replace("Z", "+00:00"))
    except ValueError:
        return ["the start time of the run is not a time"]
    return [] if started.tzinfo else ["the time at which the run started has no time zone"]
