"""report.json as types: the results of a run, with every byte that it sent and received.

A report has to convince people who were not there. So it has what was sent and received, and what
the run was asked for; the outcomes of cases, the rows of requirements and the verdict follow from
those, and are in it so that nobody needs the suite to read them. `verify` derives them again.

A run appends lines to a record (`recorder`): what is known before its first case, each case once it
is judged, and a last line. `fold` (`files`) makes a report of them, also of those of a run that was
killed, and `concluded` (verdict/summary) adds what follows.

schemas/report.schema.json is made of these types and the docstrings of their members. Members that
are not here are errors, and so are members that are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from functools import cached_property, wraps
from typing import Annotated, Literal, TypeVar

from msgspec import Meta, field
from msgspec.structs import force_setattr, replace

from v2_conformance.errors import ReportFileError
from v2_conformance.judging.metadata import ServerInfo
from v2_conformance.protocol.names import DRAWS, LARGEST_SEED
from v2_conformance.report.bodies import Added, Base64
from v2_conformance.report.tested import (
    EVERYTHING,
    Calibration,
    Relations,
    ReportPart,
    Selection,
    SuiteInfo,
    TargetInfo,
)
from v2_conformance.suite.causes.base import Count, FirstDifference
from v2_conformance.suite.causes.causes import Cause, difference_in
from v2_conformance.suite.client_lines import ClientResult
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import (
    Basis,
    Blocks,
    Citation,
    Layer,
    Level,
    documents,
    grade,
)
from v2_conformance.suite.statements import link
from v2_conformance.wire.exchange import Body, Exchange, Milliseconds

INCOMPLETE = "incomplete run"
NOTHING_TESTED = "nothing tested"
"""The words for a server that may have the extension, but no model to show it."""
OUTDATED = "outdated"
"""The words of a site for a report that it could not confirm, in place of a verdict."""
CONSISTENT = "consistent, robust"
CONSISTENT_NOT_ROBUST = "consistent, not robust"
NOT_CONSISTENT = "not consistent"
NOT_SHOWN = "consistency not shown"
NOT_IMPLEMENTED = "extension not implemented"
CONFORMANT = "conformant, robust"
NOT_ROBUST = "conformant, not robust"
NOT_CONFORMANT = "not conformant"

_LONGEST_REPORTED = 64 << 20
_Found = TypeVar("_Found")


class OverallVerdict(ReportPart, frozen=True):
    """The run's verdict: `reasons` block it, `warnings` do not."""

    conformant: bool
    robust: bool
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    words: str = field(default="", name="standing")
    """The verdict as people say it, such as `incomplete run`."""
    claim: str = ""
    """The scope of the verdict, such as `binary, raw; without BF16`."""
    consistent: bool | None = None
    """Whether all tested relations of models' answers hold; null with models of the contract."""
    shown: tuple[str, ...] = ()
    """Requirements that relations have shown to hold."""
    needs_identity: tuple[str, ...] = ()
    """Requirements of the claimed profiles that only identity models show."""
    implemented: bool = True
    """False if the server neither advertises nor serves the extension, but plain JSON."""

    @property
    def good(self) -> bool:
        """True for conformant or, of a run about relations, consistent; robust or not."""
        return self.conformant or self.consistent is True


NO_VERDICT = OverallVerdict(False, False, (), ())
"""That of a report whose cases have not been counted; see `summary.concluded`."""


class CitedDocument(ReportPart, frozen=True):
    """Where a document says what a requirement demands."""

    document: str
    url: str
    section: str
    paragraph: int | None


def cited_documents(cite: Iterable[Citation], requirement: str = "") -> tuple[CitedDocument, ...]:
    """Return citations with titles, and with links to what `requirement` rests on."""
    return tuple(
        CitedDocument(
            documents()[one.document].title, link(one, requirement), one.section, one.paragraph
        )
        for one in cite
    )


class Graded(ReportPart, frozen=True, kw_only=True):
    """A level, and what a failure at it blocks."""

    level: Level
    basis: Basis
    blocks: Blocks | None = None
    """What a failure blocks; null unless the level is MUST."""

    @property
    def grade(self) -> str:
        """The level and what a failure blocks, as people read it."""
        return grade(self.level, self.blocks)

    def __post_init__(self) -> None:
        blocks = None if self.level != "MUST" else self.blocks or "conformant"
        force_setattr(self, "blocks", blocks)  # whatever a file says


class RequirementResult(Graded, frozen=True, kw_only=True):
    """A requirement, the number of its cases with each outcome, and the worst of those."""

    id: str
    outcome: Outcome
    cases: Annotated[
        dict[Outcome, Annotated[int, Meta(ge=1)]],
        Meta(extra_json_schema={"propertyNames": {"$ref": "#/$defs/Outcome"}}),
    ]
    """Outcome to the number of cases that have it."""
    title: str
    statement: str
    follows: str
    """Why a derived requirement holds; else empty."""
    note: str
    """What is free, disputed or wrong in the documents."""
    cite: tuple[CitedDocument, ...]
    layer: Layer | None = None
    """`http` if the HTTP library below a client usually does it."""


class ExpectedFailure(ReportPart, frozen=True):
    """A failure that was known beforehand. It still counts."""

    reason: str
    link: Annotated[str, Meta(pattern="^https?://")] | None = None


class LongTensor(ReportPart, frozen=True):
    """The data of a long tensor in `said`, which is empty there: here it is among the messages,
    most of which have the same values.
    """

    line: Count
    """The line that has it, counted from 0."""
    output: Count
    """Its place among the outputs of the line, from 0."""
    data: Body


class CaseResult(Graded, frozen=True, kw_only=True):
    """One case and its result. `message` is `cause` in words, for people."""

    id: str
    requirement: str
    profile: str
    """A server that does not claim it is not sent the case."""
    why: str
    """Why the case exists, in plain words."""
    content: str
    """Digest of what the case sends and expects."""
    cite: tuple[CitedDocument, ...] = ()
    """What allows the way in which the case is sent, besides its requirement."""
    outcome: Outcome
    cause: Cause | None
    """Why the case has its outcome."""
    message: str
    duration_ms: Milliseconds
    expected: ExpectedFailure | None = None
    exchanges: tuple[Exchange, ...]
    reported: ClientResult | None = field(default=None, name="said")
    """What the client reported of a scenario, and how it ended."""
    reported_long: tuple[LongTensor, ...] = field(default=(), name="said_long")
    """The data of long tensors, which `said` lacks."""

    @property
    def reported_in_full(self) -> ClientResult | None:
        """Return `reported` with the long data. Raises ReportFileError for data without a place."""
        if self.reported is None:
            return None
        lines, room = list(self.reported.lines), _LONGEST_REPORTED
        for one in self.reported_long:
            outputs = list(lines[one.line].outputs or ()) if one.line < len(lines) else []
            room -= len(one.data)
            if one.output >= len(outputs) or outputs[one.output].data or room < 0:
                raise ReportFileError("a tensor that a client said is damaged: it has no place")
            outputs[one.output] = replace(outputs[one.output], data=bytes(one.data))
            lines[one.line] = replace(lines[one.line], outputs=tuple(outputs))
        return replace(self.reported, lines=tuple(lines))

    @property
    def difference(self) -> FirstDifference | None:
        """The first differing element, if values were compared and are not the same."""
        return difference_in(self.cause)


class Integrity(ReportPart, frozen=True):
    """The digest of everything else in the report, as docs/reports.md says."""

    algorithm: Literal["sha256"]
    digest: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Begun(ReportPart, frozen=True, kw_only=True):
    """Everything about a run that is known before its first case."""

    suite: SuiteInfo
    target: TargetInfo
    started: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    own: bool
    """Whether the cases are the suite's own."""
    planned: dict[str, Count]
    """Requirement to the number of its cases in a whole run."""
    selection: Selection = EVERYTHING
    """What the run was asked for; everything usual if absent."""
    discovery: tuple[Exchange, ...] = ()
    """GET /v2, and the metadata of each model of the claimed profiles."""
    relations: Relations | None = None
    """Null for a run with the models of the contract."""
    seed: Annotated[int, Meta(ge=0, le=LARGEST_SEED)] | None = None
    """The seed of the values and ids of its requests; null in reports of clients."""
    draws: Annotated[int, Meta(ge=1, le=DRAWS)] = 1
    """The edition of the suite's draws that made them from the seed."""


