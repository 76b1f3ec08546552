"""The cases of a report as the page lists them: compact data of which its script makes the rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from v2_conformance.formats.html.sources import Source, source
from v2_conformance.formats.outcomes_shown import LOOKS, SKIPPED, WORST_FIRST
from v2_conformance.formats.shown import in_milliseconds
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import GRADES
from v2_conformance.visible_text import short

_ROOM = 1_000_000
"""The number of bytes of a page for the rows."""
# A message is shown whole, unless it is absurd, or one of very many.
_MAX_MESSAGE = 4_000
_MAX_MESSAGE_OF_MANY = 400
_MANY = 250
_MAX_WHY = 1_000
_OUTCOMES = tuple(Outcome)


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


def index(cases: Listed) -> str:
    """JSON with a row for each case, in ASCII, safe in a script element.

    `{"outcomes": [[name, sign, label]], "levels": [name], "texts": [text], "sources": [[title, url,
    place]], "cases": [row]}`. A row is `[id, outcome, level, requirement, time, message, why,
    cite…]`: numbers are places in the lists, message and why in `texts`, each cite in `sources`.
    Rows for which there is no room are left out, the last ones.
    """
    limit = _MAX_MESSAGE if len(cases.troubled) <= _MANY else _MAX_MESSAGE_OF_MANY
    places: dict[str, int] = {}
    sources: dict[Source, int] = {}
    rows: list[str] = []
    left = _ROOM
    for case in cases:
        longest = _MAX_MESSAGE_OF_MANY if case.outcome in SKIPPED else limit
        message, why = short(case.message, longest), short(case.why, _MAX_WHY)
        left -= sum(_size(text) for text in (message, why) if text not in places)
        row = _json(
            [
                case.id,
                _OUTCOMES.index(case.outcome),
                GRADES.index(case.grade),
                case.requirement,
                in_milliseconds(case.duration_ms),
                places.setdefault(message, len(places)),
                places.setdefault(why, len(places)),
                *(sources.setdefault(source(cited), len(sources)) for cited in case.cite),
            ]
        )
        left -= len(row)
        if left < 0:
            break
        rows.append(row)
    looks = [[str(outcome), LOOKS[outcome].sign, LOOKS[outcome].label] for outcome in _OUTCOMES]
    head = _json(
        {"outcomes": looks, "levels": GRADES, "texts": list(places), "sources": list(sources)}
    )
    return f'{head[:-1]},"cases":[{",".join(rows)}]}}'


def _urgency(case: CaseResult) -> tuple[int, int]:
    return WORST_FIRST.index(case.outcome), GRADES.index(case.grade)


def _size(text: str) -> int:
    return len(_json(text))


def _json(value: object) -> str:
    """ASCII without "<", which would end a script element."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
