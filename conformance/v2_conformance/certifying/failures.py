"""Lists what failed in a report, and the cases to send to see whether it still does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from v2_conformance.errors import UsageError
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.suite.cases import Case, ObservedCase
from v2_conformance.suite.causes.causes import NotKept
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.terminal_safe_text import matches
from v2_conformance.verifying.record import Setting, setting_of
from v2_conformance.verifying.rejudge import rejudge
from v2_conformance.verifying.verification import plan_of


@dataclass(frozen=True)
class Failure:
    """A case that failed in a report.

    `case` is this installation's version, None if it has no such case. `changed` says whether that
    sends or expects something other than the report's case. `shown_by` are the cases whose
    exchanges show it again, if it sends nothing itself.
    """

    recorded: CaseResult
    case: Case | None
    changed: bool = False
    shown_by: tuple[Case, ...] = ()


def failures(
    report: Report, cases: Sequence[Case], patterns: Sequence[str] = ()
) -> tuple[Failure, ...]:
    """Return the cases of `report` that failed, only those that match `patterns` if there are any.

    `cases` are all of this installation. Raises UsageError for a report that says nothing about
    the suite's own cases of servers, and ReportFileError for one that cannot be read again.
    """
    if report.target.client is not None:
        raise UsageError(
            "the report is about a client: run its scenarios again with `v2-conformance client "
            "--scenario ID -- COMMAND`"
        )
    if not report.own:
        raise UsageError(
            "the report is about cases of another file: send them again with `run --cases FILE`"
        )
    known = plan_of(setting_of(report), cases, [], [])
    found = [_failure(recorded, known.cases) for recorded in _failed(report, patterns)]
    if not any(isinstance(failure.case, ObservedCase) for failure in found):
        return tuple(found)
    return tuple(_with_evidence(found, known))


def _failed(report: Report, patterns: Sequence[str]) -> list[CaseResult]:
    return [
        case
        for case in report.of(Outcome.FAIL, Outcome.FLAKY)
        if not patterns or any(case.requirement == p or matches(case.id, p) for p in patterns)
    ]


def _failure(recorded: CaseResult, known: Mapping[str, Case]) -> Failure:
    case = known.get(recorded.id)
    return Failure(recorded, case, case is not None and case.content != recorded.content)


def _with_evidence(found: Sequence[Failure], known: Setting) -> list[Failure]:
    """Return the failures, those of observed cases with all cases that show them.

    The cause names only the first few, so all recorded bytes are looked at again.
    """
    again = (rejudge(case, known) for case in known.report.cases)
    seen = [one for case in again for one in case.seen or () if one.wrong]
    complete = []
    for failure in found:
        case, cause = failure.case, failure.recorded.cause
        if not isinstance(case, ObservedCase):
            complete.append(failure)
            continue
        named = cause.cases if isinstance(cause, NotKept) else ()
        ids = dict.fromkeys((*named, *(one.case for one in seen if one.what == case.observed)))
        shown = (known.cases.get(case_id) for case_id in ids)
        shown_by = tuple(one for one in shown if one is not None)
        complete.append(Failure(failure.recorded, case, failure.changed, shown_by))
    return complete
