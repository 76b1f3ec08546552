"""Names for the results of cases and for the purposes of exchanges, in one place."""

from __future__ import annotations

from enum import Enum
from typing import Literal, get_args

Harm = Literal["wrong-numbers", "breaks-clients", "dies", "connection", "hygiene"]
"""What a user loses by a failure."""
HARMS: tuple[Harm, ...] = get_args(Harm)
"""The worst first."""


class Word(str, Enum):
    """Members compare equal to their values and print as them."""

    # Without it, what `str` and `format` give depends on Python's version.
    __str__ = str.__str__


class Outcome(Word):
    """The outcome of a case; its value is what report.json has, and what it prints as."""

    PASS = "pass"
    """The case showed what the requirement demands."""
    FAIL = "fail"
    """The requirement does not hold."""
    FLAKY = "flaky"
    """It failed, and passed when it was run again; it counts as a failure."""
    DISPUTED = "disputed"
    """The documents contradict each other; the cause says which reading the server has."""
    UNSUPPORTED = "unsupported"
    """The server does not claim what the case needs, or declines it, which it may."""
    INCONCLUSIVE = "inconclusive"
    """No answer showed whether the requirement holds, such as after a timeout."""
    NOT_RUN = "not_run"
    """The case's model is absent, or an earlier case killed it."""
    ERROR = "error"
    """The suite itself failed."""

    @property
    def harmless(self) -> bool:
        """True if it needs no explanation: nothing failed, and every claim was tested."""
        return self in _HARMLESS

    @property
    def words(self) -> str:
        """The outcome as people read it."""
        return self.value.replace("_", " ")


_HARMLESS = frozenset({Outcome.PASS, Outcome.DISPUTED, Outcome.UNSUPPORTED})
FAILED = frozenset({Outcome.FAIL, Outcome.FLAKY, Outcome.ERROR})
"""The outcomes that count as failures."""


class Purpose(Word):
    """The purpose of an exchange; its value is its name in report.json and in print."""

    DISCOVERY = "discovery"
    """A GET by which a run learned what the server is, or whether it has a model."""
    CALIBRATION = "calibration"
    """A known-good request before any case, whose answer is what canaries must get again."""
    BEFORE = "before"
    """A request before the case's own, on the same connection."""
    CASE = "case"
    """The case's own request."""
    REPEATED = "repeated"
    """The same, sent again because the kept connection had been closed."""
    RETRIED = "retried"
    """The same, sent again because the server, or a gateway, was unavailable."""
    SAMPLE = "sample"
    """One of many requests that were sent at once."""
    CANARY_SAME = "canary_same_connection"
    """A known-good request after the case, on the same connection."""
    CANARY_FRESH = "canary_fresh_connection"
    """A known-good request after the case, on a fresh connection."""

    LIVENESS = "liveness"
    """A GET of /v2/health/live, while a gateway said that it could not reach the server."""

    @property
    def own(self) -> bool:
        """True if it was the case's own request."""
        return self in (Purpose.CASE, Purpose.REPEATED, Purpose.RETRIED, Purpose.SAMPLE)

    @property
    def after(self) -> bool:
        """True if it came after the case, to see whether the server survived."""
        return self.canary or self is Purpose.LIVENESS

    @property
    def canary(self) -> bool:
        """True if it was a known-good request after the case."""
        return self in (Purpose.CANARY_SAME, Purpose.CANARY_FRESH)

    @property
    def note(self) -> str:
        """The words beside the exchange, "" for none; `sample_note` has those of a sample."""
        return _NOTES.get(self, "")


_NOTES = {
    Purpose.BEFORE: "the request before, on the same connection",
    Purpose.REPEATED: "repeated: the kept connection had been closed",
    Purpose.RETRIED: "sent again: the server was unavailable",
    Purpose.LIVENESS: "whether the server is alive",
    Purpose.CANARY_SAME: "known-good request on the same connection",
    Purpose.CANARY_FRESH: "known-good request on a fresh connection",
}


def sample_note(answers: int, together: int) -> str:
    """The note of the one exchange that is kept of `answers`, with `together` at a time."""
    return f"one of {answers}, {together} at a time"
