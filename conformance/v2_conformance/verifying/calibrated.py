"""First answers to known-good requests, derived again from a report's calibrations.

A canary must get that answer again: the exact one or, if the model answered none exactly, the same
as before. So the answer required of a canary is derived, never believed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from v2_conformance.conversations.calibration import FirstAnswer
from v2_conformance.conversations.calibration import calibration as calibrate
from v2_conformance.conversations.steps import play
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.known_good import Form, known_good, problem_with
from v2_conformance.judging.observed.cases import observe_first_answer
from v2_conformance.judging.observed.exchanges import Observation
from v2_conformance.redaction import Mask
from v2_conformance.report.document import Report
from v2_conformance.report.evidence import Calibration
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.causes.circumstances import AnswersDiffer
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.verifying.recorded.transcripts import (
    ReadExchange,
    RecordedError,
    check_sent,
    first_unmasked_difference,
    read_exchange,
)
from v2_conformance.wire.encode.deployment import Address, DeployedModel
from v2_conformance.wire.encode.requests import Prepared
from v2_conformance.wire.transcript import Transcript

_FORMS: Sequence[Form] = get_args(Form)


@dataclass(frozen=True)
class FirstAnswers:
    """All first answers of a run, by role and form; several if it had several processes.

    `changed` has those models and forms of which other answers were exact although a first one was
    not. `edits` lists calibrations that no run can have produced, `differing` the roles of models
    that do not repeat their answers.
    """

    by_model: Mapping[tuple[str, str], Sequence[FirstAnswer]] = field(default_factory=dict)
    changed: frozenset[tuple[str, str]] = frozenset()
    edits: tuple[str, ...] = ()
    differing: frozenset[str] = frozenset()

    def seen(self) -> Iterator[Observation]:
        """Return what they show about first answers."""
        for (role, form), answers in self.by_model.items():
            if role in self.differing:
                continue
            wrong = next((one.wrong for one in answers if one.wrong is not None), None)
            yield observe_first_answer(role, form, wrong)


def first_answers(
    report: Report,
    address: Address,
    present: Mapping[str, DeployedModel],
    mask: Mask,
    *,
    masks: bool,
) -> FirstAnswers:
    """Return the first answers that a report's calibrations show. Never raises for a report's
    content.
    """
    found: dict[tuple[str, str], list[FirstAnswer]] = {}
    edits = []
    for calibration in report.calibration:
        role, form = calibration.role, calibration.form
        try:
            first = _first_answer(calibration, address, present, mask, masks=masks)
        except RecordedError as error:
            where = f"{printable(role, 40)}, {printable(form, 20)}"
            edits.append(f"no run leaves this calibration ({where}): {error}")
            continue
        found.setdefault((role, form), []).append(first)
    changed = frozenset(
        key
        for key, answers in found.items()
        for first in answers
        if first.expected is not None
        if any(one.expected is None for one in answers)
        or any(_exact(report, first, mask, masks=masks))
    )
    causes = (case.cause for case in report.cases)
    differing = frozenset(cause.role for cause in causes if isinstance(cause, AnswersDiffer))
    return FirstAnswers(found, changed, tuple(edits), differing)


def _first_answer(
    calibration: Calibration,
    address: Address,
    present: Mapping[str, DeployedModel],
    mask: Mask,
    *,
    masks: bool,
) -> FirstAnswer:
    binding = present.get(calibration.role)
    form = next((form for form in _FORMS if form == calibration.form), None)
    if binding is None or form is None:
        raise RecordedError("there is no such model or form")
    try:
        ways = known_good(calibration.role, address, binding, form)
    except CaseFileError as error:
        raise RecordedError(f"its requests cannot be made again: {error}") from error
    left = deque(calibration.exchanges)

    def answer(way: Prepared) -> Transcript:
        if not left:
            raise RecordedError("a request is missing")
        exchange = read_exchange(left.popleft())
        _check_request(way, exchange, mask, masks=masks)
        return exchange.transcript

    first = play(calibrate(ways), answer)
    if left:
        raise RecordedError("there are more requests than it takes")
    if not first.lasting:
        raise RecordedError("a server that is away is calibrated later")
    return first


def _check_request(way: Prepared, exchange: ReadExchange, mask: Mask, *, masks: bool) -> None:
    if exchange.recorded.purpose is not Purpose.CALIBRATION:
        raise RecordedError("an exchange is not marked as one")
    check_sent(exchange.transcript, way.request, mask, masks=masks)


def _exact(report: Report, first: FirstAnswer, mask: Mask, *, masks: bool) -> Iterator[bool]:
    """Return for each canary with this request whether its answer is exact."""
    request = b"".join(first.prepared.request.http1)
    for case in report.cases:
        for exchange in case.exchanges:
            if not exchange.purpose.canary:
                continue
            if first_unmasked_difference(exchange.request, request, mask, masks=masks) is not None:
                continue
            try:
                transcript = read_exchange(exchange).transcript
            except RecordedError:
                continue  # its case says so
            yield problem_with(first.prepared, None, transcript) is None
