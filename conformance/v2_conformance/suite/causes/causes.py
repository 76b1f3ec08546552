"""Why a case has its outcome: one type for each reason, with its numbers.

A verdict carries a cause, report.json records it, and programs tell failures apart by it. The
sentences that people read are rendered from it (`describe`); no code reads them back.

Here are the causes that are about others. The rest are in modules by family; a new kind is a class
in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, TypeAlias, Union

from v2_conformance.elsewhere import elsewhere
from v2_conformance.suite.causes import (
    circumstances,
    findings,
    observed_findings,  # noqa: F401
    output_findings,  # noqa: F401
    passes,  # noqa: F401
    transport_findings,  # noqa: F401
)
from v2_conformance.suite.causes.base import (
    CauseBase,
    Count,
    FirstDifference,
    counted,
    describe,
)
from v2_conformance.suite.outcomes import Harm


class _AboutOthers(CauseBase, frozen=True):
    """A cause that is about other causes, which must be of a lower rank: none nests any deeper.

    `about` names the member that tells what was found, None if that is this cause itself.
    Raises ValueError, which becomes a ValidationError when a report is read.
    """

    rank: ClassVar[int]
    about: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            inner = getattr(self, name)
            if isinstance(inner, _AboutOthers) and inner.rank >= self.rank:
                raise ValueError(f"the `{name}` of {self.kind} cannot be {inner.kind}")

    @property
    def finding_kind(self) -> str:
        return self.kind if self.about is None else finding_of(getattr(self, self.about))

    def harm(self, said: Harm | None) -> Harm | None:
        inner = None if self.about is None else getattr(self, self.about)
        return super().harm(said) if inner is None else inner.harm(said)

    @property
    def shows(self) -> str | None:
        inner = None if self.about is None else getattr(self, self.about)
        found: str | None = None if inner is None else inner.shows
        return found

    @property
    def lenient(self) -> bool:
        return self.about is not None and getattr(self, self.about).lenient is True


class DidNotSurvive(_AboutOthers, frozen=True, omit_defaults=True):
    """A known-good request after the case got a wrong answer.

    `same_connection` and `fresh_connection` say what was wrong on each, None for nothing. `case` is
    what the case's own exchange came to, None for a pass that needs no words. `beside` are other
    cases that were in progress, any of which may have done it, if that could not be found out.
    """

    rank = 2

    same_connection: Cause | None
    fresh_connection: Cause | None
    case: Cause | None
    case_passed: bool
    beside: tuple[str, ...] = ()

    def words(self) -> str:
        problems = []
        if self.same_connection is not None:
            problems.append(f"on the same connection: {describe(self.same_connection)}")
        if self.fresh_connection is not None:
            problems.append(f"on a fresh connection: {describe(self.fresh_connection)}")
        words = f"did not survive: a known-good request got a wrong answer {'; '.join(problems)}"
        if self.beside:
            words += (
                "; or one of the cases that ran at the same time caused this: "
                f"{', '.join(self.beside)} (find out with -n 1 or --restart-command)"
            )
        own = describe(self.case)
        if not own:
            return words
        return f"{words} (the case itself was {own})" if self.case_passed else f"{own}; {words}"

    @property
    def finding_kind(self) -> str:
        return self.kind if self.fresh_connection is not None else _ON_SAME_CONNECTION

    def harm(self, said: Harm | None) -> Harm | None:
        return super().harm("connection") if self.fresh_connection is None else "dies"

    @property
    def first_difference(self) -> FirstDifference | None:
        return difference_in(self.case)

    @property
    def wrong_output(self) -> str | None:
        own = None if self.case_passed else self.case
        found = [one for one in (self.same_connection, self.fresh_connection, own) if one]
        outputs = [one.wrong_output for one in found]
        return outputs[0] if outputs and None not in outputs else None


class SeveralWrong(_AboutOthers, frozen=True):
    """`wrong` of `total` answers to requests that were sent at once are wrong."""

    says = "{wrong} of {total} answers were wrong, the first: {first}"
    rank = 1
    about = "first"

    wrong: int
    total: int
    first: Cause

    @property
    def first_difference(self) -> FirstDifference | None:
        return difference_in(self.first)

    @property
    def wrong_output(self) -> str | None:
        return self.first.wrong_output


class NotKept(_AboutOthers, frozen=True, omit_defaults=True):
    """`wrong` of the `judged` exchanges of a run do not keep what an observed case is about.

    `cases` are the ids of the first of the cases whose exchanges those are, `more` is the number of
    the others, and `first` is what is wrong in the first of them. `only_rare` says that no client
    of the documents sends a request of these cases.
    """

    stable = ("first",)
    rank = 1
    about = "first"

    wrong: Count
    judged: Count
    cases: tuple[str, ...]
    more: Count
    first: Cause
    only_rare: bool = False

    @property
    def rare(self) -> bool:
        return self.only_rare

    def words(self) -> str:
        where = ", ".join(self.cases)
        if self.more:
            where += f" and {counted(self.more, 'more case')}"
        if self.only_rare:
            where += " (no client of the documents sends such requests)"
        return (
            f"wrong in {self.wrong} of {counted(self.judged, 'exchange')}, in {where}; the first: "
            f"{describe(self.first)}"
        )


class FailedBesideOthers(_AboutOthers, frozen=True):
    """The case passed alone, after it had failed while other cases ran: requests that are in
    progress at the same time affect each other (C6). If it had failed it is flaky; if only no
    answer had come in time, the server may have been busy, and it passes. Only reports of older
    versions have it: what runs again alone now counts alone.

    `beside` is what it failed for then, `alone` what its pass comes to, None if it needs no
    words.
    """

    rank = 3
    about = "beside"

    beside: Cause
    alone: Cause | None

    def words(self) -> str:
        own = describe(self.alone)
        words = f"passed alone, but failed while other cases ran (see C6): {describe(self.beside)}"
        return f"{own}; {words}" if own else words


class FailedAtFirst(_AboutOthers, frozen=True):
    """The case passed when it was run again, as a test runner can be told to do, so it is flaky.

    `first` is what it failed for, `again` what its pass comes to, None if it needs no words.
    """

    rank = 4
    about = "first"

    first: Cause
    again: Cause | None

    def words(self) -> str:
        own = describe(self.again)
        words = f"passed when it was run again, but failed at first: {describe(self.first)}"
        return f"{own}; {words}" if own else words


class SecondAnswerWrong(_AboutOthers, frozen=True):
    """The answer to the request pipelined after this one is wrong; the first is right."""

    says = "wrong answer to the request that was pipelined after this one: {second}"
    rank = 1
    about = "second"

    second: Cause

    @property
    def wrong_output(self) -> str | None:
        return self.second.wrong_output


class NotDone(_AboutOthers, frozen=True):
    """A MAY that this server does not make use of."""

    says = "optional, and not done by this server: {finding}"
    stable = ("finding",)
    rank = 1

    finding: Cause


COUNTEREXAMPLE = "counterexample.yaml"
"""The file in which older versions wrote a generated request that failed."""


class GeneratedFailure(_AboutOthers, frozen=True):
    """Generated request `number` failed.

    With a `seed`, which is the run's, this version of Hypothesis drew and shrunk it. `file` has it
    as a case in a report of an older version.
    """

    stable = ("request",)
    rank = 3
    about = "request"

    request: Cause
    number: int
    seed: int | None
    hypothesis: str | None
    file: str | None

    def words(self) -> str:
        where = f"; {self.file} has it as a case" if self.file else ""
        made = f"generated request {self.number}"
        if self.seed is not None:
            made = f"shrunk from {made}, seed {self.seed}, Hypothesis {self.hypothesis}"
        return f"{describe(self.request)} ({made}{where})"

    @property
    def first_difference(self) -> FirstDifference | None:
        return difference_in(self.request)


class _OfOneRequest(_AboutOthers, frozen=True):
    """A finding about one of the requests of a client's task."""

    rank = 1
    about = "finding"
    what: ClassVar[str]

    number: int | None
    finding: Cause

    def words(self) -> str:
        return ("" if self.number is None else f"{self.what} {self.number}: ") + describe(
            self.finding
        )

    @property
    def first_difference(self) -> FirstDifference | None:
        return difference_in(self.finding)


