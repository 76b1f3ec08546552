"""A case as a conversation: its request, the known-good ones around it, and the verdict.

What belongs to a case is written once, as a generator that yields what to do next (`steps`), is
sent the answer, and returns the result. So a run that sends and a program that reads a record
cannot disagree about what belongs to it: both drive the same generator.

Before a case is sent, each of its models must have answered a known-good request (calibration): a
model that answers nothing shows nothing. Then comes the case's own request, after another one on
the same connection or together with others, if it says so. After a case that may do harm, or that
did not pass, known-good requests follow (`judging.survival` says why): on the same connection, and
on a fresh one unless the first settles it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from msgspec.structs import replace

from v2_conformance.conversations.steps import (
    Ask,
    AskTogether,
    Calibrate,
    CanaryAnswer,
    Conversation,
    Known,
    KnownGood,
    Result,
    Step,
)
from v2_conformance.judging.availability import unavailable
from v2_conformance.judging.judge import judge
from v2_conformance.judging.known_good import Form, own_form, with_rounding
from v2_conformance.judging.request_words import describe_request
from v2_conformance.judging.survival import hang_of, is_of_path, needs_canary, survived
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import GetCase, RelationCase, RequestCase
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.causes.causes import Cause, SeveralWrong
from v2_conformance.suite.causes.kinds import NoKnownGoodAnswer, RoundedBesideOthers, TimedOut
from v2_conformance.suite.outcomes import Outcome, Purpose, sample_note
from v2_conformance.wire.encode.requests import Prepared, get_request, prepare
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending

_Survival = Generator[Step, Any, Verdict]


def conversation(case: RequestCase | GetCase, known: Known) -> Conversation:
    """Return all that belongs to `case`.

    Raises CaseFileError, at the first step, for a case whose request cannot be made.
    """
    if isinstance(case, GetCase):
        return _get(case, known)
    return _request(case, known)


def known_good_needed(case: RequestCase) -> list[tuple[str, Form]]:
    """Return the roles and forms of the known-good requests that a case needs."""
    own = known_good_form(case)
    needed: list[tuple[str, Form]] = [(role, "binary") for role in case.roles]
    if own != "binary" and (case.negative or case.canary):
        needed.append((case.model, own))
    return needed


def known_good_form(case: RequestCase) -> Form:
    """Return the form of the known-good request on the case's own connection, if it is served."""
    return "json" if case.canary == "json" else own_form(case)


def known_good_after(case: RequestCase) -> KnownGood:
    """Return the known-good request on the case's own connection, in the case's form if served."""
    own = known_good_form(case)
    forms: tuple[Form, ...] = (own,) if case.canary == "json" else (own, "binary")
    return KnownGood(case.model, forms)


def requests_of(case: RequestCase | GetCase, known: Known) -> list[Prepared]:
    """Return the requests of a case: one, or one for each connection that it uses at once.

    Raises CaseFileError for one that cannot be made.
    """
    if isinstance(case, GetCase):
        return [Prepared(get_request(known.address, case.path))]
    present = known.claims.present
    members = [case.member(n) for n in range(case.together)]
    return [
        prepare(member, known.address, present[member.model], variant=n)
        for n, member in enumerate(members)
    ]


def _get(case: GetCase, known: Known) -> Conversation:
    [prepared] = requests_of(case, known)
    exchange: Exchange = yield Ask(prepared, Purpose.CASE)
    return Result(case, judge(case, prepared, exchange), exchanges=(exchange,))


def _request(case: RequestCase, known: Known) -> Conversation:
    requests = requests_of(case, known)
    silence = yield from _calibrated(case)
    if silence:
        cause = NoKnownGoodAnswer(case.model, printable(silence))
        return Result(case, Verdict(Outcome.INCONCLUSIVE, cause))
    if case.together > 1:
        return (yield from _together(case, requests))
    if "client" in case.request:
        return (yield from _broken_off(case, requests[0]))
    return (yield from _one_request(case, requests[0], known))


def _one_request(case: RequestCase, prepared: Prepared, known: Known) -> Conversation:
    exchanges: list[Exchange] = []
    if case.first is not None:
        first = requests_of(case.first, known)[0]
        before: Exchange = yield Ask(first, Purpose.BEFORE, times=case.first.times)
        exchanges.append(before.for_purpose(Purpose.BEFORE))
    exchange: Exchange = yield Ask(prepared, Purpose.CASE)
    exchanges.append(exchange)
    own = exchange
    verdict = judge(case, prepared, own)
    if needs_canary(case, verdict.outcome) and _may_have_harmed(own, verdict):
        verdict = yield from _survival(case, verdict, exchanges, own)
        verdict = _saying_what_was_sent(case, prepared, verdict)
    return Result(case, verdict, exchanges=tuple(exchanges))


def _may_have_harmed(own: Exchange, verdict: Verdict) -> bool:
    """Return True if a known-good request has to show that the server survived. If nothing was sent
    because the server was already away, this case did not cause that, but nor can it pass.
    """
    return bool(own.sent or verdict.outcome.harmless)


