"""Why a case has its outcome: one type for each reason, with its numbers.

A verdict carries a cause, report.json records it, and programs tell failures apart by it. The
sentences that people read are rendered from it (`suite.wording`); no code reads them back.
"""

from __future__ import annotations

from typing import ClassVar, Union, get_args

from v2_conformance.suite.circumstances import (
    AnswersDiffer,
    ChangedAnswer,
    CodingsUnsupported,
    DatatypesUnsupported,
    Flooded,
    Hung,
    InvalidCase,
    KilledBy,
    ModelVersionUnknown,
    NoKnownGoodAnswer,
    NoResponse,
    NotInBinding,
    NotOverHttp2,
    NoUsableModel,
    OutOfTime,
    ProfileNotClaimed,
    RoleAbsent,
    SuiteError,
    TimedOutEarly,
    Unavailable,
    WasDown,
)
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
    BrokenCoding,
    CauseBase,
    Count,
    DataAndSize,
    ExtensionNotListed,
    HeaderLengthMissing,
    HeaderLengthNotJson,
    HeaderLengthPastBody,
    HeaderLengthUnexpected,
    InvalidErrorBody,
    InvalidHeaderLength,
    InvalidTensor,
    LeftoverBytes,
    MetadataNotJson,
    MissingOutput,
    MixedForms,
    NoDataNoSize,
    NotEncoded,
    RepeatedHeaderLength,
    RepeatedMember,
    SchemaViolation,
    TooManyDimensions,
    UndeclaredCoding,
    UnrequestedCoding,
    UnrequestedOutputs,
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
from v2_conformance.suite.observations import (
    AllKept,
    InvalidHttp,
    NoErrorToJudge,
    NotContinued,
    NothingObserved,
    StrayBytes,
    UnannouncedClose,
)
from v2_conformance.suite.transport_findings import (
    BodyNotTaken,
    BodyTooLarge,
    BytesAfterResponse,
    ChunksToOldClient,
    ConnectionClosed,
    ConnectionRefused,
    ContentLengthTooLong,
    GoneAway,
    LengthRequired,
    NoContentLength,
    NotHttp,
    ResponseTooLarge,
    StreamReset,
    TimedOut,
    VariationDeclined,
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
