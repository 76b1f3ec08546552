"""The verdict that the recorded exchanges of a case amount to. No server, no network, no files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from v2_conformance.errors import CaseFileError
from v2_conformance.judging.judge import judge
from v2_conformance.judging.survival import (
    FLOODED,
    NO_USABLE_MODEL,
    hung,
    needs_canary,
    needs_the_dead,
    of_hang,
    skipped,
    survived,
)
from v2_conformance.judging.verdict import Verdict
from v2_conformance.report.document import CaseResult
from v2_conformance.report.evidence import RecordedExchange
from v2_conformance.suite.case_files import make_case
from v2_conformance.suite.cases import Case, GeneratedCase, GetCase, RequestCase, SentCase
from v2_conformance.suite.causes import Cause, GeneratedFailure, GeneratedRequests
from v2_conformance.suite.circumstances import (
    InvalidCase,
    KilledBy,
    NoKnownGoodAnswer,
    OutOfTime,
    RoleAbsent,
    SuiteError,
)
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.suite.varied_cases import crossed_case
from v2_conformance.verifying.beliefs import Belief
from v2_conformance.verifying.exchanges import (
    beliefs_of,
    check_liveness,
    matching,
    problem_of_canary,
    problems_of_canaries,
    requests_of,
)
from v2_conformance.verifying.recorded import ReadExchange, RecordedError, read_exchange
from v2_conformance.verifying.setting import Setting

OWN = (Purpose.CASE, Purpose.REPEATED, Purpose.RETRIED)
"""What a case's own exchange can be recorded as."""

_SAMPLES = (Purpose.SAMPLE,)


