"""A report's result in a few words, for pages and files that mention it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from msgspec.structs import replace

from v2_conformance.report import document as doc
from v2_conformance.report.document import OverallVerdict, Report
from v2_conformance.suite.causes.base import counted
from v2_conformance.suite.causes.kinds import OutOfTime, RoleAbsent
from v2_conformance.suite.outcomes import FAILED, Outcome
from v2_conformance.terminal_safe_text import few_of, short, visible

# For each verdict the outcome whose color it has, and its sign: no reader depends on the color.
TONES = {
    doc.CONFORMANT: (Outcome.PASS, "✓"),
    doc.NOT_ROBUST: (Outcome.INCONCLUSIVE, "◐"),
    doc.NOT_CONFORMANT: (Outcome.FAIL, "✗"),
    doc.NOT_IMPLEMENTED: (Outcome.NOT_RUN, "∅"),
    doc.CONSISTENT: (Outcome.PASS, "≈"),
    doc.CONSISTENT_NOT_ROBUST: (Outcome.INCONCLUSIVE, "∼"),
    doc.NOT_CONSISTENT: (Outcome.FAIL, "✗"),
    doc.NOT_SHOWN: (Outcome.INCONCLUSIVE, "?"),
    doc.INCOMPLETE: (Outcome.NOT_RUN, "○"),
    doc.NOTHING_TESTED: (Outcome.NOT_RUN, "○"),
    doc.OUTDATED: (Outcome.NOT_RUN, "≠"),
}
_NAME = 80
_BFLOAT = ("bf16", "BF16")  # the profile and its datatype
# Not an error of the suite.
_DISPROVED = FAILED - {Outcome.ERROR}
_SENT_NOTHING = frozenset({Outcome.UNSUPPORTED, Outcome.NOT_RUN})


@dataclass(frozen=True)
class Standing:
    """A verdict in words, its color and sign, and how many cases of a whole run are missing."""

    words: str
    tone: Outcome
    sign: str
    left_out: int


def standing(report: Report) -> Standing:
    """The standing of a report; see `is_decided`."""
    words = verdict_words(report)
    return Standing(words, *TONES[words], sum(missing(report).values()))


def has_no_model(report: Report) -> bool:
    """Return True if the suite ran without one model of the server, so that nothing was tested."""
    return report.own and not report.target.models and report.target.client is None


def tested_nothing(report: Report) -> bool:
    """Return True if a server that may have the extension has no model for it."""
    return has_no_model(report) and bool(report.target.absent) and report.verdict.implemented


def is_whole(report: Report) -> bool:
    """Return True if every planned case of the suite ran, so that there is a verdict."""
    return report.own and report.complete and not missing(report)


def is_decided(report: Report) -> bool:
    """Return True if there is a verdict: the run is whole, or it was cut after a failure that no
    case to come could have undone. A part of the suite that the user chose has none.
    """
    if tested_nothing(report):
        return False
    if is_whole(report):
        return True
    if report.complete or report.selection.patterns or not report.own:
        return False
    return any(case.blocks == "conformant" for case in report.of(*_DISPROVED))


def verdict_words(report: Report) -> str:
    """Return the verdict as people say it, or why a run has none."""
    verdict = report.verdict
    if verdict.words == doc.OUTDATED:
        return doc.OUTDATED
    if tested_nothing(report):
        return doc.NOTHING_TESTED
    if not is_decided(report):
        return doc.INCOMPLETE
    if not verdict.implemented:
        return doc.NOT_IMPLEMENTED
    if verdict.consistent is None:
        grades = (doc.NOT_CONFORMANT, doc.NOT_ROBUST, doc.CONFORMANT)
    else:
        failed = any(case.blocks == "conformant" for case in report.of(*FAILED))
        worst = doc.NOT_CONSISTENT if failed else doc.NOT_SHOWN
        grades = (worst, doc.CONSISTENT_NOT_ROBUST, doc.CONSISTENT)
    return grades[verdict.good + (verdict.good and verdict.robust)]


def unconfirmed(report: Report) -> Report:
    """Return what a site shows of a report that it could not confirm: what it is about."""
    shown = replace(
        report,
        verdict=OverallVerdict(False, False, (), (), words=doc.OUTDATED),
        planned={},
        requirements=(),
        cases=(),
        discovery=(),
        calibration=(),
        relations=None,
    )
    return replace(shown, verdict=replace(shown.verdict, claim=claim(shown)))


def missing(report: Report) -> dict[str, int]:
    """Requirement to the number of its planned cases that are not in the report."""
    there = Counter({case.id: case.requirement for case in report.cases}.values())
    return dict(Counter(report.planned) - there)


def to_go(report: Report) -> tuple[int, int]:
    """Return how many cases a run had still to send when it was stopped, or ran out of time, and
    how many in all. Of a part of the suite only those that the report has are known.
    """
    late = sum(isinstance(case.cause, OutOfTime) for case in report.cases)
    if report.selection.patterns:
        return late, len(report.cases)
    return sum(missing(report).values()) + late, sum(report.planned.values())


def server_name(report: Report) -> str:
    """The name and version of what was tested, printable and short; not escaped."""
    server = report.target.server
    text = " ".join(visible(f"{server.name} {server.version}").split())
    return short(text or f"unnamed {report.target.what}", _NAME)


def claim(report: Report) -> str:
    """Return what the verdict is about: "binary, raw; without BF16; 1 requirement untested (E4)".

    Without are the datatypes and codings that the server does not claim, what a client lacks, and
    the optional models that cases would have needed. A requirement is untested if no case of it was
    sent. What is particular to a run about relations comes first.
    """
    target, rows = report.target, report.requirements
    without = list(target.without)
    profile, datatype = _BFLOAT
    if report.relations is None and profile not in target.profiles and datatype not in without:
        without.append(datatype)  # the models of others show which datatypes were tested
    without += dict.fromkeys(
        f"the model {case.cause.role}"
        for case in report.of(Outcome.UNSUPPORTED)
        if isinstance(case.cause, RoleAbsent)
    )
    parts = [", ".join(target.profiles) or "none"]
    if report.relations is not None:
        parts += report.relations.words(report.verdict.needs_identity)
    if without:
        parts.append(f"without {', '.join(dict.fromkeys(without))}")
    untested = dict.fromkeys(row.id for row in rows if _SENT_NOTHING.issuperset(row.cases))
    if untested:
        parts.append(f"{counted(len(untested), 'requirement')} untested ({few_of(untested)})")
    return "; ".join(parts)


def claimed(report: Report) -> str:
    """The name of the server, or of the client, and the claim, as pages and summaries begin."""
    name = server_name(report)
    tested = name if report.target.client is None else f"the client {name}"
    return f"{tested}, profiles {claim(report)}"
