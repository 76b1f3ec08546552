"""Sends the cases that failed in a report again, and says for each how it is now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from v2_conformance.runs.discovery import discover
from v2_conformance.runs.result import Result
from v2_conformance.runs.scheduling.budget import Budget, usual_limit_s
from v2_conformance.runs.scheduling.deaths import Recovery
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.runs.targets.readiness import wait_until_ready
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.failures import Failure


class Now(Enum):
    """State of a case now; its value is the word for it."""

    FIXED = "fixed"
    STILL_FAILING = "still failing"
    NEWLY_FAILING = "newly failing"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Again:
    """A case that was sent again, or could not be, and what there is to say of it in words.

    `optional` says that a server may do what fails it.
    """

    case_id: str
    now: Now
    words: str = ""
    optional: bool = False

    @property
    def counts(self) -> bool:
        """True if it is wrong: what is optional (MAY) never is."""
        return self.now in (Now.STILL_FAILING, Now.NEWLY_FAILING) and not self.optional


def resend(
    target: Target,
    failed: Sequence[Failure],
    *,
    recovery: Recovery | None = None,
    ready_within_s: float | None = None,
    workers: int = 1,
) -> Iterator[Again]:
    """Send what `failed` to `target`, and yield what has become of each case as it comes.

    An observed case sends nothing: the cases that showed it are sent, and tell of themselves only
    if they fail although they had not. What this installation has no case for comes last. Nothing
    is written. Raises UsageError, UnreachableError and NothingRanError before the first case is
    sent.
    """
    by_id = {failure.recorded.id: failure for failure in failed}
    cases = {failure.case.id: failure.case for failure in failed if failure.case is not None}
    for failure in failed:
        cases |= {case.id: case for case in failure.shown_by if case.id not in cases}
    if cases:
        wait_until_ready(target, ready_within_s)
        server = discover(target)
        limit_s = usual_limit_s(list(cases.values()), target.limits, target.rate)
        engine = Engine(target, server, recovery=recovery, budget=Budget(limit_s))
        for event in run(engine, list(cases.values()), workers):
            again = _again(event.result, by_id.get(event.result.case.id))
            if again is not None:
                yield again
    for failure in failed:
        if failure.case is None:
            yield Again(
                failure.recorded.id, Now.UNKNOWN, "this version of the suite has no such case"
            )


def _again(result: Result, failure: Failure | None) -> Again | None:
    failing = result.outcome in (Outcome.FAIL, Outcome.FLAKY)
    if failure is None:
        counts = failing and result.case.level != "MAY"
        return Again(result.case.id, Now.NEWLY_FAILING, result.message) if counts else None
    case_id = failure.recorded.id
    changed = "this version sends or expects something else" if failure.changed else ""
    if failing:
        optional = failure.recorded.level == "MAY"
        note = "MAY, which never counts" if optional else ""
        return Again(case_id, Now.STILL_FAILING, _and(result.message, note, changed), optional)
    if result.outcome in (Outcome.PASS, Outcome.DISPUTED):
        flaky = failure.recorded.outcome is Outcome.FLAKY
        note = "it was flaky, and passed this time" if flaky else ""
        return Again(case_id, Now.FIXED, _and(note, changed))
    return Again(case_id, Now.UNKNOWN, _and(f"{result.outcome.words}: {result.message}", changed))


def _and(*parts: str) -> str:
    return "; ".join(filter(None, parts))
