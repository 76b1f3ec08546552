"""Rules for every case besides its own requirement, as far as verdicts show them. Pure.

A SHOULD, a MAY or a disputed case may end as it likes, but no server may die of it or hang in it,
and the form of an answer may be free, but its values never are.
"""

from __future__ import annotations

from v2_conformance.judging.observed.exchanges import Observation
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import RelationCase, RequestCase, SentCase
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.causes import Cause, DidNotSurvive, SeveralWrong
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.variations import variation
from v2_conformance.wire.encode.inputs import input_entries

_FREE = ("SHOULD", "MAY", "DISPUTED")
_INNER_LEVELS = 2


def observe_verdict(case: SentCase, verdict: Verdict) -> tuple[Observation, ...]:
    """Return what the verdict on a case that was sent shows."""
    if not isinstance(case, RequestCase):
        return ()
    return (
        *_survival(case, verdict),
        *_exactness(case, verdict),
        *_zero_elements(case, verdict),
        *_chunked_requests(case, verdict),
    )


def observe_first_answer(role: str, form: str, wrong: Cause | None) -> Observation:
    """Return what the first known-good request to a model shows; `wrong` is what was wrong with the
    tensors of its answer, None if nothing was or if the next answer was no better.
    """
    where = f"the first answer of {role} ({form})"
    return Observation("first_answers", where, 1, int(wrong is not None), wrong)


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
    if isinstance(cause, kinds.Hung):
        return (Observation("survival", case.id, 1, 1, cause),)
    answered = verdict.outcome is not Outcome.INCONCLUSIVE
    return (Observation("survival", case.id, 1, 0),) if answered else ()


def _zero_elements(case: RequestCase, verdict: Verdict) -> tuple[Observation, ...]:
    """Return what a verdict shows about tensors without elements. A case that they may not be
    refused in (E1) only shows that the server can take them, and so does an answer to a request
    that no client sends. An arbitrary model may have reasons of its own to refuse them.
    """
    shapes = [entry.get("shape") for entry in input_entries(case.request)]
    empty = any(isinstance(shape, list) and 0 in shape for shape in shapes)
    if not empty or case.expects not in ("success", "either") or isinstance(case, RelationCase):
        return ()
    if isinstance(verdict.cause, kinds.Rejected) and any(
        one.either or one.declined_by for one in map(variation, case.variations)
    ):
        return ()
    if case.expects == "either" and isinstance(verdict.cause, kinds.Rejected) and not case.rare:
        cause = kinds.WrongStatus("200", verdict.cause.status, "")
        return (Observation("zero_elements", case.id, 1, 1, cause),)
    # That of a raw request has no shape that a server could refuse.
    shown = _taken(verdict) and not case.request.get("raw")
    return (Observation("zero_elements", case.id, 1, 0),) if shown else ()


def _chunked_requests(case: RequestCase, verdict: Verdict) -> tuple[Observation, ...]:
    """Return what a verdict shows about bodies in chunks, which a server need not take at all."""
    delivery = case.request.get("delivery")
    chunked = isinstance(delivery, dict) and "chunks" in delivery
    if not chunked or case.expects != "success" or case.variations or case.rare:
        return ()
    if isinstance(verdict.cause, kinds.LengthRequired):
        cause = kinds.WrongStatus("200", 411, verdict.cause.body)
        return (Observation("chunked_requests", case.id, 1, 1, cause),)
    return (Observation("chunked_requests", case.id, 1, 0),) if _taken(verdict) else ()


def _taken(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.PASS and not isinstance(verdict.cause, kinds.Rejected)


def _exactness(case: RequestCase, verdict: Verdict) -> tuple[Observation, ...]:
    if case.level not in _FREE or case.expect.get("ambiguous"):
        return ()
    cause = verdict.cause
    for _ in range(_INNER_LEVELS):
        if isinstance(cause, DidNotSurvive):
            cause = cause.case
        elif isinstance(cause, SeveralWrong):
            cause = cause.first
    if isinstance(cause, kinds.WrongValue | kinds.WrongBytesElement | kinds.WrongElementCount):
        return (Observation("exact_values", case.id, 1, 1, cause),)
    compared = verdict.outcome in (Outcome.PASS, Outcome.DISPUTED)
    compared = compared and not isinstance(cause, kinds.Rejected | kinds.AnsweredInJson)
    return (Observation("exact_values", case.id, 1, 0),) if compared else ()
