"""Why a case has its outcome: one type for each reason, with its numbers.

A verdict carries a cause, report.json records it, and programs tell failures apart by it. The
sentences that people read are rendered from it (`suite.wording`); no code reads them back.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Union, get_args

from v2_conformance.suite.client_findings import (
    ChangedHeaders,
    ClientDied,
    ClientFlooded,
    ClientGarbage,
    ClientLacks,
    ClientSaidLess,
    ClientTimedOut,
    ErrorForAnswer,
    ErrorLacks,
    IncompleteRequest,
    InvalidRequestHttp,
    NoHeaderLengthSent,
    NoRequest,
    NumbersForError,
    ReportedError,
    RequestSent,
    StaleField,
    TooManyRequests,
    UnreadableRequest,
    WrongField,
    WrongHeaderLength,
    WrongInputs,
    WrongMemberRead,
    WrongOutputsAsked,
    WrongOutputsRead,
    WrongParameter,
    WrongTarget,
)
from v2_conformance.suite.findings import (
    AcceptedInvalidRequest,
    BlobPastBody,
    BodyNotJson,
    BodyNotTaken,
    BodyTooLarge,
    BrokenCoding,
    BytesAfterResponse,
    CauseBase,
    ChunksToOldClient,
    ConnectionClosed,
    ConnectionRefused,
    ContentLengthTooLong,
    Count,
    DataAndSize,
    ExtensionNotListed,
    FirstDifference,
    GoneAway,
    HeaderLengthMissing,
    HeaderLengthNotJson,
    HeaderLengthPastBody,
    HeaderLengthUnexpected,
    InvalidErrorBody,
    InvalidHeaderLength,
    InvalidTensor,
    LeftoverBytes,
    LengthRequired,
    MetadataNotJson,
    MissingOutput,
    MixedForms,
    NoContentLength,
    NoDataNoSize,
    NotEncoded,
    NotHttp,
    RepeatedHeaderLength,
    RepeatedMember,
    ResponseTooLarge,
    SchemaViolation,
    StreamReset,
    TimedOut,
    TooManyDimensions,
    UndeclaredCoding,
    UnrequestedCoding,
    UnrequestedOutputs,
    VariationDeclined,
    WrongBytesElement,
    WrongContentType,
    WrongDatatype,
    WrongElementCount,
    WrongForm,
    WrongId,
    WrongModelName,
    WrongShape,
    WrongStatus,
    WrongValue,
)
from v2_conformance.suite.http_versions import Http1Feature
from v2_conformance.suite.observations import (
    AllKept,
    InvalidHttp,
    NoErrorToJudge,
    NotContinued,
    NothingObserved,
    StrayBytes,
    UnannouncedClose,
)


class _AboutOthers(CauseBase, frozen=True):
    """A cause that is about other causes, which must be of a lower rank: none nests any deeper.

    Raises ValueError, which becomes a ValidationError when a report is read.
    """

    rank: ClassVar[int]

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            inner = getattr(self, name)
            if isinstance(inner, _AboutOthers) and inner.rank >= self.rank:
                raise ValueError(f"the `{name}` of {self.kind} cannot be {inner.kind}")


# What surrounds a case


class ChangedAnswer(CauseBase, frozen=True):
    """A known-good request that no answer was exact for got another answer than at first."""

    expected: str
    got: str


class Hung(CauseBase, frozen=True):
    """No whole answer came in `seconds`, but to a known-good request right after it one came in
    `known_good_ms`: the server is well, and hangs. `received` bytes had arrived."""

    seconds: float
    received: Count
    known_good_ms: Count


class TimedOutEarly(CauseBase, frozen=True):
    """No whole answer came in `seconds`, which is less than the usual time limit: requests of the
    same kind had hung before. `received` bytes had arrived."""

    seconds: float
    received: Count


class OutOfTime(CauseBase, frozen=True):
    """Not sent: the run had taken all of its `limit_s` seconds."""

    limit_s: float


class NoResponse(CauseBase, frozen=True):
    """A known-good request got no whole response; `ending` is a value of `wire.Ending`."""

    ending: str
    detail: str


class Unavailable(CauseBase, frozen=True):
    """The server asked to wait (429, or 503 with Retry-After) for longer than a run does."""

    status: int
    retry_after: str | None
    body: str


class WasDown(CauseBase, frozen=True):
    """The known-good request was answered in the end, but before that no server was there.

    `liveness` is the answer to GET /v2/health/live at that time, in short.
    """

    liveness: str


class DidNotSurvive(_AboutOthers, frozen=True, omit_defaults=True):
    """A known-good request after the case got a wrong answer.

    `same_connection` and `fresh_connection` say what was wrong on each, None for nothing. `case` is
    what the case's own exchange came to, None for a pass that needs no words. `beside` are other
    cases that were in progress, any of which may have done it, if that could not be found out.
    """

    rank: ClassVar[int] = 2

    same_connection: Cause | None
    fresh_connection: Cause | None
    case: Cause | None
    case_passed: bool
    beside: tuple[str, ...] = ()


class SeveralWrong(_AboutOthers, frozen=True):
    """`wrong` of `total` answers to requests that were sent at once are wrong."""

    rank: ClassVar[int] = 1

    wrong: int
    total: int
    first: Cause


class NotKept(_AboutOthers, frozen=True):
    """`wrong` of the `judged` exchanges of a run do not keep what an observed case is about.

    `cases` are the ids of the first of the cases whose exchanges those are, `more` is the number of
    the others, and `first` is what is wrong in the first of them.
    """

    rank: ClassVar[int] = 1

    wrong: Count
    judged: Count
    cases: tuple[str, ...]
    more: Count
    first: Cause


class FailedBesideOthers(_AboutOthers, frozen=True):
    """The case passed alone, after it had failed while other cases ran: requests that are in
    progress at the same time affect each other (C6). If it had failed it is flaky; if only no
    answer had come in time, the server may have been busy, and it passes.

    `beside` is what it failed for then, `alone` what its pass comes to, None if it needs no
    words.
    """

    rank: ClassVar[int] = 3

    beside: Cause
    alone: Cause | None


class FailedAtFirst(_AboutOthers, frozen=True):
    """The case was run again, as a test runner can be told to do, and passed, but it is flaky.

    `first` is what it failed for, `again` what its pass comes to, None if it needs no words.
    """

    rank: ClassVar[int] = 4

    first: Cause
    again: Cause | None


class SecondAnswerWrong(_AboutOthers, frozen=True):
    """The answer to the request that was pipelined behind is wrong; the first answer is right."""

    rank: ClassVar[int] = 1

    second: Cause


class KilledBy(CauseBase, frozen=True):
    """What the case needs was killed by another case; `role` is None for the whole server."""

    case: str
    role: str | None


class RoleAbsent(CauseBase, frozen=True):
    """The server has no model for the case's role."""

    role: str
    reason: str


