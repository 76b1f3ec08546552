"""Sends the cases that failed in a report again, and says for each how it is now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from v2_conformance.certifying.failures import Failure
from v2_conformance.conversations.result import Result
from v2_conformance.errors import ReportFileError
from v2_conformance.judging.relations.plan import relation_plan
from v2_conformance.protocol.datatypes import ElementError
from v2_conformance.report.document import Report
from v2_conformance.report.evidence import Relations
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.learning import LearnedServer, learn_again
from v2_conformance.runs.patience import Budget, default_limit_s
from v2_conformance.runs.scheduling.deaths import Recovery
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.runs.targets.reaching import wait_until_ready
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case
from v2_conformance.suite.choosing import asked_for
from v2_conformance.suite.library import every_case
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.facts import asked_model, tolerance_of
from v2_conformance.verifying.record import RecordedError


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
    of: Report | None = None,
    recovery: Recovery | None = None,
    ready_within_s: float | None = None,
    workers: int = 1,
) -> Iterator[Again]:
    """Send what `failed` to `target`, and yield what has become of each case as it comes.

    An observed case sends nothing: the cases that showed it are sent, and tell of themselves only
    if they fail although they had not. What cannot be sent comes last. If the failures are those
    `of` a report about relations, its models are learned again, as they answer now. Nothing is
    written. Raises UsageError, UnreachableError and NothingRanError before the first case is
    sent.
    """
    by_id = {failure.recorded.id: failure for failure in failed}
    cases = {failure.case.id: failure.case for failure in failed if failure.case is not None}
    for failure in failed:
        cases |= {case.id: case for case in failure.shown_by if case.id not in cases}
    unsent = dict.fromkeys(by_id.keys() - cases, "this version of the suite has no such case")
    if cases:
        wait_until_ready(target, ready_within_s)
        if of is None or of.relations is None:
            server = discover(target)
        else:
            found = _learned_again(target, of.relations)
            server, now = found.server, _plan_of(found, of)
            lost = "; ".join(server.absent.values()) or "the model no longer takes what it sends"
            unsent |= dict.fromkeys((i for i in by_id if i in cases and i not in now), lost)
            cases = {case_id: now[case_id] for case_id in cases if case_id in now}
        limit_s = default_limit_s(len(cases), target.limits.exchange_s)
        engine = Engine(target, server, recovery=recovery, budget=Budget(limit_s))
        for event in run(engine, list(cases.values()), workers):
            again = _again(event.result, by_id.get(event.result.case.id))
            if again is not None:
                yield again
    for failure in failed:
        if failure.recorded.id in unsent:
            yield Again(failure.recorded.id, Now.UNKNOWN, unsent[failure.recorded.id])


def _learned_again(target: Target, relations: Relations) -> LearnedServer:
    models = []
    for asked in relations.models:
        with suppress(ElementError, RecordedError, ReportFileError):  # `verify` says so
            models.append(asked_model(asked))
    return learn_again(target, models, tolerance_of(relations))


def _plan_of(found: LearnedServer, report: Report) -> dict[str, Case]:
    """Return the cases for models as they were learned just now."""
    suite = [case for case in every_case() if not case.of_clients]
    models = [one.learned for one in found.models]
    wanted = asked_for(suite, large=report.selection.large)
    return {case.id: case for case in relation_plan(models, wanted)}


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
