"""Claims of a report that have to be believed, because bytes cannot show them."""

from __future__ import annotations

from enum import Enum


class Belief(Enum):
    """One such thing; its value is a clause that follows a number of cases."""

    @property
    def alone(self) -> bool:
        """Return True if a case has nothing but this belief to show for its outcome."""
        return self in _ALONE

    ABSENT = "that discovery found their model absent"
    DEAD = "that what another case killed did not recover"
    SILENT = "that their model answered no known-good request, so they were not sent"
    UNASKED = "that the server had sent far more than its answers needed, so they were not sent"
    NO_TIME = "that the run had reached its time limit, so they were not sent"
    KEPT_HANGING = "that the client hung again and again, so they were not run"
    SUITE = "that the suite itself failed"
    NO_CONNECTION = "that there was no connection"
    NO_MORE = "that nothing more arrived before the time-out"
    CUT_OFF = "that it was the server that ended the connection"
    EARLY = "that the server answered before it was sent the whole request"
    FAILED_BEFORE = "that the case had failed before it passed"
    DIFFERED = "that their model gave different answers to the same request"
    OTHERS = "their other answers, of which the report has only one as a sample"
    KEPT = "that the server had closed the kept connection, so no canary could use it"
    CLOSED = "that it was the server that closed kept connections, and when"
    BETWEEN = "that nothing came on kept connections between two exchanges"
    WHEN = "how long the server took to ask for the rest of a request"
    SAID = "that the client said what is recorded, and ended as recorded"
    AS_AT_FIRST = "that the server's first answers to known-good requests were no better"


_ALONE = frozenset(
    {
        Belief.ABSENT,
        Belief.DEAD,
        Belief.SILENT,
        Belief.UNASKED,
        Belief.SUITE,
        Belief.NO_CONNECTION,
        Belief.CLOSED,
    }
)