class AnswersDiffer(CauseBase, frozen=True):
    """The model answers the same request in more than one way, so that what it should answer to
    another one is not known: the case was not sent, or its wrong value is nobody's fault.
    `output` is where, or what came instead of an answer."""

    role: str
    output: str


class ModelVersionUnknown(CauseBase, frozen=True):
    """The case names a version of its model, but the server lists none, or more than one."""

    role: str


BindingLacks = Literal[
    "content_type",
    "field_syntax",
    "huge_tensor",
    "metadata",
    "model_path",
    "repeated_length",
]
"""What of a V2 request or answer a binding can have no place for."""


class NotInBinding(CauseBase, frozen=True):
    """The case needs what the endpoint's binding has no place for."""

    binding: str
    lacks: BindingLacks


class NotOverHttp2(CauseBase, frozen=True):
    """Not applicable: the run is over HTTP/2, and the case is about something that only HTTP/1.1
    has."""

    feature: Http1Feature


class ProfileNotClaimed(CauseBase, frozen=True):
    """The case belongs to a profile that the target does not claim."""

    profile: str


class DatatypesUnsupported(CauseBase, frozen=True):
    """The target declares datatypes unsupported that the case needs."""

    datatypes: tuple[str, ...]


class CodingsUnsupported(CauseBase, frozen=True):
    """The target declares content codings unsupported that the case's request has."""

    codings: tuple[str, ...]


class Flooded(CauseBase, frozen=True):
    """Not sent: the server has sent so many bytes more than its answers can need."""

    limit: int


class NoKnownGoodAnswer(CauseBase, frozen=True):
    """Not sent: the model answers no known-good request at all."""

    role: str
    detail: str


class NoUsableModel(CauseBase, frozen=True):
    """The server has no model that generated requests can go to."""


# What a pass or a reading adds


class Rejected(CauseBase, frozen=True):
    """The request was rejected, as it must or may be."""

    status: int


class Accepted(CauseBase, frozen=True):
    """The request was accepted, which it may be."""


class AnsweredInJson(CauseBase, frozen=True):
    """The response is strict JSON, which is all that the case asks for."""


class NotDone(_AboutOthers, frozen=True):
    """A MAY that this server does not make use of."""

    rank: ClassVar[int] = 1

    finding: Cause


