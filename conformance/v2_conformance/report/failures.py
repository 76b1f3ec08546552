"""What one failure says: how it reads, what it costs, and which failures repeat another. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.causes import Cause, GeneratedFailure, NotKept, finding_of, harm_by
from v2_conformance.suite.causes.kinds import AcceptedInvalidRequest, AnsweredExactly, WrongStatus
from v2_conformance.suite.outcomes import FAILED, Harm, Outcome
from v2_conformance.suite.requirements import BLOCKS, GRADES, catalogue
from v2_conformance.wire.exchange import Exchange

_NUMBERS = re.compile(r"0x[0-9a-f]+|[0-9]+")
# Values and lengths have nothing but their kind to tell them apart.
_BY_KIND = frozenset(
    [
        "wrong_value",
        "wrong_form",
        "wrong_id",
        "leftover_bytes",
        "blob_past_body",
        "header_length_not_json",
    ]
)


class JudgedCase(Protocol):
    """The parts of a case that grouping reads; `grade` is the case's own."""

    @property
    def id(self) -> str: ...
    @property
    def requirement(self) -> str: ...
    @property
    def grade(self) -> str: ...
    @property
    def outcome(self) -> Outcome: ...
    @property
    def cause(self) -> Cause | None: ...
    @property
    def exchanges(self) -> Sequence[Exchange]: ...


def caused_elsewhere(cases: Iterable[JudgedCase]) -> dict[str, str]:
    """Return the generated failures that repeat the failure of another case, by id, with the
    requirement of that case: the same finding, with the same status and error text, at the same
    grade or a stricter one. They belong to its cause and block nothing of their own.
    """
    failed = [case for case in cases if case.outcome in FAILED]
    generated = [case for case in failed if isinstance(case.cause, GeneratedFailure)]
    others = [case for case in failed if not isinstance(case.cause, GeneratedFailure)]
    repeated = {}
    for case in generated:
        failure, grade = (finding_of(case.cause), reading(case)), gravest([case])
        same = (
            one.requirement
            for one in others
            if (finding_of(one.cause), reading(one)) == failure and gravest([one]) <= grade
        )
        repeated[case.id] = next(same, "")
    return {case: requirement for case, requirement in repeated.items() if requirement}


def harm_of(case: JudgedCase) -> Harm | None:
    """Return what a user loses by a failed case; None if it blocks nothing and shows no harm."""
    # A requirement says what is lost by what blocks something.
    requirement = catalogue().get(case.requirement) if gravest([case]) < len(BLOCKS) else None
    usual = None if requirement is None else requirement.harm
    return usual if case.cause is None else harm_by(case.cause, usual)


def gravest(cases: Iterable[JudgedCase]) -> int:
    """Return the place of the strictest grade of some cases, 0 for what blocks most."""
    return min(GRADES.index(case.grade) for case in cases)


def unhandled_error(cause: Cause | None) -> WrongStatus | None:
    """Return the first malformed request that exchanges of a run show to be answered with 5xx, as
    if nobody had caught an error; None for any other cause."""
    first = cause.first if isinstance(cause, NotKept) else None
    if isinstance(first, WrongStatus) and first.expected == "4xx" and first.got >= 500:
        return first
    return None


def finding_with(crashes: Sequence[Cause | None], cause: Cause | None) -> str:
    """Return the finding of a cause; what only exchanges show that ended with an unhandled error
    (the form of its body, a close without a word) is that error."""
    if isinstance(cause, NotKept):
        for crash in crashes:
            if isinstance(crash, NotKept) and {*cause.cases} <= {*crash.cases}:
                return finding_of(crash if cause.more in (0, crash.more) else cause)
    return finding_of(cause)


def reading(case: JudgedCase) -> str:
    """Return how a failure reads without its numbers, but with the status: a server says the same
    of each request that one defect spoils. A request that is answered as if it were right is told
    apart by what it is about."""
    cause = None if case.cause is None else case.cause.root
    if cause is None or finding_of(cause) in _BY_KIND:
        return ""
    answered = isinstance(cause, AcceptedInvalidRequest) and '"outputs"' in cause.body
    if answered or isinstance(cause, AnsweredExactly):
        return case.requirement
    status = cause.got if isinstance(cause, WrongStatus) else ""
    return f"{status} {_NUMBERS.sub('N', describe(cause))}"
