"""Makes results as report.json has them, without the target's secrets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from v2_conformance.conversations.result import Result
from v2_conformance.judging.verdict import Verdict
from v2_conformance.redaction import WITHHELD, Mask, Masked
from v2_conformance.report.bodies import SHORT
from v2_conformance.report.document import CaseResult, LongTensor, cited_documents
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.kinds import SuiteError, WrongBytesElement
from v2_conformance.suite.client_lines import Said
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.exchange import Body, Exchange
from v2_conformance.wire.response import Limits

_LIMITS = Limits()


def case_result(result: Result, profiles: Sequence[str], mask: Mask) -> CaseResult:
    """One case as report.json has it."""
    facts = result.case.facts(profiles, result.cause)
    said, long = (None, ()) if result.said is None else shortened(masked(result.said, mask))
    exchanges = tuple(
        recorded_exchange(exchange, mask, of_client=isinstance(result.case, ClientCase))
        for exchange in result.exchanges
    )
    cause = result.cause
    if mask.hides_anything:
        pairs = zip(result.exchanges, exchanges, strict=True)
        shows = any(kept.received != one.received for one, kept in pairs)
        cause = masked(_without_bytes(cause) if shows else cause, mask)
    return CaseResult(
        **asdict(facts),
        cite=cited_documents(result.case.cite),
        outcome=result.outcome,
        cause=cause,
        message=mask.text(replace(result.verdict, cause=cause).message),
        duration_ms=round(result.duration_s * 1000, 3),
        exchanges=exchanges,
        said=said,
        said_long=long,
    )


def shortened(said: Said) -> tuple[Said, tuple[LongTensor, ...]]:
    """Return `said` without the data of its long tensors, and these: in base64 among the lines they
    would take more room than all the rest of a report."""
    long: list[LongTensor] = []
    lines = list(said.lines)
    for number, line in enumerate(lines):
        outputs = list(line.outputs or ())
        for place, output in enumerate(outputs):
            if len(output.data) > SHORT:
                long.append(LongTensor(number, place, Body(output.data)))
                outputs[place] = replace(output, data=b"")
        if line.outputs is not None:
            lines[number] = replace(line, outputs=tuple(outputs))
    return replace(said, lines=tuple(lines)), tuple(long)


def masked(value: Any, mask: Mask) -> Any:
    """Return a cause, a client's words, a target, or a member of one, without the target's secrets,
    of the same type.
    """
    if isinstance(value, str):
        return mask.text(value)
    if isinstance(value, bytes):  # a tensor that a client gave its user
        return mask.excerpt(value)
    if isinstance(value, dict):
        return {mask.text(key): masked(item, mask) for key, item in value.items()}
    return _with_parts(value, lambda part: masked(part, mask))


def _without_bytes(value: Any) -> Any:
    """Return a cause without the bytes at the first difference, which may stand in the middle of
    a secret."""
    if isinstance(value, FirstDifference | WrongBytesElement):
        return replace(value, got="*" * len(value.got))
    return _with_parts(value, _without_bytes)


def _with_parts(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a tuple or a struct with `change` of each of its parts; anything else as it is."""
    if isinstance(value, tuple):
        return tuple(map(change, value))
    if not isinstance(value, msgspec.Struct):
        return value
    return replace(value, **{name: change(part) for name, part in asdict(value).items()})


def recorded_exchange(exchange: Exchange, mask: Mask, *, of_client: bool = False) -> Exchange:
    """An exchange without the target's secrets; `of_client` if its request is a client's, not our
    own.
    """
    request = bytes(exchange.request)
    sent = mask.data(request) if of_client else Masked(mask.sent(request))
    received = mask.data(bytes(exchange.received), _LIMITS.response_to(len(request)))
    withheld = sent.withheld or received.withheld
    return replace(
        exchange,
        note=f"{exchange.note} {WITHHELD}".strip() if withheld else exchange.note,
        request=Body(sent.data),
        received=Body(received.data),
        detail=mask.text(exchange.detail),
    )


def withheld(case: CaseResult, why: str) -> CaseResult:
    """Return the case as one in which the suite failed, without anything from the server."""
    cause = SuiteError("LeakError", why)
    verdict = Verdict(Outcome.ERROR, cause)
    return replace(
        case, outcome=verdict.outcome, cause=cause, message=verdict.message, exchanges=()
    )