class WrongRequest(_OfOneRequest, frozen=True):
    """The error in request `number` of a client's task, counted from 1; None if it is the only
    one."""

    what = "request"


class WrongReading(_OfOneRequest, frozen=True):
    """The error in what the user of a client gets for request `number`; see WrongRequest."""

    what = "what the user got of answer"


elsewhere("causes of clients")  # so that a client's report can be read


def _kinds(base: type[CauseBase]) -> Iterator[type[CauseBase]]:
    """Yield the types of cause below `base`: those that have no subclasses."""
    for kind in base.__subclasses__():
        yield from _kinds(kind) if kind.__subclasses__() else (kind,)


CAUSES = tuple(sorted(_kinds(CauseBase), key=lambda kind: kind.__name__))
"""Every type of cause."""

# For a type checker the base is enough; msgspec reads a cause by the union of all types.
if TYPE_CHECKING:
    Cause: TypeAlias = CauseBase
else:
    Cause = Union[CAUSES]  # noqa: UP007 (made of a tuple)

_ON_SAME_CONNECTION = "did_not_survive_on_same_connection"

KINDS: tuple[str, ...] = tuple(sorted(str(kind.__struct_config__.tag) for kind in CAUSES))
"""The value of `kind` of every type of cause, as report.json has it."""

FINDINGS: tuple[str, ...] = tuple(
    sorted((*KINDS, _ON_SAME_CONNECTION, findings.WRONG_ERROR_STATUS))
)
"""The values that `finding_of` can return."""


def finding_of(cause: Cause | None) -> str:
    """Return what was found, by which failures that one defect makes are told from others.

    It is the kind of the cause, or of the first one that it is about if it is about several. Wrong
    elements are one finding in all datatypes. That a server did not survive is another finding if
    only the connection shows it, and so is a wrong status if both it and the right one are errors.
    """
    return "" if cause is None else cause.finding_kind


def difference_in(cause: Cause | None) -> FirstDifference | None:
    """Return the first differing element that a cause is about, wherever it is nested."""
    return None if cause is None else cause.first_difference


def wrong_output(cause: Cause | None) -> str | None:
    """Return the output that is not what it should be, if a cause is about nothing else."""
    return None if cause is None else cause.wrong_output


def unsurvived(cause: Cause | None) -> DidNotSurvive | None:
    """Return what was wrong with the known-good requests after the case, None if nothing was."""
    if isinstance(cause, GeneratedFailure):
        return unsurvived(cause.request)
    return cause if isinstance(cause, DidNotSurvive) else None


def died(cause: Cause | None) -> bool:
    """Return True if the server did not survive the case."""
    return unsurvived(cause) is not None


def left_dead(cause: Cause | None) -> bool:
    """Return True if the known-good request on a fresh connection got a wrong answer, or none."""
    found = unsurvived(cause)
    fresh = None if found is None else found.fresh_connection
    elsewhere = (circumstances.Unavailable, circumstances.WasDown)
    return fresh is not None and not isinstance(fresh, elsewhere)
