"""Judges a client's report again, from its recorded bytes and what the client said: each scenario,
and the client itself. No client, network or files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from v2_clients.bench.answers import answer_to
from v2_clients.bench.listener import BENCH
from v2_clients.bench.requests import UnreadableRequestError, read_client_request
from v2_clients.bench.tasks import Asked, asked_of
from v2_clients.bench.turns import CONTINUE, MOST_EXCHANGES, Turns
from v2_clients.judging.judge import judge_client, skipped_scenario
from v2_clients.judging.observed import observe_client
from v2_conformance.errors import CaseFileError, ReportFileError
from v2_conformance.judging.metadata import ServerInfo
from v2_conformance.judging.observed.exchanges import Observation
from v2_conformance.judging.verdict import Verdict
from v2_conformance.redaction import shows_masks
from v2_conformance.report.document import CaseResult, Report, with_client_name
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.causes.kinds import InvalidCase
from v2_conformance.suite.choosing import CLIENT_PROFILES
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.verifying.record import RecordedError, Setting, check_whole, first_difference
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending


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
        reported = recorded.reported_in_full
    except ReportFileError as error:
        raise RecordedError(str(error)) from error
    if reported is None:
        if exchanges:
            raise RecordedError("exchanges are recorded, but nothing of what the client said")
        return None if skip is None else (skip, (), False)
    if skip is not None:
        raise RecordedError(f"it is recorded as run, but it is not: {skip.message}")
    if len(exchanges) > MOST_EXCHANGES:
        raise RecordedError(f"{len(exchanges)} exchanges are recorded: no scenario has so many")
    hidden = known.masks and any(shows_masks(bytes(one.request)) for one in exchanges)
    try:
        asked = asked_of(case)
        turns = Turns(asked)
        for exchange in exchanges:
            check_whole(exchange)
            _check_answer(case, asked, turns, exchange, known)
        own = [bytes(one.request) for one in exchanges if one.purpose is not Purpose.DISCOVERY]
        verdict = judge_client(case, own, reported)
    except CaseFileError as error:
        verdict = Verdict(Outcome.ERROR, InvalidCase(str(error)))
    return verdict, observe_client(case, (bytes(one.request) for one in exchanges)), hidden


def _check_answer(
    case: ClientCase, asked: Sequence[Asked], turns: Turns, exchange: Exchange, known: Setting
) -> None:
    """Raise RecordedError for an answer that the bench would not give to a request of the task, and
    if the purpose of the exchange is not that of its request.
    """
    try:
        request = read_client_request(bytes(exchange.request))
    except UnreadableRequestError:
        request = None
    turn = None if request is None else turns.next(request)
    purposes: tuple[Purpose, ...] = (Purpose.CASE, Purpose.DISCOVERY)
    if turn is not None:
        purposes = (Purpose.RETRIED,) if turn[1] else (Purpose.CASE,)
    if exchange.purpose not in purposes:
        raise RecordedError("the purpose of an exchange is not that of its request")
    if turn is None or request is None:
        return
    expected = answer_to(asked[turn[0]], case.answer(*turn), request).data
    given = bytes(exchange.received)
    if not expected.startswith(CONTINUE):
        given = given.removeprefix(CONTINUE)
    if exchange.ending is not Ending.COMPLETE:
        expected = expected[: len(given)]
    at = first_difference(given, expected, known)
    if at is not None:
        raise RecordedError(
            f"from byte {at} on, an answer is not the one that the bench gives in this scenario"
        )


def client_edits(report: Report) -> Iterator[str]:
    """Yield what cannot be true of a client, or does not follow from what it said."""
    target, profiles = report.target, report.target.profiles
    if not set(profiles) <= set(CLIENT_PROFILES) or profiles[:1] != CLIENT_PROFILES[:1]:
        yield "no run has these claims of a client"
    elsewhere = (target.url, target.host) != (BENCH, BENCH.partition("//")[2])
    of_a_server = (
        *(target.headers, target.models, target.absent, target.host_given, target.unsupported),
        *(target.restart_command, report.discovery, report.calibration),
        *(report.relations, report.seed is not None),
    )
    if elsewhere or any(of_a_server):
        yield "the target has what only a server has"
    unnamed = replace(target, server=ServerInfo("", "", ()))
    if with_client_name(unnamed, report.cases).server != target.server:
        yield "the client's name is not the one that it says"
