"""What a report amounts to, in few words, for the pages and files that name it in passing."""

from __future__ import annotations

from dataclasses import dataclass

from v2_conformance.report.claim_words import (
    CONFORMANT,
    CONSISTENT,
    INCOMPLETE,
    NOT_CONFORMANT,
    NOT_CONSISTENT,
    NOT_ROBUST,
    NOT_SHOWN,
    claim_words,
    verdict_words,
)
from v2_conformance.report.document import Report
from v2_conformance.report.summary import contradicted
from v2_conformance.report.visible_text import short, visible
from v2_conformance.suite.outcomes import Outcome

# For each verdict the outcome whose color it has, and its sign: no reader depends on the color.
TONES = {
    CONFORMANT: (Outcome.PASS, "✓"),
    NOT_ROBUST: (Outcome.INCONCLUSIVE, "◐"),
    NOT_CONFORMANT: (Outcome.FAIL, "✗"),
    CONSISTENT: (Outcome.PASS, "≈"),
    NOT_CONSISTENT: (Outcome.FAIL, "✗"),
    NOT_SHOWN: (Outcome.INCONCLUSIVE, "?"),
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
    verdict = report.verdict
    words = verdict_words(
        conformant=verdict.conformant,
        robust=verdict.robust,
        complete=report.complete and not left_out,
        consistent=verdict.consistent,
        contradicted=contradicted(report.requirements),
    )
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
    """The name and version of the server, or of the client, printable and short; not escaped for
    any format."""
    server = report.target.server
    text = " ".join(visible(f"{server.name} {server.version}").split())
    return short(text or f"unnamed {report.target.what}", _NAME)


def claim(report: Report) -> str:
    """What the verdict is about, in words; see `claim_words`."""
    target = report.target
    relations = report.relations
    about = () if relations is None else relations.words(report.verdict.needs_identity)
    return claim_words(
        target.profiles,
        target.unsupported,
        report.cases,
        report.requirements,
        target.binding,
        http2=target.http2,
        about=about,
    )


def claimed(report: Report) -> str:
    """The name of the server, or of the client, and the claim, as pages and summaries begin."""
    name = server_name(report)
    tested = name if report.target.client is None else f"the client {name}"
    return f"{tested}, profiles {claim(report)}"
