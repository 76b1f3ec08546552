"""Decides whether a case is sent at all, and whether the server survived it.

A server may answer a malformed request with an error, but must go on serving: correct requests to
other clients, and the next ones on the same connection. No response shows that. So known-good
requests (*canaries*) follow a case that may do harm: one on the case's own connection, which shows
that server and client agree on where the next message begins, and one on a fresh connection, which
shows that the server accepts others. What a canary has to get was found before any case
(calibration), because a server that never answers a form exactly has not died of a case.

A canary that gets a wrong answer makes `DidNotSurvive` of whatever the case itself came to. A
server that asks to wait has not died, and a gateway that reaches no server says nothing about the
connection. If no answer came to the case in time, but the canary on a fresh connection was answered
at once, the server hung in that request (`Hung`), which is a failure; otherwise nothing is known.

Pure: the engine finds outcomes with it, and `verifying` finds them again from recorded bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from v2_conformance.judging.availability import GATEWAY_STATUSES, down
from v2_conformance.judging.known_good import answer
from v2_conformance.judging.messages.response import unpacked_size
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.datatypes import FLOATS
from v2_conformance.suite.cases import Case, RelationCase, RequestCase
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.causes.causes import (
    Cause,
    DidNotSurvive,
    FailedAtFirst,
    SeveralWrong,
    wrong_output,
)
from v2_conformance.suite.models import ModelContract, contract
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.deployment import DeployedModel
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending, tensors_as_json

_MOST_WORDS = 64 * 1024  # more than any error message needs, even with a stack trace
_IDLE_TOO_LONG = 408
MOST_SURPLUS = 128 * 1024 * 1024
"""How many bytes beyond need (`surplus`) a server may send in a run, whose report has them all."""
_WITHOUT_END = MOST_SURPLUS // 16  # what an answer counts that was cut off as too large

# A server may take this much longer for a case than for a known-good request, or for its bytes.
_SLOWER = 20
_BYTES_A_SECOND = 1024 * 1024

# What a case whose level is DISPUTED comes to.
_RIGHT = (kinds.Accepted, kinds.AnsweredInForm, kinds.AnsweredWith, kinds.Rejected)

FLOODED = Verdict(Outcome.INCONCLUSIVE, kinds.Flooded(MOST_SURPLUS))
LEFT_OUT = Verdict(Outcome.NOT_RUN, kinds.ExtensionLeftOut())


@dataclass(frozen=True)
class Claims:
    """Claims of a target, and the roles it was found to have; `absent` has the reasons for the
    others.
    """

    profiles: Collection[str]
    unsupported: frozenset[str]
    present: Mapping[str, DeployedModel]
    absent: Mapping[str, str]


def skipped(case: Case, claims: Claims) -> Verdict | None:
    """Return why `case` is not sent to this target, None if it is."""
    for profile in case.profiles:
        if profile not in claims.profiles or profile in claims.unsupported:
            return Verdict(Outcome.UNSUPPORTED, kinds.ProfileNotClaimed(profile))
    if case.codings & claims.unsupported:
        codings = tuple(sorted(case.codings & claims.unsupported))
        return Verdict(Outcome.UNSUPPORTED, kinds.CodingsUnsupported(codings))
    unsupported = sorted(case.datatypes & claims.unsupported)
    if unsupported:
        return Verdict(Outcome.UNSUPPORTED, kinds.DatatypesUnsupported(tuple(unsupported)))
    role = next((role for role in case.roles if role not in claims.present), None)
    if role is not None:
        reason = claims.absent.get(role, "no such model")
        # A growing contract must not invalidate the certificate of a server with the older one.
        model = contract().get(role)
        optional = model is not None and model.optional
        outcome = Outcome.UNSUPPORTED if optional else Outcome.NOT_RUN
        return Verdict(outcome, kinds.RoleAbsent(role, printable(reason)))
    if isinstance(case, RelationCase) and case.expects == "success":
        for role in case.roles:
            known = claims.present[role].known
            if known is not None and known.differing is not None:
                return Verdict(Outcome.NOT_RUN, answers_differ(known.model, known.differing))
    unknown = next((one for one in case.versioned if claims.present[one].version is None), None)
    if unknown is not None:
        return Verdict(Outcome.UNSUPPORTED, kinds.ModelVersionUnknown(unknown))
    return None


def time_needed_s(size: int, pauses_s: float, known_good_s: float) -> float:
    """Return how long a request of `size` bytes may take on a server, given the time of its
    known-good ones.
    """
    return _SLOWER * known_good_s + size / _BYTES_A_SECOND + pauses_s


def hang_of(case: RequestCase, own: Exchange, canary: Exchange) -> kinds.Hung | None:
    """Return the hang in the case's `own` exchange, if the `canary` after it, on a fresh
    connection, was answered at once.

    Concurrent requests may wait for each other, so they never count, nor does a server that had
    less time than it may need.
    """
    if own.ending is not Ending.TIMEOUT or not own.sent or own.shortened_ms is not None:
        return None
    if case.together > 1 or canary.response is None:
        return None
    pauses_s = own.pause_ms / 1000 * len(own.pieces)
    took_s = own.duration_ms / 1000
    if took_s < time_needed_s(len(own.request), pauses_s, canary.duration_ms / 1000):
        return None
    return kinds.Hung(round(took_s, 1), len(own.received), round(canary.duration_ms))


def surplus(exchange: Exchange, answer: int = 0) -> int:
    """Return how many of a response's bytes, packed or not, no server needs for that request,
    tensors of `answer` bytes and some words. What was cut off as too large may have had no end.
    """
    if exchange.ending is Ending.TOO_LARGE:
        return max(len(exchange.received), _WITHOUT_END)
    tensors = tensors_as_json(len(exchange.request) + answer)
    response, size = exchange.response, len(exchange.received)
    if response is not None:
        size += unpacked_size(response, bytes(exchange.request))
    return max(0, size - tensors - _MOST_WORDS)


def stale(exchange: Exchange) -> bool:
    """Return True if the kept connection had been closed before, so that this is not an answer.

    A server may close an idle connection at any time (RFC 9112 9.5), and say so with a 408 that
    crosses the next request (RFC 9110 15.5.9).
    """
    if not exchange.reused:
        return False
    if exchange.response is not None:
        return exchange.response.status == _IDLE_TOO_LONG
    return exchange.ending in (Ending.CLOSED, Ending.RESET) and not exchange.received


def without_count(cause: Cause | None) -> Cause | None:
    """Return a cause without the number of answers that were wrong, what `passed_again` wrapped
    around it, and the concurrent cases.
    """
    if isinstance(cause, SeveralWrong):
        return cause.first
    if isinstance(cause, FailedAtFirst):
        return without_count(cause.again)
    if isinstance(cause, DidNotSurvive) and (cause.case is not None or cause.beside):
        return replace(cause, case=without_count(cause.case), beside=())
    return cause


def answers_differ(model: ModelContract, output: str) -> kinds.AnswersDiffer:
    """Return that an arbitrary model does not repeat its answers: those of this output differ."""
    floats = any(
        output in (printable(spec.name), printable(spec.name, 60)) and spec.datatype in FLOATS
        for spec in model.outputs
    )
    return kinds.AnswersDiffer(model.role, output, floats)


def blames_values(case: Case, verdict: Verdict) -> bool:
    """Return True if a case fails for nothing but values that an arbitrary model gave before."""
    failed = isinstance(case, RelationCase) and verdict.outcome is Outcome.FAIL
    return failed and wrong_output(verdict.cause) is not None


def withdrawn(
    case: RelationCase, verdict: Verdict, differing: Mapping[str, kinds.AnswersDiffer]
) -> Verdict | None:
    """Return the verdict on a case that `blames_values` if one of the models that it is judged by
    is among those that do not repeat their answers, by role; else None.
    """
    known = next((differing[r.model] for r in judged_by(case) if r.model in differing), None)
    if known is None:
        return None
    return replace(verdict, outcome=Outcome.INCONCLUSIVE, cause=known)


def judged_by(case: RelationCase) -> list[RelationCase]:
    """Return the requests of a case whose answers it is judged by."""
    requests = (case, *case.members, *case.next)
    return [one for one in requests if isinstance(one, RelationCase)]


def passed_again(verdict: Verdict, first: Verdict) -> Verdict:
    """Return the verdict on a case whose earlier verdict is `first`: if that was not a pass, a pass
    is flaky, unless that had less time than promised.
    """
    early = isinstance(first.cause, kinds.TimedOutEarly)
    if first.cause is None or early or first.outcome.harmless or not verdict.outcome.harmless:
        return verdict
    if isinstance(first.cause, FailedAtFirst):
        return first
    return replace(verdict, outcome=Outcome.FLAKY, cause=FailedAtFirst(first.cause, verdict.cause))


def is_of_path(cause: Cause | None) -> bool:
    """Return True if the only evidence is that answers did not come whole, or that a gateway
    answered a correct request: what is between the server and the suite may have lost them."""
    if isinstance(cause, DidNotSurvive):
        right = cause.case_passed or isinstance(cause.case, _RIGHT)
        own = None if right else cause.case
        parts = (cause.same_connection, cause.fresh_connection, own)
        return all(map(is_of_path, filter(None, parts)))
    root = None if cause is None else cause.root
    if isinstance(root, kinds.WrongStatus):
        return root.expected == "200" and root.got in GATEWAY_STATUSES
    return root is not None and root.of_path


def needs_canary(case: Case, outcome: Outcome) -> bool:
    """Return True if the server must be seen to survive `case`, which had `outcome`."""
    if isinstance(case, RequestCase):
        answered = outcome in (Outcome.PASS, Outcome.DISPUTED)
        return case.negative or case.canary is not None or not answered
    return False


def survived(
    verdict: Verdict, same: Cause | None, fresh: Cause | None, liveness: Exchange | None = None
) -> Verdict:
    """Return `verdict`, or a failure if a canary shows that the server did not survive.

    `same` and `fresh` are what was wrong with the canary on each connection, None if nothing was.
    `liveness` is the answer while a gateway could not reach the server, None if it could: a server
    that was down in between was restarted.
    """
    if fresh is None and liveness is not None and down(liveness):
        fresh = kinds.WasDown(answer(liveness))
    if same is None and fresh is None:
        return verdict
    if same is None and isinstance(fresh, kinds.Unavailable):
        unclear = verdict.outcome.harmless
        return replace(verdict, outcome=Outcome.INCONCLUSIVE, cause=fresh) if unclear else verdict
    passed = verdict.outcome is Outcome.PASS
    return replace(
        verdict,
        outcome=Outcome.FAIL,
        cause=DidNotSurvive(same, fresh, verdict.cause, case_passed=passed),
    )