def _broken_off(case: RequestCase, prepared: Prepared) -> Conversation:
    """Send a case whose client breaks off, on one connection after another. What a server keeps
    for requests in the case's own form shows only in that form.
    """
    times = case.request["client"].get("times", 1)
    exchange: Exchange = yield Ask(prepared, Purpose.CASE, fresh=True, times=times)
    exchanges = [exchange]
    verdict = judge(case, prepared, exchange)
    if _may_have_harmed(exchange, verdict):
        verdict = yield from _fresh_survival(case, verdict, exchanges)
        if verdict.outcome.harmless and known_good_form(case) != "binary":
            shown = verdict
            for _ in range(2):  # an overloaded server, or a gateway, may turn the first one away
                canary: CanaryAnswer | None = yield known_good_after(case)
                if canary is None:
                    break
                exchanges.append(canary.exchange)
                shown = survived(verdict, None, canary.problem)
                if not unavailable(canary.exchange):
                    break
            verdict = shown
        verdict = _saying_what_was_sent(case, prepared, verdict)
    return Result(case, verdict, exchanges=tuple(exchanges))


def _saying_what_was_sent(case: RequestCase, prepared: Prepared, verdict: Verdict) -> Verdict:
    """Return `verdict` with what was sent, which one that passed before its canary failed lacks."""
    if verdict.sent or verdict.outcome.harmless:
        return verdict
    sent, odd = describe_request(case, prepared)
    return replace(verdict, sent=sent, odd=odd)


def _together(case: RequestCase, requests: Sequence[Prepared]) -> Conversation:
    answers: list[tuple[int, Exchange]] = yield AskTogether(tuple(requests), case.rounds)
    verdicts: dict[tuple[object, ...], Verdict] = {}  # a long answer takes time, and comes again
    judged = []
    for number, exchange in answers:
        same = (number, exchange.ending, exchange.sent, bytes(exchange.received))
        if same not in verdicts or exchange.ending is not Ending.COMPLETE:
            member = case.member(number)
            verdicts[same] = _judged_together(member, requests[number], exchange)
        judged.append((verdicts[same], exchange))
    bad = [item for item in judged if not item[0].outcome.harmless]
    bad.sort(key=lambda item: is_of_path(item[0].cause))  # a wrong answer says more than none
    unclear = [item for item in judged if item[0].outcome is not Outcome.PASS]
    verdict, sample = (bad or unclear or judged)[0]
    if bad and verdict.cause is not None:
        verdict = replace(verdict, cause=SeveralWrong(len(bad), len(judged), verdict.cause))
    note = sample_note(len(judged), case.together)
    exchanges = [sample.for_purpose(Purpose.SAMPLE, note)]
    if needs_canary(case, verdict.outcome):
        verdict = yield from _fresh_survival(case, verdict, exchanges)
    return Result(case, verdict, exchanges=tuple(exchanges))


def _judged_together(case: RequestCase, prepared: Prepared, exchange: Exchange) -> Verdict:
    verdict = judge(case, prepared, exchange)
    if verdict.outcome.harmless or not isinstance(case, RelationCase):
        return verdict
    if not judge(case, with_rounding(prepared), exchange).outcome.harmless:
        return verdict
    return replace(verdict, outcome=Outcome.UNSUPPORTED, cause=RoundedBesideOthers(case.model))


def _calibrated(case: RequestCase) -> Generator[Step, Any, str]:
    for role, form in known_good_needed(case):
        silence: str = yield Calibrate(role, form)
        dispensable = form != "binary" and case.canary != "json"
        if silence and not dispensable:
            return silence
    return ""


def _survival(
    case: RequestCase, verdict: Verdict, exchanges: list[Exchange], own: Exchange
) -> _Survival:
    """Return `verdict`, or a failure if the server did not survive the case or hung in it.

    A known-good request on the same connection is enough if it gets its exact answer after an
    ordinary case that passed.
    """
    canary: CanaryAnswer | None = yield known_good_after(case)
    same = None
    if canary is not None:
        exchanges.append(canary.exchange)
        exact = canary.problem is None and canary.exchange.expected is None
        ordinary = case.canary is None and not case.dangerous and verdict.outcome is Outcome.PASS
        # Whether it also accepts new connections is checked once for each requirement.
        if exact and ordinary and not case.last_negative:
            return verdict
        # If a gateway reached no server, a fresh connection shows whether there is one.
        same = None if unavailable(canary.exchange) else canary.problem
    return (yield from _fresh_survival(case, verdict, exchanges, same=same, own=own))


def _fresh_survival(
    case: RequestCase,
    verdict: Verdict,
    exchanges: list[Exchange],
    *,
    same: Cause | None = None,
    own: Exchange | None = None,
) -> _Survival:
    """Return `verdict`, or a failure if a known-good request on a fresh connection says so.

    `same` is what was wrong with the one on the case's own connection. The server hung if the
    case's `own` exchange, if it is given, took far longer than this one.
    """
    canary: CanaryAnswer = yield KnownGood(case.model, fresh=True)
    if canary.liveness is not None:
        exchanges.append(canary.liveness.for_purpose(Purpose.LIVENESS))
    exchanges.append(canary.exchange)
    if own is not None and same is None and canary.problem is None:
        result = hang_of(case, own, canary.exchange)
        if result is not None and isinstance(verdict.cause, TimedOut):
            verdict = replace(verdict, outcome=Outcome.FAIL, cause=result)
    return survived(verdict, same, canary.problem, canary.liveness)
