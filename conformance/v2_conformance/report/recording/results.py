"""Makes results as report.json has them, without the target's secrets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from v2_conformance.conversations.steps import Exchange
from v2_conformance.judging.observed.exchanges import Observation
from v2_conformance.judging.verdict import Verdict
from v2_conformance.redaction import WITHHELD, Mask, Masked
from v2_conformance.report.cited import cited_documents
from v2_conformance.report.document import CaseResult
from v2_conformance.report.evidence import Calibration, RecordedExchange
from v2_conformance.report.kept_bytes import keep
from v2_conformance.report.long_said import shortened
from v2_conformance.runs.result import Calibrated, Result
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.circumstances import SuiteError
from v2_conformance.suite.causes.output_findings import WrongBytesElement
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.transcript import Limits

_LIMITS = Limits()


def case_result(result: Result, profiles: Sequence[str], mask: Mask) -> CaseResult:
    """One case as report.json has it."""
    facts = result.case.facts(profiles, result.cause)
    said, long = (None, ()) if result.said is None else shortened(_masked(result.said, mask))
    exchanges = tuple(
        recorded_exchange(exchange, mask, of_client=isinstance(result.case, ClientCase))
        for exchange in result.exchanges
    )
    cause = result.cause
    if mask.hides_anything:
        pairs = zip(result.exchanges, exchanges, strict=True)
        shows = any(kept.response != one.transcript.received for one, kept in pairs)
        cause = _masked(_without_bytes(cause) if shows else cause, mask)
    return CaseResult(
        id=facts.id,
        requirement=facts.requirement,
        profile=facts.profile,
        level=facts.level,
        blocks=facts.blocks,
        basis=facts.basis,
        why=facts.why,
        content=facts.content,
        cite=cited_documents(result.case.cite),
        outcome=result.outcome,
        cause=cause,
        message=mask.text(msgspec.structs.replace(result.verdict, cause=cause).message),
        duration_ms=round(result.duration_s * 1000, 3),
        exchanges=exchanges,
        said=said,
        said_long=long,
    )


def calibration(found: Calibrated, mask: Mask) -> Calibration:
    """A calibration as report.json has it."""
    exchanges = tuple(recorded_exchange(exchange, mask) for exchange in found.exchanges)
    return Calibration(found.role, found.form, exchanges)


def masked_seen(seen: Iterable[Observation], mask: Mask) -> tuple[Observation, ...]:
    """Return what exchanges show, without the target's secrets."""
    return tuple(msgspec.structs.replace(one, first=_masked(one.first, mask)) for one in seen)


def _masked(value: Any, mask: Mask) -> Any:
    """Return a cause, a client's words, or a member of one, without the target's secrets, of the
    same type.
    """
    if isinstance(value, str):
        return mask.text(value)
    if isinstance(value, tuple):
        return tuple(_masked(item, mask) for item in value)
    if isinstance(value, bytes):  # a tensor that a client gave its user
        return mask.excerpt(value)
    if isinstance(value, dict):
        return {mask.text(key): _masked(item, mask) for key, item in value.items()}
    if not isinstance(value, msgspec.Struct):
        return value
    members = {name: getattr(value, name) for name in value.__struct_fields__}
    return type(value)(**{name: _masked(member, mask) for name, member in members.items()})


def _without_bytes(value: Any) -> Any:
    """Return a cause without the bytes at the first difference, which may stand in the middle of
    a secret."""
    if isinstance(value, FirstDifference | WrongBytesElement):
        return msgspec.structs.replace(value, got="*" * len(value.got))
    if isinstance(value, tuple):
        return tuple(map(_without_bytes, value))
    if isinstance(value, msgspec.Struct):
        members = {name: getattr(value, name) for name in value.__struct_fields__}
        return type(value)(**{name: _without_bytes(one) for name, one in members.items()})
    return value


def recorded_exchange(
    exchange: Exchange, mask: Mask, *, of_client: bool = False
) -> RecordedExchange:
    """An exchange as report.json has it; `of_client` if its request is a client's, not our own."""
    transcript = exchange.transcript
    first = transcript.first_byte_s
    several = len(transcript.pieces) > 1
    idle, short = transcript.closed_before_s, transcript.shortened_s
    sent = mask.data(transcript.request) if of_client else Masked(mask.sent(transcript.request))
    received = mask.data(transcript.received, _LIMITS.response_to(len(transcript.request)))
    withheld = sent.withheld or received.withheld
    return RecordedExchange(
        purpose=exchange.purpose,
        note=f"{exchange.note} {WITHHELD}".strip() if withheld else exchange.note,
        request_kept=keep(sent.data),
        response_kept=keep(received.data),
        ending=transcript.ending,
        detail=mask.text(transcript.detail),
        sent=transcript.sent,
        reused=transcript.reused,
        open=transcript.open,
        first_byte_ms=None if first is None else round(first * 1000, 3),
        duration_ms=round(transcript.duration_s * 1000, 3),
        expected=exchange.expected,
        entry=None if exchange.entry is None else dict(exchange.entry),
        pieces=transcript.pieces if several else (),
        pause_ms=round(transcript.pause_s * 1000, 3) if several else 0.0,
        closed_before_ms=None if idle is None else round(idle * 1000, 3),
        shortened_ms=None if short is None else round(short * 1000, 3),
        stray_before=transcript.stray_before,
        answers=transcript.answers,
    )


def withheld(case: CaseResult, why: str) -> CaseResult:
    """Return the case as one in which the suite failed, without anything from the server."""
    cause = SuiteError("LeakError", why)
    verdict = Verdict(Outcome.ERROR, cause)
    return msgspec.structs.replace(
        case, outcome=verdict.outcome, cause=cause, message=verdict.message, exchanges=()
    )
