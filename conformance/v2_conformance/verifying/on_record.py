"""Plays the conversation of a case with its record, and that of generated requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from v2_conformance.conversations.case import conversation
from v2_conformance.conversations.generated import generated, sendable
from v2_conformance.conversations.steps import (
    Answer,
    AskApart,
    AskTogether,
    Calibrate,
    Concluded,
    Heard,
    KnownGood,
    Step,
    play,
)
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.known_good import known_good, problem_with
from v2_conformance.judging.survival import skipped
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.datatypes import element_count
from v2_conformance.report.document import CaseResult
from v2_conformance.resources import fits
from v2_conformance.suite.cases import GeneratedCase, GetCase, RequestCase
from v2_conformance.suite.causes.causes import COUNTEREXAMPLE, Cause, GeneratedFailure
from v2_conformance.suite.entries.case_files import make_case
from v2_conformance.suite.library import generated_entry
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.verifying.record import Record, RecordedError
from v2_conformance.verifying.setting import Setting
from v2_conformance.wire.encode.requests import LIVE, Prepared, get_request
from v2_conformance.wire.exchange import Exchange, unsent
from v2_conformance.wire.response import Ending

_OWN = (Purpose.CASE, Purpose.REPEATED, Purpose.RETRIED)
_NOTHING = unsent(b"", Ending.LEFT).for_purpose(Purpose.CANARY_FRESH)
_MOST_DRAWN = 64**3  # a cube of the largest dimension that is drawn


def concluded(case: RequestCase | GetCase, record: Record, known: Setting) -> Concluded:
    """Return the result of the conversation of a case with `record`.

    Raises RecordedError for a record that does not fit the case, and UnconfirmedError.
    """
    if isinstance(case, RequestCase) and not known.same_suite:
        # Which negative case of a requirement is its last depends on the other cases.
        fresh = any(one.purpose is Purpose.CANARY_FRESH for one in record.left)
        case = replace(case, last_negative=fresh)
    driver = _Driver(record, known)
    try:
        found = play(conversation(case, known.known), driver.answer)
    except CaseFileError as error:
        raise RecordedError(f"its request cannot be made again: {error}") from error
    if driver.lacks_canary and found.verdict.outcome is not Outcome.FAIL:
        raise RecordedError("a known-good request on a fresh connection is not recorded")
    return found


class _Driver:
    def __init__(self, record: Record, known: Setting) -> None:
        self._record = record
        self._known = known
        self.lacks_canary = False

    def answer(self, step: Step) -> Answer:
        """Return the record of a step. Raises RecordedError and UnconfirmedError."""
        if isinstance(step, Calibrate):
            return ""
        if isinstance(step, KnownGood):
            return self._heard(step)
        if isinstance(step, AskTogether):
            one = self._record.take("the request", (Purpose.SAMPLE,), *step.prepared)
            return [(step.prepared.index(self._record.matched), one)]
        before = step.purpose is Purpose.BEFORE
        what = "the request before the case" if before else "the request"
        return self._record.take(what, (Purpose.BEFORE,) if before else _OWN, step.prepared)

    def _heard(self, step: KnownGood) -> Heard | None:
        liveness = None
        if not step.fresh and not self._record.comes(Purpose.CANARY_SAME):
            return None  # the connection was closed before
        if step.fresh and self._record.comes(Purpose.LIVENESS):
            alive = Prepared(get_request(self._known.where.address, LIVE))
            liveness = self._record.take("the liveness", (Purpose.LIVENESS,), alive)
        purpose = Purpose.CANARY_FRESH if step.fresh else Purpose.CANARY_SAME
        if not self._record.comes(purpose):
            self.lacks_canary = True  # a case that fails without it fails in any event
            return Heard(_NOTHING, None)
        one = self._record.take("a known-good request", (purpose,), *self._known_good(step))
        return Heard(one, problem_with(self._record.matched, one.expected, one), liveness)

    def _known_good(self, step: KnownGood) -> list[Prepared]:
        binding = self._known.claims.present.get(step.role)
        if binding is None:
            raise RecordedError(f"a known-good request needs {step.role}, which is not there")
        address = self._known.where.address
        return [way for form in step.forms for way in known_good(step.role, address, binding, form)]


def of_generated(
    case: GeneratedCase, recorded: CaseResult, record: Record, known: Setting
) -> Verdict:
    """Return the verdict on generated requests: each is a case of its own, made of its entry."""
    asked: list[AskApart] = []

    def requests() -> Iterator[AskApart]:
        while record.left:
            asked.append(_request_of(case, record.left[0], recorded.cause, known))
            yield asked[-1]

    def answer(apart: AskApart) -> Concluded:
        return concluded(apart.case, record, known)

    verdict = play(generated(case, requests()), answer).verdict
    made, cause = verdict.cause, recorded.cause
    if isinstance(made, GeneratedFailure):
        if isinstance(cause, GeneratedFailure):
            if cause.file == COUNTEREXAMPLE:
                made = msgspec.structs.replace(made, file=COUNTEREXAMPLE)
            if not made.number:  # drawn: only who has that version of Hypothesis can draw it again
                drawn = {"seed": cause.seed, "hypothesis": cause.hypothesis}
                made = msgspec.structs.replace(made, number=cause.number, **drawn)
        return msgspec.structs.replace(verdict, cause=made)
    if asked != list(sendable(case, known.claims)):
        raise RecordedError("the recorded requests are not all generated ones that the suite sends")
    return verdict


def _request_of(
    case: GeneratedCase, one: Exchange, cause: Cause | None, known: Setting
) -> AskApart:
    """Return the generated request that a recorded exchange belongs to."""
    entry = one.entry
    drawn = isinstance(cause, GeneratedFailure) and cause.seed == known.report.seed
    if entry is None or not (entry in case.requests or (drawn and _is_drawn(entry))):
        raise RecordedError("the entry of a generated request is not one")
    made = make_case(entry)
    assert isinstance(made, RequestCase)
    skip = skipped(made, known.claims)
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
