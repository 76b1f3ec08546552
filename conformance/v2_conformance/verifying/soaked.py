"""Derives a report's soak again: growth from its samples, and the answers it kept.

Measurements and request counts cannot be repeated, so they have to be believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from v2_conformance.conversations.case import requests_of
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.growth import trends
from v2_conformance.judging.judge import judge
from v2_conformance.report.document import Report, Soak, WrongUnderLoad
from v2_conformance.suite.cases import GetCase, RequestCase
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.exchanges import matching
from v2_conformance.verifying.recorded.transcripts import (
    RecordedError,
    UnconfirmedError,
    hides,
    read_exchange,
)
from v2_conformance.verifying.setting import Setting

BELIEVED = (
    "that its soak measured and counted what the report says; the growth follows from that, and "
    "the wrong answers that it kept were judged again"
)


def soak_edits(report: Report, known: Setting) -> Iterator[str]:
    """Yield what a report says of a soak that cannot be true of an unedited report of this very
    suite.
    """
    soak = report.soak
    if soak is None:
        return
    if any(b.at_s < a.at_s or b.requests < a.requests for a, b in pairwise(soak.samples)):
        yield "the samples of the soak are not in their order"
    elif trends(soak.samples, soak.phases) != soak.trends:
        yield "what the soak says of growth does not follow from its samples"
    yield from _counts(soak)
    for wrong in soak.kept:
        problem = _problem(wrong, known)
        if problem:
            yield f"a wrong answer of the soak to {wrong.case} does not hold: {problem}"


def _counts(soak: Soak) -> Iterator[str]:
    if sum(soak.wrong.values()) != sum(kind.wrong for kind in soak.kinds):
        yield "the soak's wrong answers by case are not as many as those by kind"
    if {wrong.case for wrong in soak.kept} - set(soak.wrong):
        yield "the soak kept a wrong answer of a case that it does not count"
    if any(k.wrong + k.declined + k.unanswered > k.requests for k in soak.kinds):
        yield "the soak counts more answers of a kind than requests"
    sent = soak.samples[-1].requests if soak.samples else 0
    if sent > soak.requests:
        yield "the soak's samples count more requests than its kinds"


def _problem(wrong: WrongUnderLoad, known: Setting) -> str:
    """Return why the recorded bytes do not show a wrong answer, "" if they do."""
    case = known.cases.get(wrong.case)
    if known.plan is not None:
        case = known.plan.chosen.get(wrong.case, case)
    if not isinstance(case, RequestCase | GetCase):
        return "this suite has no such case"
    try:
        read = read_exchange(wrong.exchange)
        prepared = matching(requests_of(case, known.known), read, known, "the request")
    except (RecordedError, UnconfirmedError, CaseFileError) as error:
        return str(error)
    if hides(read.transcript, masks=known.masks):
        return ""
    verdict = judge(case, prepared, read.transcript)
    if verdict.outcome is not Outcome.FAIL:
        return f"the recorded bytes say {verdict.outcome.words}"
    return "" if known.masks or verdict.cause == wrong.cause else "its cause is a different one"
