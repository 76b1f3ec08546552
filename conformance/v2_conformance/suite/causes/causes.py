"""The causes that are about other causes, and questions that code asks of any cause.

A verdict carries a cause, report.json records it, and programs tell failures apart by it. The
sentences that people read are rendered from it (`describe`); no code reads them back. The rows of
the other causes are in `kinds`, and in `v2_clients.findings`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, TypeAlias, Union

from v2_conformance.elsewhere import elsewhere
from v2_conformance.suite.causes.base import CauseBase, Count, FirstDifference, describe
from v2_conformance.suite.causes.kinds import (
    Unavailable,
    WasDown,
    WrongElementCount,
    WrongElements,
    WrongShape,
    WrongStatus,
)
from v2_conformance.suite.outcomes import Harm

_ON_SAME_CONNECTION = "did_not_survive_on_same_connection"
_WRONG_ERROR_STATUS = "wrong_error_status"


class _AboutOthers(CauseBase, frozen=True):
    """A cause about others of lower rank, so that nesting is bounded. Raises ValueError."""

    rank: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            inner = getattr(self, name)
            if isinstance(inner, _AboutOthers) and inner.rank >= self.rank:
                raise ValueError(f"the `{name}` of {self.kind} cannot be {inner.kind}")


# A table, as in `kinds`.
# fmt: off


class DidNotSurvive(_AboutOthers, frozen=True, omit_defaults=True):
    """did not recover: a known-good request failed {where}"""
    rank = 2
    same_connection: Cause | None  # what was wrong on it, None for nothing
    fresh_connection: Cause | None
    case: Cause | None  # the cause of its own verdict, None for a pass without words
    case_passed: bool
    beside: tuple[str, ...] = ()  # other cases in progress, any of which may have done it

    @property
    def where(self) -> str:
        wrong = {"the same": self.same_connection, "a fresh": self.fresh_connection}
        return "; ".join(f"on {one} connection: {describe(of)}" for one, of in wrong.items() if of)

    def words(self) -> str:
        words = super().words()
        if self.beside:
            words += (
                "; or one of the cases that ran at the same time caused this: "
                f"{', '.join(self.beside)} (find out with -n 1 or --restart-command)"
            )
        if self.case is None:
            return words
        own = describe(self.case)
        return f"{words} (the case itself was {own})" if self.case_passed else f"{own}; {words}"

class SeveralWrong(_AboutOthers, frozen=True):
    """{wrong} of {total} answers were wrong, the first: {first}"""
    about = "first"
    wrong: int
    total: int
    first: Cause

class NotKept(_AboutOthers, frozen=True, omit_defaults=True):
    """wrong in {wrong} of {judged:exchange}, in {cases:commas}{more:| and 1 more case| and # more
    cases}[{only_rare} (no common client sends such requests)]; the first: {first}"""
    stable = ("first",)
    rank = 3
    about = "first"
    wrong: Count
    judged: Count
    cases: tuple[str, ...]  # the first of those whose exchanges these are; `more` are the others
    more: Count
    first: Cause
    only_rare: bool = False

class FailedAtFirst(_AboutOthers, frozen=True):
    """[{again}; ]passed when it was run again, but failed at first: {first}"""
    rank = 4
    about = "first"
    first: Cause
    again: Cause | None  # the cause of its pass, None if it needs no words

class SecondAnswerWrong(_AboutOthers, frozen=True):
    """wrong answer to the request that was pipelined after this one: {second}"""
    about = "second"
    second: Cause

class NotDone(_AboutOthers, frozen=True):
    """optional, and not done by this server: {finding}"""
    stable = ("finding",)
    finding: Cause

class GeneratedFailure(_AboutOthers, frozen=True):
    """{request} ({origin}[; {file} has it as a case])"""
    stable = ("request",)
    rank = 3
    about = "request"
    request: Cause
    number: int
    seed: int | None  # the run's, if this version of Hypothesis drew the request and shrunk it
    hypothesis: str | None
    file: str | None  # no longer set

    @property
    def origin(self) -> str:
        made = f"generated request {self.number}"
        if self.seed is None:
            return made
        return f"shrunk from {made}, seed {self.seed}, Hypothesis {self.hypothesis}"

class WrongRequest(_AboutOthers, frozen=True):
    """[request {number}: ]{finding}"""
    about = "finding"
    number: int | None  # of the requests of a client's task, from 1; None if it is the only one
    finding: Cause

class WrongReading(_AboutOthers, frozen=True):
    """[what the user got of answer {number}: ]{finding}"""
    about = "finding"
    number: int | None
    finding: Cause

# fmt: on


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

KINDS: tuple[str, ...] = tuple(sorted(str(kind.__struct_config__.tag) for kind in CAUSES))
"""The value of `kind` of every type of cause, as report.json has it."""


def finding_of(cause: Cause | None) -> str:
    """Return a name for what was found, by which the failures of one defect are grouped.

    It is the kind of the cause, or of the first one that it is about if it is about several. Wrong
    elements are one finding in all datatypes. That a server did not survive is another finding if
    only the connection shows it, and so is a wrong status if both it and the right one are errors.
    """
    if cause is None:
        return ""
    result = cause.root
    if isinstance(result, DidNotSurvive) and result.fresh_connection is None:
        return _ON_SAME_CONNECTION
    if isinstance(result, WrongStatus) and result.expected != "200" and result.got >= 400:
        return _WRONG_ERROR_STATUS
    return result.counts_as or result.kind


def harm_by(cause: Cause, harm: Harm | None) -> Harm | None:
    """Return what a user loses by this, if the requirement says that it is `harm`.

    Only a misleading answer costs wrong numbers: a rejection gives none, nor does an answer that
    is missing or unreadable. And a server that misled a client did not die.
    """
    result = cause.root
    if isinstance(result, DidNotSurvive):
        if result.fresh_connection is not None:  # a server that answers wrongly is not dead
            return "dies" if difference_in(result.fresh_connection) is None else "wrong-numbers"
        harm = "connection"
    if difference_in(result) is not None or (result.misleads and harm == "dies"):
        return "wrong-numbers"
    return "breaks-clients" if harm == "wrong-numbers" and not result.misleads else harm


def difference_in(cause: Cause | None) -> FirstDifference | None:
    """Return the first differing element that a cause is about, wherever it is nested."""
    if isinstance(cause, DidNotSurvive):
        return difference_in(cause.case)
    if isinstance(cause, GeneratedFailure):
        return difference_in(cause.request)
    if isinstance(cause, SeveralWrong | WrongRequest | WrongReading):
        return difference_in(cause.root)
    return cause.difference if isinstance(cause, WrongElements) else None


def wrong_output(cause: Cause | None) -> str | None:
    """Return the output that is not what it should be, if a cause is about nothing else."""
    if isinstance(cause, DidNotSurvive):
        own = None if cause.case_passed else cause.case
        wrong = [one for one in (cause.same_connection, cause.fresh_connection, own) if one]
        outputs = [wrong_output(one) for one in wrong]
        return outputs[0] if outputs and None not in outputs else None
    if isinstance(cause, SeveralWrong | SecondAnswerWrong):
        return wrong_output(cause.root)
    if isinstance(cause, WrongElements):
        return cause.difference.output
    return cause.output if isinstance(cause, WrongShape | WrongElementCount) else None


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
    result = unsurvived(cause)
    fresh = None if result is None else result.fresh_connection
    return fresh is not None and not isinstance(fresh, Unavailable | WasDown)
