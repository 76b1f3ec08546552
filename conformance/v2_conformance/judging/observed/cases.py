"""Rules for every case besides its own requirement, as far as verdicts show them. Pure.

A SHOULD, a MAY or a disputed case may end as it likes, but no server may die of it or hang in it,
and the form of an answer may be free, but its values never are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from v2_conformance.judging.observed.exchanges import OF_EXCHANGES, READINGS, Observation
from v2_conformance.judging.verdict import Finding, Verdict
from v2_conformance.suite.cases import RelationCase, RequestCase, SentCase
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.causes import Cause, DidNotSurvive, SeveralWrong
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.variations import variation
from v2_conformance.wire.encode.inputs import input_entries

_FREE = ("SHOULD", "MAY", "DISPUTED")
_INNER_LEVELS = 2


def observe_verdict(case: SentCase, verdict: Verdict) -> Iterator[Observation]:
    """Yield what the verdict on a case that was sent shows."""
    if not isinstance(case, RequestCase):
        return
    if case.expect.get("alike") and verdict.outcome is Outcome.DISPUTED:
        yield Observation(READINGS, case.id, 1, 0, verdict.cause)
    for rule, check in _CHECKS.items():
        try:
            if check(case, verdict):
                yield Observation(rule, case.id, 1, 0)
        except Finding as finding:
            yield Observation(rule, case.id, 1, 1, finding.cause)


def observe_first_answer(role: str, form: str, wrong: Cause | None) -> Observation:
    """Return what the first known-good request to a model shows; `wrong` is what was wrong with the
    tensors of its answer, None if nothing was or if the next answer was no better.
    """
    where = f"the first answer of {role} ({form})"
    return Observation(_FIRST_ANSWERS, where, 1, int(wrong is not None), wrong)


# A check returns True for a verdict that shows the thing. It raises Finding if the rule is broken.


def _survival(case: RequestCase, verdict: Verdict) -> bool:
    """Check what the server need not accept. A death at MUST fails its own case and no other.
    Clients that break off belong to C8, not to malformed requests.
    """
    if not (case.negative or case.level != "MUST") or "client" in case.request:
        return False
    cause = verdict.cause
    if isinstance(cause, DidNotSurvive):
        if case.level == "MUST":
            return False
        lost = DidNotSurvive(cause.same_connection, None, None, case_passed=True)
        raise Finding(cause.fresh_connection or lost)
    if isinstance(cause, kinds.Hung):
        raise Finding(cause)
    return verdict.outcome is not Outcome.INCONCLUSIVE


def _zero_elements(case: RequestCase, verdict: Verdict) -> bool:
    """Check tensors without elements. A case that they may not be refused in (E1) only shows that
    the server can take them, and so does an answer to a request that no client sends. An arbitrary
    model may have reasons of its own to refuse them.
    """
    shapes = [entry.get("shape") for entry in input_entries(case.request)]
    empty = any(isinstance(shape, list) and 0 in shape for shape in shapes)
    if not empty or case.expects not in ("success", "either") or isinstance(case, RelationCase):
        return False
    if isinstance(verdict.cause, kinds.Rejected) and any(
        one.either or one.declined_by for one in map(variation, case.variations)
    ):
        return False
    if case.expects == "either" and isinstance(verdict.cause, kinds.Rejected) and not case.rare:
        raise Finding(verdict.cause)
    # That of a raw request has no shape that a server could refuse.
    return _taken(verdict) and not case.request.get("raw")


def _chunked_requests(case: RequestCase, verdict: Verdict) -> bool:
    """Check bodies in chunks, which a server need not take at all."""
    delivery = case.request.get("delivery")
    chunked = isinstance(delivery, dict) and "chunks" in delivery
    if not chunked or case.expects != "success" or case.variations or case.rare:
        return False
    if isinstance(verdict.cause, kinds.LengthRequired):
        raise Finding(kinds.WrongStatus("200", 411, verdict.cause.body))
    return _taken(verdict)


def _taken(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.PASS and not isinstance(verdict.cause, kinds.Rejected)


def _exact_values(case: RequestCase, verdict: Verdict) -> bool:
    """Check the values of a successful response at a level that leaves its form free."""
    if case.level not in _FREE or case.expect.get("ambiguous"):
        return False
    cause = verdict.cause
    for _ in range(_INNER_LEVELS):
        if isinstance(cause, DidNotSurvive):
            cause = cause.case
        elif isinstance(cause, SeveralWrong):
            cause = cause.first
    if isinstance(cause, kinds.WrongValue | kinds.WrongBytesElement | kinds.WrongElementCount):
        raise Finding(cause)
    compared = verdict.outcome in (Outcome.PASS, Outcome.DISPUTED)
    return compared and not isinstance(cause, kinds.Rejected | kinds.AnsweredInJson)


_CHECKS: Mapping[str, Callable[[RequestCase, Verdict], bool]] = {
    "survival": _survival,
    "exact_values": _exact_values,
    "zero_elements": _zero_elements,
    "chunked_requests": _chunked_requests,
}
_FIRST_ANSWERS = "first_answers"

OBSERVED = OF_EXCHANGES | _CHECKS.keys() | {_FIRST_ANSWERS, READINGS}
"""The names of all rules that a case for servers can give as `observed`."""
