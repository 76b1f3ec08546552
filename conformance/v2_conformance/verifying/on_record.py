"""The driver over a record: it answers the steps of a case's conversation, and of one about
generated requests, with the recorded exchanges in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from v2_conformance.conversations.case import conversation
from v2_conformance.conversations.generated import generated, sendable
from v2_conformance.conversations.steps import (
    Answer,
    AskApart,
    AskTogether,
    Calibrate,
    CanaryAnswer,
    Known,
    KnownGood,
    Result,
    Step,
    play,
)
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.claims import skipped
from v2_conformance.judging.known_good import known_good, problem_with
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.datatypes import element_count
from v2_conformance.report.document import CaseResult
from v2_conformance.resources import fits
from v2_conformance.suite.case_files import make_case
from v2_conformance.suite.cases import GeneratedCase, GetCase, RequestCase
from v2_conformance.suite.causes.causes import Cause, GeneratedFailure
from v2_conformance.suite.library import generated_entry
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.verifying.record import RecordedError, RecordedExchanges
from v2_conformance.wire.encode.requests import LIVE, Prepared, get_request
from v2_conformance.wire.exchange import Exchange, unsent
from v2_conformance.wire.response import Ending

_OWN = (Purpose.CASE, Purpose.REPEATED, Purpose.RETRIED)
_NOTHING = unsent(b"", Ending.LEFT).for_purpose(Purpose.CANARY_FRESH)
_MOST_DRAWN = 64**3  # a cube of the largest dimension that is drawn


def replayed(case: RequestCase | GetCase, record: RecordedExchanges) -> Result:
    """Return the result of a case's conversation. Raises RecordedError and UnconfirmedError."""
    known = Known(record.setting.address, record.setting.claims)
    lacking: list[KnownGood] = []
    try:
        result = play(conversation(case, known), lambda s: _answer(s, record, lacking))
    except CaseFileError as error:
        raise RecordedError(f"its request cannot be made again: {error}") from error
    if lacking and result.verdict.outcome is not Outcome.FAIL:
        raise RecordedError("a known-good request on a fresh connection is not recorded")
    return result


def _answer(step: Step, record: RecordedExchanges, lacking: list[KnownGood]) -> Answer:
    """Return the record of a step; missing known-good requests are added to `lacking`."""
    if isinstance(step, Calibrate):
        report = record.setting.report
        known = {one.role for one in report.calibration if one.form == "binary"}
        # A case goes on without its own form: a server may ask to wait whenever that is tried.
        if step.form == "binary" and report.relations is None and step.role not in known:
            raise RecordedError(f"no known-good request to {step.role} is recorded")
        return ""
    if isinstance(step, AskTogether):
        one = record.take("the request", (Purpose.SAMPLE,), *step.prepared)
        return [(step.prepared.index(record.matched), one)]
    if not isinstance(step, KnownGood):
        before = step.purpose is Purpose.BEFORE
        what = "the request before the case" if before else "the request"
        return record.take(what, (Purpose.BEFORE,) if before else _OWN, step.prepared)
    if not step.fresh and not record.comes(Purpose.CANARY_SAME):
        return None  # the connection was closed before
    setting, liveness = record.setting, None
    if step.fresh and record.comes(Purpose.LIVENESS):
        alive = Prepared(get_request(setting.address, LIVE))
        liveness = record.take("the liveness", (Purpose.LIVENESS,), alive)
    purpose = Purpose.CANARY_FRESH if step.fresh else Purpose.CANARY_SAME
    if not record.comes(purpose):
        lacking.append(step)  # a case that fails without it fails in any event
        return CanaryAnswer(_NOTHING, None)
    binding = setting.claims.present.get(step.role)
    if binding is None:
        raise RecordedError(f"a known-good request needs {step.role}, which is not there")
    ways = [w for form in step.forms for w in known_good(step.role, setting.address, binding, form)]
    one = record.take("a known-good request", (purpose,), *ways)
    return CanaryAnswer(one, problem_with(record.matched, one.expected, one), liveness)


def of_generated(case: GeneratedCase, recorded: CaseResult, record: RecordedExchanges) -> Verdict:
    """Return the verdict on generated requests: each is a case of its own, made of its entry."""
    requested: list[AskApart] = []

    def requests() -> Iterator[AskApart]:
        while record.left:
            requested.append(_request_of(case, record.left[0], recorded.cause, record))
            yield requested[-1]

    verdict = play(generated(case, requests()), lambda one: replayed(one.case, record)).verdict
    made, cause = verdict.cause, recorded.cause
    if isinstance(made, GeneratedFailure):
        if isinstance(cause, GeneratedFailure) and not made.number:
            # It was drawn: only somebody who has that version of Hypothesis can draw it again.
            drawn = {"seed": cause.seed, "hypothesis": cause.hypothesis}
            made = msgspec.structs.replace(made, number=cause.number, **drawn)
        return msgspec.structs.replace(verdict, cause=made)
    if requested != list(sendable(case, record.setting.claims)):
        raise RecordedError("the recorded requests are not all generated ones that the suite sends")
    return verdict


def _request_of(
    case: GeneratedCase, one: Exchange, cause: Cause | None, record: RecordedExchanges
) -> AskApart:
    entry = one.entry
    drawn = isinstance(cause, GeneratedFailure) and cause.seed == record.setting.report.seed
    if entry is None or not (entry in case.requests or (drawn and _is_drawn(entry))):
        raise RecordedError("the entry of a generated request is not one")
    made = make_case(entry)
    assert isinstance(made, RequestCase)
    skip = skipped(made, record.setting.claims)
    if skip is not None:
        raise RecordedError(f"a generated request is recorded that is not sent: {skip.message}")
    return AskApart(made, entry)


def _is_drawn(entry: Mapping[str, Any]) -> bool:
    """Return True for an entry with the form and the size of those that are drawn."""
    try:
        request = entry["request"]
        again = {"model": entry["model"], "request": request, "answer": entry["expect"]["outputs"]}
        return (
            entry == generated_entry(again)
            and fits("case", {"family": "M", "cases": [entry]})
            and all(element_count(one["shape"]) <= _MOST_DRAWN for one in request["inputs"])
        )
    except (AttributeError, KeyError, TypeError):
        return False
