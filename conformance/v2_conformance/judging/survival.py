"""What happens around a case: whether it is sent at all, and whether the server survived it.

Pure: the engine finds outcomes with it, and `verifying` finds them again from recorded bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from v2_conformance.judging.availability import down, unavailable
from v2_conformance.judging.known_good import answer
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import Case, RelationCase, RequestCase
from v2_conformance.suite.causes.cause_base import printable
from v2_conformance.suite.causes.causes import (
    Cause,
    DidNotSurvive,
    FailedAtFirst,
    FailedBesideOthers,
    SeveralWrong,
    wrong_output,
)
from v2_conformance.suite.causes.circumstances import (
    AnswersDiffer,
    CodingsUnsupported,
    DatatypesUnsupported,
    Flooded,
    Hung,
    KilledBy,
    ModelVersionUnknown,
    NoKnownGoodAnswer,
    NotInBinding,
    NotOverHttp2,
    NoUsableModel,
    OutOfTime,
    ProfileNotClaimed,
    RoleAbsent,
    Unavailable,
    WasDown,
)
from v2_conformance.suite.causes.transport_findings import TimedOut
from v2_conformance.suite.choosing.over_http2 import only_in_http1
from v2_conformance.suite.models import contract
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.deployment import DeployedModel
from v2_conformance.wire.endpoint_bindings import EndpointBinding
from v2_conformance.wire.transcript import Ending, Transcript, tensors_as_json

_MOST_WORDS = 64 * 1024  # more than any message takes, even one with a stack trace
_IDLE_TOO_LONG = 408
_REQUESTS_IN_CODINGS = "compression"
MOST_SURPLUS = 128 * 1024 * 1024
"""How many bytes beyond need (`surplus`) a server may send in a run, whose report has them all."""

# A server may take so much longer for a case than for a known-good request, or as long as its
# bytes take over a slow line.
_SLOWER = 20
_BYTES_A_SECOND = 1024 * 1024

FLOODED = Verdict(Outcome.INCONCLUSIVE, Flooded(MOST_SURPLUS))
NO_USABLE_MODEL = Verdict(Outcome.NOT_RUN, NoUsableModel())


@dataclass(frozen=True)
class Claims:
    """What a target claims and which roles it was found to have; `absent` has the reasons.

    `binding` is that of its endpoint, None for an ordinary one; `http2` says whether requests go to
    it over HTTP/2.
    """

    profiles: Collection[str]
    unsupported: frozenset[str]
    present: Mapping[str, DeployedModel]
    absent: Mapping[str, str]
    binding: EndpointBinding | None = None
    http2: bool = False


def skipped(case: Case, claims: Claims) -> Verdict | None:
    """Return why `case` is not sent to this target, None if it is."""
    if case.profile not in claims.profiles or case.profile in claims.unsupported:
        return Verdict(Outcome.UNSUPPORTED, ProfileNotClaimed(case.profile))
    if case.codings and _REQUESTS_IN_CODINGS not in claims.profiles:
        return Verdict(Outcome.UNSUPPORTED, ProfileNotClaimed(_REQUESTS_IN_CODINGS))
    if case.codings & claims.unsupported:
        codings = tuple(sorted(case.codings & claims.unsupported))
        return Verdict(Outcome.UNSUPPORTED, CodingsUnsupported(codings))
    unsupported = sorted(case.datatypes & claims.unsupported)
    if unsupported:
        return Verdict(Outcome.UNSUPPORTED, DatatypesUnsupported(tuple(unsupported)))
    lacks = None if claims.binding is None else claims.binding.lacking(case)
    if claims.binding is not None and lacks is not None:
        return Verdict(Outcome.UNSUPPORTED, NotInBinding(claims.binding.name, lacks))
    feature = only_in_http1(case) if claims.http2 else None
    if feature is not None:
        return Verdict(Outcome.UNSUPPORTED, NotOverHttp2(feature))
    role = next((role for role in case.roles if role not in claims.present), None)
    if role is not None:
        reason = claims.absent.get(role, "no such model")
        # A contract that grows must not take the certificate from a server that has the older one.
        model = contract().get(role)
        optional = model is not None and model.optional
        outcome = Outcome.UNSUPPORTED if optional else Outcome.NOT_RUN
        return Verdict(outcome, RoleAbsent(role, printable(reason)))
    if isinstance(case, RelationCase) and case.expects == "success":
        for role in case.roles:
            known = claims.present[role].known
            if known is not None and known.differing is not None:
                return Verdict(Outcome.NOT_RUN, AnswersDiffer(role, known.differing))
    unknown = next((one for one in case.versioned if claims.present[one].version is None), None)
    if unknown is not None:
        return Verdict(Outcome.UNSUPPORTED, ModelVersionUnknown(unknown))
    return None


def needs_the_dead(case: Case, killer: str) -> Verdict:
    """The verdict on a case that needs what the case `killer` killed."""
    return Verdict(Outcome.NOT_RUN, KilledBy(killer, case.role))


def not_sent(case: RequestCase, silence: str) -> Verdict:
    """The verdict on a case whose model answers no known-good request."""
    return Verdict(Outcome.INCONCLUSIVE, NoKnownGoodAnswer(case.model, printable(silence)))


def out_of_time(limit_s: float) -> Verdict:
    """The verdict on a case that a run has no time for."""
    return Verdict(Outcome.NOT_RUN, OutOfTime(limit_s))


def time_needed_s(size: int, pauses_s: float, known_good_s: float) -> float:
    """Return how long a request of `size` bytes may take a server whose known-good ones take so
    long."""
    return _SLOWER * known_good_s + size / _BYTES_A_SECOND + pauses_s


def hung(case: RequestCase, own: Transcript, canary: Transcript) -> Hung | None:
    """Whether the server hung in the case's `own` exchange: the `canary` after it, on a fresh
    connection, was answered at once.

    Not with many requests at once, which may wait for each other, and not if the server had less
    time than it may need.
    """
    if own.ending is not Ending.TIMEOUT or not own.sent or own.shortened_s is not None:
        return None
    if case.together > 1 or canary.response is None:
        return None
    pauses_s = own.pause_s * len(own.pieces)
    if own.duration_s < time_needed_s(own.asked, pauses_s, canary.duration_s):
        return None
    known_good_ms = round(canary.duration_s * 1000)
    return Hung(round(own.duration_s, 1), own.came, known_good_ms)


def of_hang(verdict: Verdict, found: Hung | None) -> Verdict:
    """`verdict`, or a failure if nothing was known but that the server gave no answer: it hung."""
    if found is None or not isinstance(verdict.cause, TimedOut):
        return verdict
    return replace(verdict, outcome=Outcome.FAIL, cause=found)


def surplus(transcript: Transcript) -> int:
    """Bytes of a response beyond what any server needs for that request and some words, of those
    that a report keeps."""
    return max(0, len(transcript.received) - tensors_as_json(len(transcript.request)) - _MOST_WORDS)


def stale(transcript: Transcript) -> bool:
    """Return True if the kept connection had been closed before, so that this is no answer.

    A server may close an idle connection at any time (RFC 9112 9.5), and say so with a 408 that
    crosses the next request (RFC 9110 15.5.9). Over HTTP/2 it may say that it has not looked at the
    request (RFC 9113 8.7); whatever else it says of its stream is about that.
    """
    if not transcript.reused:
        return False
    if transcript.response is not None:
        return transcript.response.status == _IDLE_TOO_LONG
    facts = transcript.http2
    if facts is not None and (facts.reset is not None or facts.goaway is not None):
        return facts.unprocessed
    return transcript.ending in (Ending.CLOSED, Ending.RESET) and not transcript.received


def of_several(verdict: Verdict, wrong: int, total: int) -> Verdict:
    """The verdict on `total` exchanges of a case, of which `verdict` is on the one that counts."""
    if not wrong or verdict.cause is None:
        return verdict
    return replace(verdict, cause=SeveralWrong(wrong, total, verdict.cause))


def without_count(cause: Cause | None) -> Cause | None:
    """A cause without what `of_several`, `passed_alone` or `passed_again` put around that of the
    answer that counts, and without the cases beside it."""
    if isinstance(cause, SeveralWrong):
        return cause.first
    if isinstance(cause, FailedAtFirst):
        return without_count(cause.again)
    if isinstance(cause, FailedBesideOthers):
        return cause.alone
    if isinstance(cause, DidNotSurvive) and (cause.case is not None or cause.beside):
        return replace(cause, case=without_count(cause.case), beside=())
    return cause


def passed_alone(verdict: Verdict, beside: Verdict) -> Verdict:
    """The verdict on a case alone, which is flaky if it passed after it had failed `beside` others.

    If no answer came in time beside others, it passes, and the cause says so.
    """
    if beside.cause is None or not verdict.outcome.harmless or beside.outcome.harmless:
        return verdict
    outcome = Outcome.FLAKY if beside.outcome is Outcome.FAIL else verdict.outcome
    return replace(verdict, outcome=outcome, cause=FailedBesideOthers(beside.cause, verdict.cause))


def unrepeated(case: Case, verdict: Verdict, wrong: Verdict) -> Verdict | None:
    """The verdict on a case for a model that nobody knows, which got a `wrong` value and then
    passed: which of the two is the model's answer is not known. None if it is no such case."""
    output = wrong_output(wrong.cause)
    if not isinstance(case, RelationCase) or output is None or not verdict.outcome.harmless:
        return None
    return replace(verdict, outcome=Outcome.INCONCLUSIVE, cause=AnswersDiffer(case.model, output))


