"""What surrounds a case: why it was not sent, or shows nothing, and what the server did besides."""

from __future__ import annotations

from typing import Literal

from v2_conformance.suite.findings import CauseBase, Count
from v2_conformance.suite.http_versions import Http1Feature


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


# The suite itself


class InvalidCase(CauseBase, frozen=True):
    """The case cannot be encoded: its author's mistake."""

    problem: str


class SuiteError(CauseBase, frozen=True):
    """A mistake of the suite: the exception and where it was raised."""

    error: str
    where: str