def verdict_of(
    case: SentCase, recorded: CaseResult, exchanges: Sequence[ReadExchange], known: Setting
) -> tuple[Verdict, list[Belief]]:
    """The verdict that the exchanges amount to, and what had to be believed for it.

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
    return _of_exchanges(case, recorded.outcome, exchanges, known)


def _unsent(
    case: SentCase, recorded: CaseResult, skip: Verdict | None, known: Setting
) -> tuple[Verdict, list[Belief]]:
    """The verdict on a case of which no exchange is recorded."""
    if skip is not None:
        absent = isinstance(skip.cause, RoleAbsent) and not known.same_suite
        return skip, [Belief.ABSENT] if absent else []
    outcome, cause = recorded.outcome, recorded.cause
    as_recorded = Verdict(outcome, cause)
    if as_recorded == NO_USABLE_MODEL and isinstance(case, GeneratedCase):
        if _sendable(case, known):
            raise RecordedError("there are models to which generated requests can be sent")
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
    """Whether a cause says that the model of `case`, or that of a generated one, is silent."""
    if isinstance(case, GetCase) or not isinstance(cause, NoKnownGoodAnswer):
        return False
    return isinstance(case, GeneratedCase) or cause.role == case.role


def _of_exchanges(
    case: RequestCase | GetCase,
    recorded: Outcome,
    exchanges: Sequence[ReadExchange],
    known: Setting,
) -> tuple[Verdict, list[Belief]]:
    """The verdict on a case that was sent; `recorded` is the outcome that the report has."""
    exchanges = _without_first(case, exchanges, known)
    own = exchanges[0]
    verdict, believed = _own_verdict(case, own, known)
    if not own.transcript.sent and not _is_together(case):
        if len(exchanges) > 1:
            raise RecordedError("canaries are recorded after a request that was never sent")
        return verdict, believed
    if isinstance(case, GetCase) or not needs_canary(case, verdict.outcome):
        if len(exchanges) > 1:
            raise RecordedError("canaries are recorded, but the suite sends none after this case")
        return verdict, believed
    checked = [e for e in exchanges if e.recorded.purpose is Purpose.LIVENESS]
    canaries = [e for e in exchanges[1:] if e.recorded.purpose is not Purpose.LIVENESS]
    if len(checked) > 1:
        raise RecordedError("the server is recorded as asked more than once whether it is alive")
    for exchange in checked:
        check_liveness(exchange, known)
    try:
        same, fresh, more = problems_of_canaries(case, verdict.outcome, own, canaries, known)
    except RecordedError:
        if verdict.outcome is Outcome.FAIL and recorded is not Outcome.FAIL:
            return verdict, believed  # no canary could make it better
        raise
    liveness = checked[0].transcript if checked else None
    if same is None and fresh is None:
        verdict = of_hang(verdict, hung(case, own.transcript, canaries[-1].transcript))
    return survived(verdict, same, fresh, liveness), believed + more


def _without_first(
    case: RequestCase | GetCase, exchanges: Sequence[ReadExchange], known: Setting
) -> Sequence[ReadExchange]:
    """The exchanges but for that of the request that the case sends first, if there is one.

    Raises RecordedError if it is not there, or not that request.
    """
    before = [e for e in exchanges if e.recorded.purpose is Purpose.BEFORE]
    first = case.first if isinstance(case, RequestCase) else None
    if first is None:
        if before:
            raise RecordedError("a request before the case is recorded, but the suite sends none")
        return exchanges
    if len(exchanges) < 2 or [exchanges[0]] != before:
        raise RecordedError("the request before the case is not recorded first")
    matching(requests_of(first, known)[:1], before[0], known, "the request before the case")
    return exchanges[1:]


def _is_together(case: RequestCase | GetCase) -> bool:
    return isinstance(case, RequestCase) and case.together > 1


def _of_generated(
    case: GeneratedCase, recorded: CaseResult, exchanges: Sequence[ReadExchange], known: Setting
) -> tuple[Verdict, list[Belief]]:
    """The verdict on generated requests: each is a case of its own, made of its recorded entry."""
    believed: list[Belief] = []
    groups: list[list[ReadExchange]] = []
    for exchange in exchanges:
        if not exchange.recorded.purpose.after or not groups:
            groups.append([])
        groups[-1].append(exchange)
    cause = recorded.cause
    declined: list[Verdict] = []
    for group in groups:
        made = _made_of(case, group[0])
        skip = skipped(made, known.claims)
        if skip is not None:
            raise RecordedError(f"a generated request is recorded that is not sent: {skip.message}")
        verdict, more = _of_exchanges(made, recorded.outcome, group, known)
        believed += more
        if verdict.outcome is Outcome.UNSUPPORTED:
            declined.append(verdict)
        elif verdict.outcome is not Outcome.PASS:
            if isinstance(cause, GeneratedFailure) and verdict.cause is not None:
                number = 1 + case.requests.index(group[0].recorded.entry or {})
                failure = GeneratedFailure(verdict.cause, number, None, None, cause.file)
                verdict = replace(verdict, cause=failure)
            return verdict, believed
    if [group[0].recorded.entry for group in groups] != _sendable(case, known):
        raise RecordedError("the recorded requests are not all generated ones that the suite sends")
    passed = len(groups) - len(declined)
    if not passed:
        return declined[0], believed
    if not isinstance(cause, GeneratedRequests) or cause.count != passed:
        raise RecordedError(
            f"{passed} generated requests are recorded that passed, its cause has another number"
        )
    return Verdict(Outcome.PASS, cause), believed


def _sendable(case: GeneratedCase, known: Setting) -> list[Mapping[str, Any]]:
    """The generated requests that the suite sends to this target."""
    return [e for e in case.requests if skipped(make_case(e), known.claims) is None]


def _made_of(case: GeneratedCase, first: ReadExchange) -> RequestCase:
    """The case that a generated request was, from its recorded entry."""
    entry = first.recorded.entry
    if entry is None or entry not in case.requests:
        raise RecordedError("the entry of a generated request is not one")
    made = make_case(entry)
    assert isinstance(made, RequestCase)
    return made


def _needs_the_dead(case: Case, cause: Cause | None, known: Setting) -> Verdict:
    """The verdict on a case that needs what another one killed, as far as that one shows it."""
    killer = known.report.case(cause.case) if isinstance(cause, KilledBy) else None
    if not isinstance(cause, KilledBy) or killer is None:
        raise RecordedError("its cause names no case of the report that killed what it needs")
    last = killer.exchanges[-1] if killer.exchanges else None
    named = known.cases.get(killer.id) or crossed_case(killer.id, known.cases)
    fresh = last is not None and last.purpose is Purpose.CANARY_FRESH
    blamed = fresh and killer.outcome is not Outcome.PASS
    if last is None or not blamed or not isinstance(named, RequestCase):
        raise RecordedError(
            f"{killer.id}, which it blames, is not recorded as having killed anything"
        )
    if problem_of_canary(named, _read(last, known), known, "binary") is None:
        raise RecordedError(
            f"after {killer.id}, which it blames, a known-good request was answered well"
        )
    if isinstance(case, GeneratedCase):  # generated requests, of which the first unsent one counts
        return Verdict(Outcome.NOT_RUN, cause)
    return needs_the_dead(case, killer.id)


def _read(exchange: RecordedExchange, known: Setting) -> ReadExchange:
    return read_exchange(exchange, known.address.binding)


def _own_verdict(
    case: RequestCase | GetCase, own: ReadExchange, known: Setting
) -> tuple[Verdict, list[Belief]]:
    """The verdict on the case's own exchange alone."""
    try:
        candidates = requests_of(case, known)
    except CaseFileError as error:
        raise RecordedError(f"its request cannot be made again: {error}") from error
    prepared = matching(candidates, own, known, "the request")
    believed = beliefs_of(own)
    together = _is_together(case)
    if isinstance(case, RequestCase):
        case = case.member(candidates.index(prepared))
    if together:
        believed.append(Belief.OTHERS)
    if own.recorded.purpose not in (_SAMPLES if together else OWN):
        raise RecordedError("its first exchange is not marked as its own")
    return judge(case, prepared, own.transcript), believed
