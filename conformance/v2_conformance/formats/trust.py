"""Reasons not to trust a report: what was not tested, or not for sure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from math import prod

from v2_conformance.report.document import Report
from v2_conformance.report.verdict.standing import missing, to_go
from v2_conformance.report.words import listed
from v2_conformance.suite.causes.base import counted
from v2_conformance.suite.causes.kinds import (
    CodingsUnsupported,
    DatatypesUnsupported,
    NoKnownGoodAnswer,
    ProfileNotClaimed,
    RoleAbsent,
)
from v2_conformance.suite.models import ROLE, TensorSpec, contract
from v2_conformance.suite.outcomes import Outcome, Word
from v2_conformance.visible_text import short

TITLE = "Before you trust this"
_WHY = 300
_FEW = 3
_DETAILS = 600


class Doubt(Word):
    """A reason to read the results with care; its value is also an anchor on the page."""

    FOREIGN_CASES = "foreign-cases"
    INCOMPLETE = "incomplete"
    LEFT_OUT = "left-out"
    ABSENT_MODEL = "absent-model"
    NO_GOOD_ANSWER = "no-good-answer"
    NOT_CLAIMED = "not-claimed"
    FLAKY = "flaky"
    SUITE_ERROR = "suite-error"
    NO_ELEMENTS = "no-elements"


@dataclass(frozen=True)
class Caution:
    """A doubt in words: what, and the details. What a server said in them is not escaped."""

    doubt: Doubt
    what: str
    details: str

    @property
    def words(self) -> str:
        """Both, as one sentence."""
        return f"{self.what}: {self.details}" if self.details else self.what


def cautions(report: Report) -> list[Caution]:
    """Everything to know before one trusts a report, the gravest first; often nothing."""
    return [
        *_of_the_run(report),
        *_of_models(report),
        *_of_claims(report),
        *_of_outcomes(report),
    ]


def _of_the_run(report: Report) -> Iterator[Caution]:
    if not report.own:
        yield Caution(Doubt.FOREIGN_CASES, "Not the suite", "the cases are those of --cases")
    left, total = sum(missing(report).values()), sum(report.planned.values())
    if not report.complete:
        late, asked = to_go(report)
        where = f"with {late} of {asked} cases to go" if late else "before its last case"
        details = f"stopped {where}; what is missing was not tested"
        yield Caution(Doubt.INCOMPLETE, "Stopped early", details)
    elif left:
        yield Caution(Doubt.LEFT_OUT, "A part of the suite", f"{left} of {total} cases not sent")


def _of_models(report: Report) -> Iterator[Caution]:
    lost = Counter(case.cause.role for case in report.cases if isinstance(case.cause, RoleAbsent))
    absent = {role: why for role, why in report.target.absent.items() if lost[role]}
    if len(absent) > _FEW:
        names = short(", ".join(absent), _WHY)
        did_not_run = f"{counted(sum(lost[role] for role in absent), 'case')} did not run"
        what = f"No model for {len(absent)} roles of the contract"
        yield Caution(Doubt.ABSENT_MODEL, what, f"{did_not_run}; {names}")
        absent = {}
    for role, why in absent.items():
        did_not_run = f"{counted(lost[role], 'case')} did not run"
        what = f"No model for {short(role, _WHY)}"
        known = contract().get(role)
        if known is not None:
            what += f" ({_tensors(known.inputs)} -> {_tensors(known.outputs)})"
        yield Caution(Doubt.ABSENT_MODEL, what, f"{did_not_run}; {short(why, _WHY)}")
    silent = Counter(
        case.cause.role for case in report.cases if isinstance(case.cause, NoKnownGoodAnswer)
    )
    for role, number in silent.items():
        what = f"The model for {short(role, _WHY)} answers no known-good request"
        yield Caution(Doubt.NO_GOOD_ANSWER, what, f"{counted(number, 'case')} did not run")
    for model in () if report.relations is None else report.relations.models:
        if model.samples and not any(prod(one.shape) for one in chain(*model.samples)):
            what = f"{short(model.role.removeprefix(ROLE), _WHY)} got inputs without elements"
            yield Caution(Doubt.NO_ELEMENTS, what, "how it reads elements is not tested")


def _tensors(specs: tuple[TensorSpec, ...]) -> str:
    return ", ".join(f"{spec.name} {spec.datatype} {list(spec.dims)}" for spec in specs)


def _of_claims(report: Report) -> Iterator[Caution]:
    found: Counter[str] = Counter()
    for case in report.cases:
        if isinstance(case.cause, ProfileNotClaimed):
            found[f"profile {case.cause.profile}"] += 1
        elif isinstance(case.cause, DatatypesUnsupported):
            found[", ".join(case.cause.datatypes)] += 1
        elif isinstance(case.cause, CodingsUnsupported):
            found[", ".join(case.cause.codings)] += 1
    if found:
        details = "; ".join(f"{name} ({counted(number, 'case')})" for name, number in found.items())
        yield Caution(Doubt.NOT_CLAIMED, "Not claimed, so not tested", short(details, _DETAILS))


def _of_outcomes(report: Report) -> Iterator[Caution]:
    flaky = [case.id for case in report.of(Outcome.FLAKY)]
    if flaky:
        yield Caution(Doubt.FLAKY, f"Flaky: {counted(len(flaky), 'case')}", listed(flaky))
    errors = [case.id for case in report.of(Outcome.ERROR)]
    if errors:
        what = f"Errors in the suite: {counted(len(errors), 'case')}"
        yield Caution(Doubt.SUITE_ERROR, what, listed(errors))
