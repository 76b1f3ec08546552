"""Judges a scenario of a client's report again, from its recorded bytes and the client's output. No
client, network or files.
"""

from __future__ import annotations

from collections.abc import Sequence

from v2_conformance.bench.answers import answer_to
from v2_conformance.bench.judging.judge import judge_client, skipped_scenario
from v2_conformance.bench.judging.observed import observe_client
from v2_conformance.bench.requests import UnreadableRequestError, read_client_request
from v2_conformance.bench.tasks import Asked, asked_of
from v2_conformance.bench.turns import CONTINUE, MOST_EXCHANGES, Turns
from v2_conformance.errors import CaseFileError, ReportFileError
from v2_conformance.judging.observed.exchanges import Observation
from v2_conformance.judging.verdict import Verdict
from v2_conformance.redaction import shows_masks
from v2_conformance.report.document import CaseResult
from v2_conformance.report.evidence import RecordedExchange
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.causes.circumstances import InvalidCase
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.verifying.record import RecordedError, check_whole, first_difference
from v2_conformance.verifying.setting import Setting
from v2_conformance.wire.transcript import Ending


def judge_scenario(
    case: ClientCase, recorded: CaseResult, known: Setting
) -> tuple[Verdict, tuple[Observation, ...], bool] | None:
    """Return the verdict that a record gives, what it shows about rules for every request, and
    whether masks may hide some of what was judged. None if the scenario was not run.

    Raises RecordedError for a record that no run can have produced, and UnconfirmedError.
    """
    client = known.report.target.client
    skip = skipped_scenario(case, known.claims.profiles, () if client is None else client.lacks)
    exchanges = recorded.exchanges
    try:
        said = recorded.heard
    except ReportFileError as error:
        raise RecordedError(str(error)) from error
    if said is None:
        if exchanges:
            raise RecordedError("exchanges are recorded, but nothing of what the client said")
        return None if skip is None else (skip, (), False)
    if skip is not None:
        raise RecordedError(f"it is recorded as run, but it is not: {skip.message}")
    if len(exchanges) > MOST_EXCHANGES:
        raise RecordedError(f"{len(exchanges)} exchanges are recorded: no scenario has so many")
    hidden = known.masks and any(shows_masks(one.request) for one in exchanges)
    try:
        asked = asked_of(case)
        turns = Turns(asked)
        for exchange in exchanges:
            check_whole(exchange)
            _check_answer(_expected(case, asked, turns, exchange), exchange, known)
        own = [one.request for one in exchanges if one.purpose is not Purpose.DISCOVERY]
        verdict = judge_client(case, own, said)
    except CaseFileError as error:
        verdict = Verdict(Outcome.ERROR, InvalidCase(str(error)))
    return verdict, observe_client(case, (one.request for one in exchanges)), hidden


def _expected(
    case: ClientCase, asked: Sequence[Asked], turns: Turns, exchange: RecordedExchange
) -> bytes | None:
    """Return the bytes with which the bench answers a request of the task, None if it is not one.

    Raises RecordedError if the purpose of the exchange is not that of its request.
    """
    try:
        request = read_client_request(exchange.request)
    except UnreadableRequestError:
        request = None
    turn = None if request is None else turns.next(request)
    purposes: tuple[Purpose, ...] = (Purpose.CASE, Purpose.DISCOVERY)
    if turn is not None:
        purposes = (Purpose.RETRIED,) if turn[1] else (Purpose.CASE,)
    if exchange.purpose not in purposes:
        raise RecordedError("the purpose of an exchange is not that of its request")
    if turn is None or request is None:
        return None
    return answer_to(asked[turn[0]], case.answer(*turn), request).data


def _check_answer(expected: bytes | None, exchange: RecordedExchange, known: Setting) -> None:
    """Raise RecordedError for an answer that the bench would not give."""
    if expected is None:
        return
    given = exchange.response
    if not expected.startswith(CONTINUE):
        given = given.removeprefix(CONTINUE)
    if exchange.ending is not Ending.COMPLETE:
        expected = expected[: len(given)]
    at = first_difference(given, expected, known.where)
    if at is not None:
        raise RecordedError(
            f"from byte {at} on, an answer is not the one that the bench gives in this scenario"
        )
