"""What a report amounts to, in few words, for the pages and files that name it in passing."""

from __future__ import annotations

from dataclasses import dataclass

from v2_conformance.report.document import Report
from v2_conformance.report.visible_text import short, visible
from v2_conformance.suite.causes import RoleAbsent
from v2_conformance.suite.outcomes import Outcome

INCOMPLETE = "incomplete run"
# For each verdict the outcome whose color it has, and its sign: no reader depends on the color.
TONES = {
    "conformant, robust": (Outcome.PASS, "✓"),
    "conformant, not robust": (Outcome.INCONCLUSIVE, "◐"),
    "not conformant": (Outcome.FAIL, "✗"),
    INCOMPLETE: (Outcome.NOT_RUN, "○"),
}
_NAME = 80


@dataclass(frozen=True)
class Standing:
    """A verdict in words, the outcome whose color it takes, and its sign.

    `left_out` counts the cases of a whole run that the report lacks.
    """

    words: str
    tone: Outcome
    sign: str
    left_out: int


def standing(report: Report) -> Standing:
    """The standing of a report; a run without all of its cases is only incomplete."""
    left_out = sum(missing(report).values())
    words = INCOMPLETE if left_out or not report.complete else report.verdict.words
    return Standing(words, *TONES[words], left_out)


def missing(report: Report) -> dict[str, int]:
    """Requirement to the number of its planned cases that are not in the report."""
    there: dict[str, set[str]] = {}
    for case in report.cases:
        there.setdefault(case.requirement, set()).add(case.id)
    left = {
        requirement: count - len(there.get(requirement, ()))
        for requirement, count in report.planned.items()
    }
    return {requirement: count for requirement, count in left.items() if count > 0}


def server_name(report: Report) -> str:
    """The server's name and version, printable and short; not escaped for any format."""
    server = report.target.server
    text = " ".join(visible(f"{server.name} {server.version}").split())
    return short(text or "unnamed server", _NAME)


def profiles(report: Report) -> str:
    """The claimed profiles, and what of them was not tested, because the server need not have it:
    datatypes that it declares unsupported, and optional models that cases would have needed."""
    text = ", ".join(report.target.profiles) or "none"
    without = list(report.target.unsupported)
    absent = dict.fromkeys(
        case.cause.role
        for case in report.of(Outcome.UNSUPPORTED)
        if isinstance(case.cause, RoleAbsent)
    )
    without += [f"the model {role}" for role in absent]
    return text + (f", without {', '.join(without)}" if without else "")
