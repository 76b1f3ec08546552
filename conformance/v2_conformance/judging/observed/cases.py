"""Rules for every case besides its own requirement, as far as verdicts show them. Pure.

A SHOULD, a MAY or a disputed case may end as it likes, but no server may die of it or hang in it,
and the form of an answer may be free, but its values never are.
"""

from __future__ import annotations

from v2_conformance.judging.observed.exchanges import Observation
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import RequestCase, SentCase
from v2_conformance.suite.causes.causes import AnsweredInJson, DidNotSurvive, Rejected, SeveralWrong
from v2_conformance.suite.causes.circumstances import Hung
from v2_conformance.suite.causes.output_findings import (
    WrongBytesElement,
    WrongElementCount,
    WrongValue,
)
from v2_conformance.suite.outcomes import Outcome

_FREE = ("SHOULD", "MAY", "DISPUTED")
_INNER_LEVELS = 2


def observe_verdict(case: SentCase, verdict: Verdict) -> tuple[Observation, ...]:
    """Return what the verdict on a case that was sent shows."""
    if not isinstance(case, RequestCase):
        return ()
    return (*_survival(case, verdict), *_exactness(case, verdict))


def _survival(case: RequestCase, verdict: Verdict) -> tuple[Observation, ...]:
    """Return what a verdict shows about survival. A death at MUST fails its own case and no other.
    Clients that break off belong to C8, not to malformed requests.
    """
    if not (case.negative or case.level != "MUST") or "client" in case.request:
        return ()
    cause = verdict.cause
    if isinstance(cause, DidNotSurvive):
        if case.level == "MUST":
            return ()
        cause = cause.fresh_connection or cause.same_connection
        return (Observation("survival", case.id, 1, 1, cause),)
    if isinstance(cause, Hung):
        return (Observation("survival", case.id, 1, 1, cause),)
    answered = verdict.outcome is not Outcome.INCONCLUSIVE
    return (Observation("survival", case.id, 1, 0),) if answered else ()


def _exactness(case: RequestCase, verdict: Verdict) -> tuple[Observation, ...]:
    if case.level not in _FREE or case.expect.get("ambiguous"):
        return ()
    cause = verdict.cause
    for _ in range(_INNER_LEVELS):
        if isinstance(cause, DidNotSurvive):
            cause = cause.case
        elif isinstance(cause, SeveralWrong):
            cause = cause.first
    if isinstance(cause, WrongValue | WrongBytesElement | WrongElementCount):
        return (Observation("exact_values", case.id, 1, 1, cause),)
    compared = verdict.outcome in (Outcome.PASS, Outcome.DISPUTED)
    compared = compared and not isinstance(cause, Rejected | AnsweredInJson)
    return (Observation("exact_values", case.id, 1, 0),) if compared else ()
