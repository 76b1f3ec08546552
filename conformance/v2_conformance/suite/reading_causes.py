"""What a cause is about, wherever it is nested."""

from __future__ import annotations

from v2_conformance.suite.causes import (
    KINDS,
    Cause,
    DidNotSurvive,
    FailedAtFirst,
    FailedBesideOthers,
    GeneratedFailure,
    NotKept,
    SecondAnswerWrong,
    SeveralWrong,
    WrongReading,
    WrongRequest,
)
from v2_conformance.suite.findings import (
    FirstDifference,
    InvalidTensor,
    WrongBytesElement,
    WrongElementCount,
    WrongShape,
    WrongValue,
)


def difference_in(cause: Cause | None) -> FirstDifference | None:
    """The first differing element that a cause is about, wherever it is nested."""
    if isinstance(cause, WrongValue | WrongBytesElement):
        return cause.difference
    if isinstance(cause, DidNotSurvive):
        return difference_in(cause.case)
    if isinstance(cause, SeveralWrong):
        return difference_in(cause.first)
    if isinstance(cause, WrongRequest | WrongReading):
        return difference_in(cause.finding)
    if isinstance(cause, GeneratedFailure):
        return difference_in(cause.request)
    return None


def wrong_output(cause: Cause | None) -> str | None:
    """The output that is another than it should be, if that is all that a cause is about."""
    if isinstance(cause, WrongValue | WrongBytesElement):
        return cause.difference.output
    if isinstance(cause, WrongShape | WrongElementCount):
        return cause.output
    if isinstance(cause, SeveralWrong):
        return wrong_output(cause.first)
    if isinstance(cause, DidNotSurvive):
        own = None if cause.case_passed else cause.case
        found = [one for one in (cause.same_connection, cause.fresh_connection, own) if one]
        outputs = [wrong_output(one) for one in found]
        return outputs[0] if outputs and None not in outputs else None
    return None


def unsurvived(cause: Cause | None) -> DidNotSurvive | None:
    """What was wrong with the known-good requests after the case, None if nothing was."""
    if isinstance(cause, GeneratedFailure):
        return unsurvived(cause.request)
    return cause if isinstance(cause, DidNotSurvive) else None


def died(cause: Cause | None) -> bool:
    """Whether the server did not survive the case."""
    return unsurvived(cause) is not None


_ON_SAME_CONNECTION = "did_not_survive_on_same_connection"
# The same in another datatype or form: an output has other elements than it should have.
_WRONG_ELEMENTS = (WrongValue, WrongBytesElement, WrongElementCount, InvalidTensor)

FINDINGS: tuple[str, ...] = tuple(sorted((*KINDS, _ON_SAME_CONNECTION)))
"""What `finding_of` can return."""


def finding_of(cause: Cause | None) -> str:
    """What was found, by which failures that one defect makes are told from others.

    It is the kind of the cause, or of the first one that it is about if it is about several. Wrong
    elements are one finding in all datatypes. That a server did not survive is another finding if
    only the connection shows it.
    """
    if isinstance(cause, SeveralWrong | NotKept):
        return finding_of(cause.first)
    if isinstance(cause, GeneratedFailure):
        return finding_of(cause.request)
    if isinstance(cause, SecondAnswerWrong):
        return finding_of(cause.second)
    if isinstance(cause, WrongRequest | WrongReading):
        return finding_of(cause.finding)
    if isinstance(cause, FailedBesideOthers):
        return finding_of(cause.beside)
    if isinstance(cause, FailedAtFirst):
        return finding_of(cause.first)
    if isinstance(cause, DidNotSurvive) and cause.fresh_connection is None:
        return _ON_SAME_CONNECTION
    if isinstance(cause, _WRONG_ELEMENTS):
        return "wrong_value"
    return "" if cause is None else cause.kind
