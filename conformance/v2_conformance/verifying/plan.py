"""The plan of a run, made again from the selection in its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from v2_conformance.errors import CaseFileError, NothingRanError, UsageError
from v2_conformance.judging.relations.learning import Learned
from v2_conformance.judging.relations.plan import relation_plan
from v2_conformance.report.document import Report
from v2_conformance.suite.cases import Case
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.choosing.claimed import claims_problem
from v2_conformance.suite.choosing.selection import asked_for, select

_NAMED = 5
_SHOWN = 120


@dataclass(frozen=True)
class DerivedPlan:
    """Plan of a run with a selection: the ids of its verdict, and the cases that it can send."""

    counts: Mapping[str, int]
    chosen: Mapping[str, Case]


def cases_of(report: Report, cases: Sequence[Case]) -> list[Case]:
    """Return those of `cases` that the run which made `report` could choose from."""
    asked = report.selection
    return asked_for(cases, large=asked.large)


def plan_again(
    report: Report, cases: Sequence[Case], models: Sequence[Learned] = ()
) -> DerivedPlan:
    """Return the plan of the run that made `report`; `cases` are all of this installation, `models`
    those that it learned.

    Raises CaseFileError, NothingRanError and UsageError for a selection that no run can have had.
    """
    asked = report.selection
    wanted = cases_of(report, cases)
    if report.relations is not None:
        wanted = relation_plan(models, wanted)
    chosen = select(wanted, asked.patterns)
    return DerivedPlan(
        Counter(case.requirement for case in wanted), {case.id: case for case in chosen}
    )


def claim_edits(report: Report) -> Iterator[str]:
    """Yield what no target of a run can claim."""
    target = report.target
    problem = claims_problem(target.profiles, target.unsupported)
    if problem is not None:
        yield f"no run can have these claims: {printable(problem, _SHOWN)}"
    for name, claimed in (("profiles", target.profiles), ("unsupported", target.unsupported)):
        if len(set(claimed)) < len(claimed):
            yield f"`{name}` of the target names something twice"


def plan_edits(
    report: Report, cases: Sequence[Case], models: Sequence[Learned] = ()
) -> tuple[DerivedPlan | None, list[str]]:
    """Return the plan of the run that made `report`, or None, and how the report's plan differs.

    The plan of a run with cases from outside the suite cannot be made again.
    """
    if not report.own:
        return None, []
    try:
        plan = plan_again(report, cases, models)
    except (CaseFileError, NothingRanError, UsageError) as error:
        return None, [f"no run can have this selection: {printable(str(error), _SHOWN)}"]
    return plan, list(_differences(report, plan))


def _differences(report: Report, plan: DerivedPlan) -> Iterator[str]:
    names = dict.fromkeys((*plan.counts, *report.planned))
    other = [name for name in names if plan.counts.get(name) != report.planned.get(name)]
    if other:
        yield f"the report plans other cases than a run with this selection: {named(other)}"
    surplus = [case.id for case in report.cases if case.id not in plan.chosen]
    if surplus:
        yield (
            "the report has cases that are not in the plan of a run with this selection: "
            f"{named(surplus)}"
        )
    twice = [name for name, count in Counter(c.id for c in report.cases).items() if count > 1]
    if twice:
        yield f"the report has cases twice: {named(twice)}"


def named(names: Sequence[str]) -> str:
    """Return the first of `names`, printable, and how many more there are."""
    shown = ", ".join(printable(name, 80) for name in names[:_NAMED])
    more = len(names) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown
