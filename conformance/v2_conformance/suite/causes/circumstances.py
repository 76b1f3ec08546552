"""Circumstances of a case: why it was not sent, or shows nothing, and what else the server did."""

from __future__ import annotations

from v2_conformance.suite.causes.base import CauseBase, Count, body_words
from v2_conformance.suite.models import ROLE


class ChangedAnswer(CauseBase, frozen=True):
    """A known-good request that never got an exact answer got a different one than at first."""

    says = "expected {expected} as before, got {got}"
    stable = ("got",)
    expected: str
    got: str


class Hung(CauseBase, frozen=True):
    """No whole answer came in `seconds`, but to a known-good request right after it one came in
    `known_good_ms`: the server is up, but this request hung. `received` bytes had arrived."""

    says = (
        "no complete response in {seconds:.1f} s ({received:byte} received), although a known-good "
        "request after it was answered in {known_good_ms} ms: the server is up, but this request "
        "hung"
    )
    seconds: float
    received: Count
    known_good_ms: Count


class TimedOutEarly(CauseBase, frozen=True):
    """No whole answer came in `seconds`, which is less than the usual time limit: requests of the
    same kind had hung before. `received` bytes had arrived."""

    says = (
        "no complete response in {seconds:.1f} s ({received:byte} received); the run waits no "
        "longer, because other requests of this kind got no answer"
    )
    seconds: float
    received: Count


class OutOfTime(CauseBase, frozen=True):
    """Not sent: the run had taken all of its `limit_s` seconds."""

    unsent = True
    says = "not sent: the time limit of the run, {limit_s:g} s (--max-time), was reached"
    limit_s: float


class ExtensionLeftOut(CauseBase, frozen=True):
    """Not sent: the cases before it showed that the server does not implement the extension."""

    unsent = True
    says = "not sent: the server does not implement the extension"


class NoResponse(CauseBase, frozen=True):
    """A known-good request got no whole response; `ending` is a value of `wire.Ending`."""

    says = "no complete response: {ending} ({detail})"
    stable = ("ending",)
    ending: str
    detail: str


class Unavailable(CauseBase, frozen=True):
    """The server asked to wait (429, or 503 with Retry-After) for longer than a run does."""

    status: int
    retry_after: str | None
    body: str

    def words(self) -> str:
        return (
            f"answered with {self.status}: the server kept asking the suite to wait"
            + (f" (Retry-After: {self.retry_after})" if self.retry_after is not None else "")
            + f" until the suite gave up: {body_words(self.body)}"
        )


class WasDown(CauseBase, frozen=True):
    """The known-good request was answered in the end, but before that no server was there.

    `liveness` is the answer to GET /v2/health/live at that time, in short.
    """

    says = "answered in the end, but the server had been down: GET /v2/health/live got {liveness}"
    liveness: str


class KilledBy(CauseBase, frozen=True):
    """Another case killed what this one needs; `role` is None for the whole server."""

    unsent = True
    case: str
    role: str | None

    def words(self) -> str:
        return (
            f"not sent: {self.case} killed {self.role or 'the server'}, which this case needs "
            "(--restart-command restarts a killed server)"
        )


class RoleAbsent(CauseBase, frozen=True):
    """The server has no model for the case's role."""

    says = "no model for the role {role}: {reason}"
    stable = ("role",)
    role: str
    reason: str


class AnswersDiffer(CauseBase, frozen=True, omit_defaults=True):
    """The model answers the same request in more than one way, so that what it should answer to
    another one is not known: the case was not sent, or its wrong value is nobody's fault.
    `output` is where, or what came instead of an answer; `floats` says if it has floats."""

    role: str
    output: str
    floats: bool = True

    def words(self) -> str:
        words = (
            f"the model {self.role.removeprefix(ROLE)} gave different answers to the same request "
            f"({self.output})"
        )
        near = "; if only floats differ slightly, allow it with --rtol, or `atol` in a target file"
        return words + near if self.floats else words


class NothingToCompare(CauseBase, frozen=True):
    """The model's answer to its plain request is malformed, so that what it should answer is not
    known: nothing is wrong with this answer, except perhaps its values."""

    role: str

    def words(self) -> str:
        return (
            f"well formed, but the model {self.role.removeprefix(ROLE)} gave a malformed answer to "
            "its plain request, so there are no values to compare with"
        )


class RoundedBesideOthers(CauseBase, frozen=True):
    """Requests that were sent at once got floats of the model that differ in their last places from
    those of a request alone: the server may compute them as one batch."""

    role: str

    def words(self) -> str:
        return (
            f"floats of the model {self.role.removeprefix(ROLE)} differ in their last places when "
            "requests are sent at once, as in a batch, so it is not known if answers get mixed "
            "up: allow the difference with --rtol, such as --rtol 1e-5"
        )


class ModelVersionUnknown(CauseBase, frozen=True):
    """The case names a version of its model, but the server lists none, or more than one."""

    says = "the server does not list exactly one version of the model for {role}"
    role: str


class ProfileNotClaimed(CauseBase, frozen=True):
    """The case belongs to a profile that the target does not claim."""

    says = "the profile {profile} is not claimed"
    profile: str


class DatatypesUnsupported(CauseBase, frozen=True):
    """The target declares datatypes unsupported that the case needs."""

    says = "the target declares {datatypes:commas} unsupported"
    datatypes: tuple[str, ...]


class CodingsUnsupported(CauseBase, frozen=True):
    """The target declares content codings unsupported that the case's request has."""

    says = "the target declares {codings:commas} unsupported"
    codings: tuple[str, ...]


class Flooded(CauseBase, frozen=True):
    """Not sent: the server has sent `limit` bytes more than its answers can need, where one that
    was cut off as too large counts as several MiB.
    """

    unsent = True
    says = "not sent: too many answers of the server are far longer than they can need"
    limit: int


class ReadsNoDeeper(CauseBase, frozen=True):
    """The JSON of an answer may be right, but the suite does not read all of it."""

    says = "the suite does not read JSON this deep: {problem}"
    problem: str


class NoKnownGoodAnswer(CauseBase, frozen=True):
    """Not sent: the model answers no known-good request at all."""

    unsent = True
    says = "not sent: {role} answered no known-good request: {detail}"
    role: str
    detail: str


class NoUsableModel(CauseBase, frozen=True):
    """The server has no model that generated requests can go to."""

    unsent = True
    says = "the server has no model to which generated requests can be sent"


# The suite itself


class InvalidCase(CauseBase, frozen=True):
    """The case cannot be encoded: its author's mistake."""

    unsent = True
    says = "{problem}"
    problem: str


class SuiteError(CauseBase, frozen=True):
    """A mistake of the suite: the exception and where it was raised."""

    unsent = True
    says = "error in the suite: {error} at {where}"
    error: str
    where: str