class AnsweredInForm(CauseBase, frozen=True):
    """The reading of a disputed requirement: the forms of the response's outputs."""

    forms: tuple[str, ...]


class GeneratedRequests(CauseBase, frozen=True):
    """`count` generated requests were answered exactly.

    All of them, but for those that the server may decline (`LengthRequired`, `BodyTooLarge`) and
    those to models that it lacks. `seed` and `hypothesis` are what made them in a report of an
    older version; None since they are data.
    """

    count: int
    seed: int | None
    hypothesis: str | None


class GeneratedFailure(_AboutOthers, frozen=True):
    """Generated request `number` failed; `file` has it as a case.

    With a `seed`, it is in a report of an older version, which shrunk the request.
    """

    rank: ClassVar[int] = 3

    request: Cause
    number: int
    seed: int | None
    hypothesis: str | None
    file: str | None


class WrongRequest(_AboutOthers, frozen=True):
    """What is wrong with request `number` of a client's task, counted from 1; None if it is the
    only one."""

    rank: ClassVar[int] = 1

    number: int | None
    finding: Cause


class WrongReading(_AboutOthers, frozen=True):
    """What is wrong with what the user of a client gets for request `number`; see WrongRequest."""

    rank: ClassVar[int] = 1

    number: int | None
    finding: Cause


# The suite itself


class InvalidCase(CauseBase, frozen=True):
    """The case cannot be encoded: its author's mistake."""

    problem: str


class SuiteError(CauseBase, frozen=True):
    """A mistake of the suite: the exception and where it was raised."""

    error: str
    where: str


Cause = Union[  # noqa: UP007 (a recursive type, which msgspec evaluates on Python 3.10 too)
    Accepted, AcceptedInvalidRequest, AllKept, AnsweredInForm, AnsweredInJson, AnswersDiffer,
    BlobPastBody, BodyNotJson, BodyNotTaken, BodyTooLarge, BrokenCoding, BytesAfterResponse,
    ChangedAnswer, ChangedHeaders, ChunksToOldClient, ClientDied, ClientFlooded, ClientGarbage,
    ClientLacks, ClientSaidLess, ClientTimedOut, CodingsUnsupported, ConnectionClosed,
    ConnectionRefused, ContentLengthTooLong,
    DataAndSize, DatatypesUnsupported, DidNotSurvive, ErrorForAnswer, ErrorLacks,
    ExtensionNotListed, FailedAtFirst, FailedBesideOthers, Flooded, GeneratedFailure,
    GeneratedRequests, GoneAway, HeaderLengthMissing, HeaderLengthNotJson, HeaderLengthPastBody,
    HeaderLengthUnexpected, Hung, IncompleteRequest, InvalidCase, InvalidErrorBody,
    InvalidHeaderLength, InvalidHttp, InvalidRequestHttp, InvalidTensor, KilledBy, LeftoverBytes,
    LengthRequired, MetadataNotJson, MissingOutput, MixedForms, ModelVersionUnknown,
    NoContentLength, NoDataNoSize, NoErrorToJudge, NoHeaderLengthSent, NoKnownGoodAnswer, NoRequest,
    NoResponse, NoUsableModel, NotContinued, NotDone, NotEncoded, NotHttp, NotInBinding, NotKept,
    NotOverHttp2, NothingObserved, NumbersForError, OutOfTime, ProfileNotClaimed, Rejected,
    RepeatedHeaderLength, RepeatedMember, ReportedError, RequestSent, ResponseTooLarge, RoleAbsent,
    SchemaViolation, SecondAnswerWrong, SeveralWrong, StaleField, StrayBytes, StreamReset,
    SuiteError, TimedOut, TimedOutEarly, TooManyDimensions,
    TooManyRequests, UnannouncedClose, Unavailable, UndeclaredCoding, UnreadableRequest,
    UnrequestedCoding, UnrequestedOutputs, VariationDeclined, WasDown, WrongBytesElement,
    WrongContentType, WrongDatatype, WrongElementCount, WrongField, WrongForm, WrongHeaderLength,
    WrongId, WrongInputs, WrongMemberRead, WrongModelName, WrongOutputsAsked, WrongOutputsRead,
    WrongParameter, WrongReading, WrongRequest, WrongShape, WrongStatus, WrongTarget, WrongValue,
]  # fmt: skip
"""Every type of cause, tagged with `kind` in report.json."""

KINDS: tuple[str, ...] = tuple(sorted(str(kind.__struct_config__.tag) for kind in get_args(Cause)))
"""The value of `kind` of every type of cause."""


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
