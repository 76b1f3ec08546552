"""Reasons to read a report with care: what was not tested, or not reliably."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from v2_conformance.report.document import Report
from v2_conformance.report.verdict.standing import missing, to_go
from v2_conformance.report.verdict.summary import path_errors
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import counted
from v2_conformance.suite.models import name_of
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.terminal_safe_text import few_of, plain, short

TITLE = "Before you trust this"
_NAME = 300
_DETAILS = 600


class Caution(NamedTuple):
    """A reason to read the results with care, and its details; not escaped."""

    what: str
    details: str

    @property
    def words(self) -> str:
        """Both, as one sentence."""
        return f"{self.what}: {self.details}" if self.details else self.what


def cautions(report: Report) -> list[Caution]:
    """Everything to know before one trusts a report, the gravest first; often nothing."""
    return [*_of_the_run(report), *_of_models(report), *_of_cases(report)]


def _of_the_run(report: Report) -> Iterator[Caution]:
    if path := path_errors(report):
        yield Caution("The path to the server is bad", path)
    answers = [one.response for one in report.discovery]
    if via := {name: None for one in answers if one for name in one.values("via")}:
        what = f"Answers came through {short(plain(', '.join(via)), _NAME)}"
        yield Caution(what, "a failure may be its own; docs/running.md says how to tell")
    if not report.own:
        option = "--cases" if report.target.client is None else "--scenarios"
        yield Caution("Not the suite", f"the cases are those of {option}")
    left, total = sum(missing(report).values()), sum(report.planned.values())
    if not report.complete:
        late, asked = to_go(report)
        where = f"with {late} of {asked} cases to go" if late else "before its last case"
        yield Caution("Stopped early", f"stopped {where}; what is missing was not tested")
    elif left:
        yield Caution("Partial run", f"{total - left} of {total} cases sent")


def _of_models(report: Report) -> Iterator[Caution]:
    causes = [case.cause for case in report.cases]
    lost = Counter(cause.role for cause in causes if isinstance(cause, kinds.RoleAbsent))
    roles: dict[str, list[str]] = {}  # by the reason
    for role, why in report.target.absent.items():
        if lost[role]:
            roles.setdefault(why, []).append(role)
    for why, names in roles.items():
        number = counted(sum(lost[role] for role in names), "case")
        what = f"No model for {short(', '.join(names), _NAME)}"
        yield Caution(what, f"{number} did not run; {short(why, _NAME)}")
    silent = Counter(cause.role for cause in causes if isinstance(cause, kinds.NoKnownGoodAnswer))
    for role, lost_cases in silent.items():
        what = f"The model for {short(role, _NAME)} answers no known-good request"
        yield Caution(what, f"{counted(lost_cases, 'case')} did not run")
    for model in report.relations.models if report.relations is not None else ():
        if details := "; ".join(model.odd_shapes()):
            what = f"Odd answers of {short(name_of(model.role), _NAME)}"
            yield Caution(what, short(details, _DETAILS))


def _of_cases(report: Report) -> Iterator[Caution]:
    unclaimed: Counter[str] = Counter()
    for case in report.cases:
        if isinstance(case.cause, kinds.ProfileNotClaimed):
            unclaimed[f"profile {case.cause.profile}"] += 1
        elif isinstance(case.cause, kinds.DatatypesUnsupported):
            unclaimed[", ".join(case.cause.datatypes)] += 1
        elif isinstance(case.cause, kinds.CodingsUnsupported):
            unclaimed[", ".join(case.cause.codings)] += 1
    if unclaimed:
        details = "; ".join(f"{name} ({counted(n, 'case')})" for name, n in unclaimed.items())
        yield Caution("Not claimed, so not tested", short(details, _DETAILS))
    for outcome, what in ((Outcome.FLAKY, "Flaky"), (Outcome.ERROR, "Errors in the suite")):
        ids = [case.id for case in report.of(outcome)]
        if ids:
            yield Caution(f"{what}: {counted(len(ids), 'case')}", few_of(ids))
