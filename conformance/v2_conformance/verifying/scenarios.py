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
from v2_conformance.bench.turns import CONTINUE, MOST_EXCHANGES, NOTES, Turns
from v2_conformance.errors import CaseFileError, ReportFileError
from v2_conformance.judging.observed.exchanges import Observation
from v2_conformance.judging.verdict import Verdict
from v2_conformance.redaction import WITHHELD, shows_masks
from v2_conformance.report.document import CaseResult
from v2_conformance.report.evidence import RecordedExchange
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.causes.circumstances import InvalidCase, OutOfTime, SuiteError
from v2_conformance.suite.causes.client_findings import ClientKeptHanging
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.suite.tasks import Said
from v2_conformance.verifying.recorded.beliefs import Belief
from v2_conformance.verifying.recorded.transcripts import (
    OmittedError,
    RecordedError,
    first_unmasked_difference,
)
from v2_conformance.verifying.setting import Setting
from v2_conformance.wire.transcript import Ending

_PURPOSES = frozenset({Purpose.CASE, Purpose.RETRIED, Purpose.DISCOVERY})
_ENDINGS = frozenset({Ending.COMPLETE, Ending.CLOSED, Ending.RESET, Ending.MALFORMED})


def verdict_again(
    case: ClientCase, recorded: CaseResult, known: Setting
) -> tuple[Verdict, list[Belief], tuple[Observation, ...], bool]:
    """Return the verdict that a record gives, what had to be believed for it, what it shows about
    rules for every request, and whether masks may hide some of what was judged.

    Raises RecordedError for a record that no run can have produced.
    """
    client = known.report.target.client
    skip = skipped_scenario(case, known.claims.profiles, () if client is None else client.lacks)
    said, exchanges = _heard(recorded), recorded.exchanges
    if said is None:
        if exchanges:
            raise RecordedError("exchanges are recorded, but nothing of what the client said")
        if skip is not None:
            return skip, [], (), False
        if recorded.outcome is Outcome.NOT_RUN and isinstance(recorded.cause, OutOfTime):
            return Verdict(recorded.outcome, recorded.cause), [Belief.NO_TIME], (), False
        if recorded.outcome is Outcome.NOT_RUN and isinstance(recorded.cause, ClientKeptHanging):
            return Verdict(recorded.outcome, recorded.cause), [Belief.KEPT_HANGING], (), False
        if isinstance(recorded.cause, InvalidCase | SuiteError):
            return Verdict(recorded.outcome, recorded.cause), [Belief.SUITE], (), False
        raise RecordedError("nothing is recorded of what the client said")
    if skip is not None:
        raise RecordedError(f"it is recorded as run, but it is not: {skip.message}")
    if len(exchanges) > MOST_EXCHANGES:
        raise RecordedError(f"{len(exchanges)} exchanges are recorded: no scenario has so many")
    omitted = sum(exchange.omitted for exchange in exchanges)
    if omitted:
        raise OmittedError(f"{omitted} bytes of its exchanges are not in the report")
    try:
        asked = asked_of(case)
        hidden = _check_exchanges(case, asked, exchanges, known)
        own = [e.request for e in exchanges if e.purpose is not Purpose.DISCOVERY]
        verdict = judge_client(case, own, said)
    except CaseFileError as error:
        verdict = Verdict(Outcome.ERROR, InvalidCase(str(error)))
        hidden = False
    seen = observe_client(case, (exchange.request for exchange in exchanges))
    return verdict, [Belief.SAID], seen, hidden


def _heard(recorded: CaseResult) -> Said | None:
    try:
        return recorded.heard
    except ReportFileError as error:
        raise RecordedError(str(error)) from error


def _check_exchanges(
    case: ClientCase, asked: Sequence[Asked], exchanges: Sequence[RecordedExchange], known: Setting
) -> bool:
    """Return True if masks hide some of the exchanges. Raises RecordedError for an answer that the
    bench would not give.
    """
    turns = Turns(asked)
    hidden = False
    for exchange in exchanges:
        purpose, note = exchange.purpose, exchange.note.removesuffix(WITHHELD).rstrip()
        if purpose not in _PURPOSES or note != NOTES.get(purpose, ""):
            raise RecordedError("the note of an exchange is not that of its purpose")
        if exchange.ending not in _ENDINGS or exchange != _as_kept(exchange):
            raise RecordedError("an exchange is not as the bench keeps one")
        hidden = hidden or (known.masks and shows_masks(exchange.request))
        expected = _expected(case, asked, turns, exchange)
        if expected is not None:
            _check_answer(expected, exchange, known)
    return hidden


def _as_kept(exchange: RecordedExchange) -> RecordedExchange:
    """Return the exchange with what the bench always keeps alike, and nothing that only a request
    to a server has.
    """
    return RecordedExchange(
        purpose=exchange.purpose,
        note=exchange.note,
        request_kept=exchange.request_kept,
        response_kept=exchange.response_kept,
        ending=exchange.ending,
        detail=exchange.detail,
        sent=len(exchange.request),
        reused=exchange.reused,
        open=False,
        first_byte_ms=0.0 if exchange.response else None,
        duration_ms=exchange.duration_ms,
    )


def _expected(
    case: ClientCase, asked: Sequence[Asked], turns: Turns, exchange: RecordedExchange
) -> bytes | None:
    """Return the bytes with which the bench answers a request of the task, None if it
    is not one.
    """
    try:
        request = read_client_request(exchange.request)
    except UnreadableRequestError:
        return None
    turn = None if request is None else turns.next(request)
    discovery = exchange.purpose is Purpose.DISCOVERY
    if turn is None or request is None:
        if exchange.purpose is Purpose.RETRIED:
            raise RecordedError("an exchange is recorded as a second try, but there was no first")
        return None
    if discovery or (exchange.purpose is Purpose.RETRIED) != bool(turn[1]):
        raise RecordedError("the purpose of an exchange is not that of its request")
    return answer_to(asked[turn[0]], case.answer(*turn), request).data


def _check_answer(expected: bytes, exchange: RecordedExchange, known: Setting) -> None:
    given = exchange.response
    if not expected.startswith(CONTINUE):
        given = given.removeprefix(CONTINUE)
    if Ending(exchange.ending) is not Ending.COMPLETE:
        expected = expected[: len(given)]
    at = first_unmasked_difference(given, expected, known.mask, masks=known.masks)
    if at is not None:
        raise RecordedError(
            f"from byte {at} on, an answer is not the one that the bench gives in this scenario"
        )