class Report(Begun, frozen=True, kw_only=True, dict=True):
    """The results of a run against one server, with every byte that went over the wire."""

    duration_s: Annotated[float, Meta(ge=0)]
    complete: bool
    """False if the run was stopped before its last case."""
    verdict: OverallVerdict
    requirements: tuple[RequirementResult, ...]
    cases: tuple[CaseResult, ...]
    calibration: tuple[Calibration, ...] = ()
    """How known-good requests were answered at first, by model and form."""
    bodies: tuple[Base64, ...] = ()
    """The streams that messages are in: zlib, of at most 16 MiB unless one message is longer."""
    integrity: Integrity | None = None

    @property
    def moment(self) -> datetime | None:
        """The start of the run, in UTC; None if `started` is not a date with a time zone."""
        try:
            moment = datetime.fromisoformat(self.started.replace("Z", "+00:00"))
            return None if moment.tzinfo is None else moment.astimezone(timezone.utc)
        except (ValueError, OverflowError):
            return None

    @property
    def day(self) -> str:
        """The day on which the run began, in UTC; an odd `started` as it is."""
        return f"{self.moment:%Y-%m-%d}" if self.moment else self.started

    @cached_property
    def _by_id(self) -> dict[str, CaseResult]:
        return {case.id: case for case in self.cases}

    @property
    def ok(self) -> bool:
        """True if the verdict is conformant or consistent. A part of the suite that somebody chose
        has no verdict: then a case passed, and none failed that would block it."""
        if not self.selection.patterns or not self.complete:
            return self.verdict.conformant or bool(self.verdict.consistent)
        blocked = any(c.blocks == "conformant" and not c.outcome.harmless for c in self.cases)
        return not blocked and any(self.of(Outcome.PASS, Outcome.DISPUTED))

    def case(self, case_id: str) -> CaseResult | None:
        """Return the case with this id."""
        return self._by_id.get(case_id)

    def of(self, *outcomes: Outcome) -> Iterator[CaseResult]:
        """Return the cases with one of these outcomes, in the report's order."""
        return (case for case in self.cases if case.outcome in outcomes)


def once(function: Callable[[Report], _Found]) -> Callable[[Report], _Found]:
    """Cache the result of a function of a report: several files are made from it."""

    @wraps(function)
    def kept(report: Report) -> _Found:
        found, name = vars(report), function.__name__
        if name not in found:
            found[name] = function(report)
        return found[name]  # type: ignore[no-any-return]

    return kept


class RecordHeader(Begun, frozen=True, kw_only=True):
    """The first line of a run's record."""

    order: tuple[str, ...]
    """The ids of the cases, as planned."""


class RecordFooter(ReportPart, frozen=True):
    """The last line of a finished record."""

    complete: bool
    duration_s: Annotated[float, Meta(ge=0)]


class RecordLine(ReportPart, frozen=True, kw_only=True):
    """One line of a run's record: exactly one of the first four members is there."""

    header: RecordHeader | None = None
    calibration: Calibration | None = None
    case: CaseResult | None = None
    footer: RecordFooter | None = None
    bodies: Added = ()
    """What the line adds to the streams, by their numbers."""


def with_client_name(target: TargetInfo, cases: Iterable[CaseResult]) -> TargetInfo:
    """Return `target` with the name and the version that a client gives, the first time it does."""
    if target.client is None:
        return target
    lines = (line for case in cases if case.reported is not None for line in case.reported.lines)
    named = next((line.client for line in lines if line.client is not None), None)
    if named is None:
        return target
    return replace(target, server=ServerInfo(named.name, named.version, ()))
