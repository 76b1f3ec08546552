"""Verdict from the recorded exchanges of a case. No server, network or files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from v2_conformance.conversations.generated import generated, sendable
from v2_conformance.conversations.steps import AskApart, Concluded, play
from v2_conformance.judging.survival import (
    FLOODED,
    LEFT_OUT,
    NO_USABLE_MODEL,
    needs_the_dead,
    skipped,
)
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.datatypes import element_count
from v2_conformance.report.document import CaseResult
from v2_conformance.report.evidence import RecordedExchange
from v2_conformance.resources import fits
from v2_conformance.suite.cases import Case, GeneratedCase, GetCase, RequestCase, SentCase
from v2_conformance.suite.causes.causes import COUNTEREXAMPLE, Cause, GeneratedFailure
from v2_conformance.suite.causes.circumstances import (
    InvalidCase,
    KilledBy,
    NoKnownGoodAnswer,
    OutOfTime,
    RoleAbsent,
    SuiteError,
)
from v2_conformance.suite.causes.passes import GeneratedRequests
from v2_conformance.suite.entries.case_files import make_case
from v2_conformance.suite.library import generated_entry
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.verifying.exchanges import (
    problem_of_canary,
)
from v2_conformance.verifying.on_record import concluded
from v2_conformance.verifying.recorded.beliefs import Belief
from v2_conformance.verifying.recorded.transcripts import ReadExchange, RecordedError, read_exchange
from v2_conformance.verifying.setting import Setting

_DRAWN = {"delivery", "id", "inputs", "json", "outputs", "parameters"}
_DRAWN_SPACE = (None, *({"indent": number} for number in range(5)))
_DRAWN_INPUT = {"form", "shape", "tensor", "values"}
_MOST_DRAWN = 64**3  # a cube of the largest dimension that is drawn


def verdict_of(
    case: SentCase, recorded: CaseResult, exchanges: Sequence[ReadExchange], known: Setting
) -> tuple[Verdict, list[Belief]]:
    """Return the verdict that the exchanges give, and what had to be believed for it.

    Raises RecordedError for a record that contradicts itself or the case, and UnconfirmedError.
    """
    if isinstance(case, GeneratedCase):
        if exchanges:
            return _of_generated(case, recorded, exchanges, known)
    elif any(exchange.recorded.entry is not None for exchange in exchanges):
        raise RecordedError(
            "a generated request is recorded of a case that is in the suite's files"
        )
    skip = skipped(case, known.claims)
    if not exchanges:
        return _unsent(case, recorded, skip, known)
    if skip is not None:
        raise RecordedError(f"exchanges are recorded of a case that is not sent: {skip.message}")
    if isinstance(case, GeneratedCase):
        raise RecordedError("no exchange is recorded")
    came, believed = concluded(case, recorded.outcome, exchanges, known)
    return came.verdict, believed


def _unsent(
    case: SentCase, recorded: CaseResult, skip: Verdict | None, known: Setting
) -> tuple[Verdict, list[Belief]]:
    """Return the verdict on a case without recorded exchanges."""
    if skip is not None:
        absent = isinstance(skip.cause, RoleAbsent) and not known.same_suite
        return skip, [Belief.ABSENT] if absent else []
    outcome, cause = recorded.outcome, recorded.cause
    as_recorded = Verdict(outcome, cause)
    if as_recorded == NO_USABLE_MODEL and isinstance(case, GeneratedCase):
        if any(sendable(case, known.claims)):
            raise RecordedError("there are models to which generated requests can be sent")
        return as_recorded, []
    if as_recorded == LEFT_OUT:
        if not known.left_out:
            raise RecordedError("the report does not show that the server leaves the extension out")
        return as_recorded, []
    if outcome is Outcome.NOT_RUN and not isinstance(cause, OutOfTime):
        return _needs_the_dead(case, cause, known), [Belief.DEAD]
    if outcome is Outcome.ERROR and isinstance(cause, InvalidCase | SuiteError):
        return as_recorded, [Belief.SUITE]
    if isinstance(cause, OutOfTime) and outcome is Outcome.NOT_RUN:
        return as_recorded, [Belief.NO_TIME]
    if as_recorded == FLOODED:
        return as_recorded, [Belief.UNASKED]
    if outcome is Outcome.INCONCLUSIVE and _is_silence(case, cause):
        return as_recorded, [Belief.SILENT]
    raise RecordedError("no exchange is recorded")


def _is_silence(case: Case, cause: Cause | None) -> bool:
    """Return True if a cause says that the model of `case`, or of a generated one, is silent."""
    if isinstance(case, GetCase) or not isinstance(cause, NoKnownGoodAnswer):
        return False
    return isinstance(case, GeneratedCase) or cause.role == case.role


def _of_generated(
    case: GeneratedCase, recorded: CaseResult, exchanges: Sequence[ReadExchange], known: Setting
) -> tuple[Verdict, list[Belief]]:
    """Return the verdict on generated requests: each is a case of its own, made of its entry."""
    believed: list[Belief] = []
    groups: list[list[ReadExchange]] = []
    for exchange in exchanges:
        if not exchange.recorded.purpose.after or not groups:
            groups.append([])
        groups[-1].append(exchange)
    left = iter(groups)

    def answer(asked: AskApart) -> Concluded:
        came, more = concluded(asked.case, recorded.outcome, next(left), known)
        believed.extend(more)
        return came

    requests = [_request_of(case, group[0].recorded, recorded, known) for group in groups]
    verdict = play(generated(case, requests), answer).verdict
    cause = recorded.cause
    if isinstance(verdict.cause, GeneratedFailure):
        made = verdict.cause
        if isinstance(cause, GeneratedFailure):
            if cause.file == COUNTEREXAMPLE:
                made = replace(made, file=COUNTEREXAMPLE)
            if not made.number:  # drawn: only who has that version of Hypothesis can draw it again
                number, seed, version = cause.number, cause.seed, cause.hypothesis
                made = replace(made, number=number, seed=seed, hypothesis=version)
        return replace(verdict, cause=made), believed
    if requests != list(sendable(case, known.claims)):
        raise RecordedError("the recorded requests are not all generated ones that the suite sends")
    if isinstance(verdict.cause, GeneratedRequests):
        passed = verdict.cause.count
        said = cause.count if isinstance(cause, GeneratedRequests) else None
        if said != passed:
            raise RecordedError(
                f"{passed} generated requests are recorded that passed, its cause has another "
                "number"
            )
        if not known.same_suite:
            verdict = replace(verdict, cause=cause)  # an older version adds what made them
    return verdict, believed


def _request_of(
    case: GeneratedCase, one: RecordedExchange, recorded: CaseResult, known: Setting
) -> AskApart:
    """Return the generated request that an exchange of `recorded` belongs to."""
    entry = one.entry
    if entry is None or not (entry in case.requests or _is_drawn(entry, recorded.cause, known)):
        raise RecordedError("the entry of a generated request is not one")
    made = make_case(entry)
    assert isinstance(made, RequestCase)
    skip = skipped(made, known.claims)
    if skip is not None:
        raise RecordedError(f"a generated request is recorded that is not sent: {skip.message}")
    return AskApart(made, entry)


def _is_drawn(entry: Mapping[str, Any], cause: Cause | None, known: Setting) -> bool:
    """Return True for an entry as they are drawn, in a failure with the seed of the run."""
    seed = known.report.seed
    if not isinstance(cause, GeneratedFailure) or seed is None or cause.seed != seed:
        return False
    try:
        request = entry["request"]
        again = {"model": entry["model"], "request": request, "answer": entry["expect"]["outputs"]}
        return (
            entry == generated_entry(again)
            and request.keys() <= _DRAWN
            and request.get("json") in _DRAWN_SPACE
            and all(one.keys() <= _DRAWN_INPUT for one in request["inputs"])
            and all(element_count(one["shape"]) <= _MOST_DRAWN for one in request["inputs"])
            and fits("case", {"family": "M", "cases": [entry]})
        )
    except (AttributeError, KeyError, TypeError):
        return False


def _needs_the_dead(case: Case, cause: Cause | None, known: Setting) -> Verdict:
    """Return the verdict on a case that needs what another one killed, as far as that
    one shows it.
    """
    killer = known.report.case(cause.case) if isinstance(cause, KilledBy) else None
    if not isinstance(cause, KilledBy) or killer is None:
        raise RecordedError("its cause names no case of the report that killed what it needs")
    last = killer.exchanges[-1] if killer.exchanges else None
    named = known.cases.get(killer.id)
    fresh = last is not None and last.purpose is Purpose.CANARY_FRESH
    blamed = fresh and killer.outcome is not Outcome.PASS
    if isinstance(named, GeneratedCase) and last is not None and blamed:
        named = _request_of(named, last, killer, known).case
    if last is None or not blamed or not isinstance(named, RequestCase):
        raise RecordedError(
            f"{killer.id}, which it blames, is not recorded as having killed anything"
        )
    if problem_of_canary(named.model, read_exchange(last), known, "binary") is None:
        raise RecordedError(
            f"after {killer.id}, which it blames, a known-good request was answered well"
        )
    if isinstance(case, GeneratedCase):  # generated requests, of which the first unsent one counts
        return Verdict(Outcome.NOT_RUN, cause)
    return needs_the_dead(case, killer.id)
