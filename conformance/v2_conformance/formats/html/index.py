"""The cases of a report as the page lists them: data of which its script makes the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from v2_conformance.formats.html.links import case_anchor, source
from v2_conformance.formats.outcomes_shown import LOOKS, SKIPPED, WORST_FIRST
from v2_conformance.formats.shown import in_milliseconds
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import GRADES
from v2_conformance.visible_text import short, visible

# A message is shown whole, unless it is absurd, or one of very many.
_MAX_MESSAGE = 4_000
_MAX_MESSAGE_OF_MANY = 400
_MANY = 250
_MAX_WHY = 1_000


@dataclass(frozen=True)
class Listed:
    """The cases in the order of the page: those that need a look, the worst first, those that
    passed, and those that were not sent."""

    troubled: Sequence[CaseResult]
    passed: Sequence[CaseResult]
    skipped: Sequence[CaseResult]

    def __iter__(self) -> Iterator[CaseResult]:
        """All of them."""
        yield from self.troubled
        yield from self.passed
        yield from self.skipped


def listed(report: Report) -> Listed:
    """The cases of a report in the order of the page."""
    settled = (*SKIPPED, Outcome.PASS)
    return Listed(
        sorted((case for case in report.cases if case.outcome not in settled), key=_urgency),
        list(report.of(Outcome.PASS)),
        [case for outcome in SKIPPED for case in report.of(outcome)],
    )


def by_message(cases: Iterable[CaseResult]) -> Counter[str]:
    """Return how many cases have one message: many of them were not sent for one reason."""
    return Counter(short(case.message, _MAX_MESSAGE_OF_MANY) for case in cases)


def rows(cases: Listed) -> Iterator[dict[str, object]]:
    """Yield what the page lists of each case."""
    limit = _MAX_MESSAGE if len(cases.troubled) <= _MANY else _MAX_MESSAGE_OF_MANY
    for case in cases:
        look = LOOKS[case.outcome]
        yield {
            "id": visible(case.id),
            "anchor": case_anchor(case.id),
            "outcome": case.outcome,
            "sign": look.sign,
            "label": look.label,
            "level": case.grade,
            "requirement": visible(case.requirement),
            "time": in_milliseconds(case.duration_ms),
            "message": visible(
                short(case.message, _MAX_MESSAGE_OF_MANY if case.outcome in SKIPPED else limit)
            ),
            "why": visible(short(case.why, _MAX_WHY)),
            "cite": [tuple(map(visible, source(cited))) for cited in case.cite],
        }


def _urgency(case: CaseResult) -> tuple[int, int]:
    return WORST_FIRST.index(case.outcome), GRADES.index(case.grade)
