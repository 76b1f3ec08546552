"""Does a report's verdict hold, judged again from its own bytes?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from v2_conformance.report.document import OverallVerdict, Report, RequirementResult
from v2_conformance.report.files import read_report
from v2_conformance.report.summary import concluded
from v2_conformance.suite.cases import Case
from v2_conformance.suite.requirements import digest
from v2_conformance.verifying.rejudge import Rejudged, is_observed, rejudge, rejudge_observed
from v2_conformance.verifying.setting import Setting, setting
from v2_conformance.version import __version__


@dataclass(frozen=True)
class Verification:
    """What became of judging a report again.

    `edits` are what cannot be true of an untouched report whatever its cases show. `verdict` is the
    one that the cases amount to now. `foreign` says whether another suite made the report,
    `derived` whether its verdict could be derived with this one's requirements, and `unsealed`
    whether it is the record of a run, which has no digest.
    """

    path: Path
    report: Report
    cases: tuple[Rejudged, ...]
    edits: tuple[str, ...]
    verdict: OverallVerdict
    foreign: bool
    derived: bool
    unsealed: bool

    @property
    def exit_code(self) -> int:
        """0 it holds, 1 it does not, 2 it cannot be confirmed here."""
        if self.edits or any(case.problem is not None for case in self.cases):
            return 1
        judged = all(case.unjudged is None for case in self.cases)
        return 0 if self.derived and judged else 2


def verify(path: Path, cases: Sequence[Case]) -> Verification:
    """Judge a report.json, or the record of a run, again; `cases` are all of this installation.

    Raises ReportFileError for whatever is neither.
    """
    file = read_report(path)
    report, suite = file.report, file.report.suite
    foreign = (suite.version, suite.catalogue) != (__version__, digest())
    known = setting(report, cases, same_suite=not foreign)
    judged = _rejudged(report, known)
    outcomes = tuple(
        msgspec.structs.replace(recorded, outcome=case.outcome)
        for recorded, case in zip(report.cases, judged, strict=True)
    )
    again = concluded(msgspec.structs.replace(report, cases=outcomes))
    edits = []
    if not file.is_intact:
        edits.append("the report was edited: its digest is not that of its content")
    derived = True
    if foreign:
        derived = _core(report) == _core(again)
    else:
        edits += _edits(report, again, cases)
    return Verification(
        path, report, judged, tuple(edits), again.verdict, foreign, derived, file.is_record
    )


def _rejudged(report: Report, known: Setting) -> tuple[Rejudged, ...]:
    """Every case judged again: those about the exchanges of all others after these."""
    sent = [None if is_observed(case, known) else rejudge(case, known) for case in report.cases]
    others = [case for case in sent if case is not None]
    return tuple(
        rejudge_observed(recorded, known, others) if case is None else case
        for recorded, case in zip(report.cases, sent, strict=True)
    )


def _edits(report: Report, again: Report, cases: Sequence[Case]) -> Iterator[str]:
    """What in a report of this very suite does not follow from its cases."""
    planned = report.planned
    whole = Counter(case.requirement for case in cases if not (case.large or case.thorough))
    fewer = [name for name, count in whole.items() if planned.get(name, 0) < count]
    if fewer:
        yield f"the report plans fewer cases than there are for {' '.join(fewer)}"
    stated, follows = ({row.id: row for row in r.requirements} for r in (report, again))
    names = dict.fromkeys((*stated, *follows))
    other = [name for name in names if stated.get(name) != follows.get(name)]
    if other:
        yield f"the rows of these requirements do not follow from the cases: {' '.join(other)}"
    if report.verdict != again.verdict:
        yield "the verdict with its reasons and warnings does not follow from the cases"


def _core(report: Report) -> tuple[object, ...]:
    """What a verdict amounts to, without words that change from version to version."""
    verdict = report.verdict
    return verdict.conformant, verdict.robust, [_facts(row) for row in report.requirements]


def _facts(row: RequirementResult) -> tuple[object, ...]:
    return row.id, row.level, row.basis, row.outcome, row.cases
