"""Result of judging a case: its outcome, and the cause of it."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from v2_conformance.protocol.message import MessageError, TooDeepError
from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.causes import Cause, FailedAtFirst
from v2_conformance.suite.causes.kinds import ReadsNoDeeper, TimedOutEarly
from v2_conformance.suite.outcomes import Outcome


class Verdict(msgspec.Struct, frozen=True):
    """A case's outcome and its cause; None for a pass with nothing to add.

    `sent` says in words what was sent, and `odd` what is odd about it, for the message of a case
    that did not pass.
    """

    outcome: Outcome
    cause: Cause | None = None
    sent: str = ""
    odd: str = ""

    @property
    def message(self) -> str:
        """The message for people: what is odd about the request, what the server did instead of
        what was expected, and last what was sent."""
        words = describe(self.cause)
        if not words:
            return ""
        first = f"{self.odd}: " if self.odd else ""
        return f"{first}{words} ({self.sent})" if self.sent else f"{first}{words}"


def passed_again(verdict: Verdict, first: Verdict) -> Verdict:
    """Return the verdict on a case whose earlier verdict is `first`: if that was not a pass, a pass
    is flaky, unless that had less time than promised.
    """
    early = isinstance(first.cause, TimedOutEarly)
    if first.cause is None or early or first.outcome.harmless or not verdict.outcome.harmless:
        return verdict
    if isinstance(first.cause, FailedAtFirst):
        return first
    return replace(verdict, outcome=Outcome.FLAKY, cause=FailedAtFirst(first.cause, verdict.cause))


class Finding(Exception):
    """Something in a response that breaks a requirement.

    `outcome` is that of a case that finds it.
    """

    outcome = Outcome.FAIL

    def __init__(self, cause: Cause) -> None:
        super().__init__(cause)
        self.cause = cause

    def __str__(self) -> str:
        return describe(self.cause)


class Untested(Finding):
    """A response that leaves out what the case is about, as the server may."""

    outcome = Outcome.UNSUPPORTED


class Unread(Finding):
    """Nothing that shows whether the requirement holds: no answer, one that asks to wait, or one
    that may be right, but that the suite does not read to its end."""

    outcome = Outcome.INCONCLUSIVE


def not_read(error: MessageError, cause: Cause) -> Finding:
    """Return what JSON shows that cannot be used: `cause`, unless the suite reads no deeper."""
    if isinstance(error, TooDeepError):
        return Unread(ReadsNoDeeper(str(error)))
    return Finding(cause)