def passed_again(verdict: Verdict, first: Verdict) -> Verdict:
    """The verdict on a case that came to `first` before: if that was no pass, a pass is flaky."""
    if first.cause is None or first.outcome.harmless or not verdict.outcome.harmless:
        return verdict
    if isinstance(first.cause, FailedAtFirst):
        return first
    return replace(verdict, outcome=Outcome.FLAKY, cause=FailedAtFirst(first.cause, verdict.cause))


def needs_canary(case: Case, outcome: Outcome) -> bool:
    """Return True if the server must be seen to survive `case`, which had `outcome`."""
    if isinstance(case, RequestCase):
        answered = outcome in (Outcome.PASS, Outcome.DISPUTED)
        return case.negative or case.canary is not None or not answered
    return False


def unused(transcript: Transcript) -> bool:
    """Return True if a connection that was opened ahead may have been closed before it was used."""
    return transcript.ending in (Ending.CLOSED, Ending.RESET) and not transcript.received


def needs_fresh_canary(case: RequestCase, outcome: Outcome, exact: bool) -> bool:
    """Return True if a canary on a fresh connection has to follow the one on the case's own.

    `outcome` is the case's, before any canary; `exact` says whether the server answered the first
    canary exactly. If it did, it lives and has kept its place in the stream. Whether it takes new
    connections, too, is seen once for each requirement.
    """
    ordinary = case.canary is None and not case.dangerous
    return not (ordinary and exact and outcome is Outcome.PASS) or case.last_negative


def on_same_connection(transcript: Transcript, problem: Cause | None) -> Cause | None:
    """Return what a canary's `problem` on the case's own connection says of the server.

    Nothing, if a gateway says that it reached none: a fresh connection shows whether there is one.
    """
    return None if unavailable(transcript) else problem


def survived(
    verdict: Verdict, same: Cause | None, fresh: Cause | None, liveness: Transcript | None = None
) -> Verdict:
    """`verdict`, or a failure if a canary says that the server did not survive.

    `same` and `fresh` are what was wrong with the canary on each connection, None for nothing.
    `liveness` is what the server answered while a gateway could not reach it, None if it could: a
    server that was down in between was restarted.
    """
    if fresh is None and liveness is not None and down(liveness):
        fresh = WasDown(answer(liveness))
    if same is None and fresh is None:
        return verdict
    if same is None and isinstance(fresh, Unavailable):
        unclear = verdict.outcome.harmless
        return replace(verdict, outcome=Outcome.INCONCLUSIVE, cause=fresh) if unclear else verdict
    passed = verdict.outcome is Outcome.PASS
    return replace(
        verdict,
        outcome=Outcome.FAIL,
        cause=DidNotSurvive(same, fresh, verdict.cause, case_passed=passed),
    )
