"""report.json as types: what a run found, with every byte that it sent and received.

schemas/report.schema.json is generated from these types (`maintenance.report_schema`), and a test
keeps the two equal. Members that are not here are errors, and so are members that are missing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from v2_conformance.protocol.names import BindingName
from v2_conformance.report.claim_words import verdict_words
from v2_conformance.report.kept_bytes import Deflated, KeptBytes, size_of, unpacked
from v2_conformance.suite.causes import Cause
from v2_conformance.suite.findings import Count, FirstDifference
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.outcomes import Purpose as Purpose
from v2_conformance.suite.reading_causes import died, difference_in
from v2_conformance.suite.relations import ROLE
from v2_conformance.suite.requirements import Basis, Level
from v2_conformance.suite.soaking import Ended, KindCount, Phase, Sample, Seconds, Trend
from v2_conformance.suite.tasks import Said
from v2_conformance.wire.streamed import Streamed
from v2_conformance.wire.transcript import Ending, Http2Facts

REPORT_FORMAT = 2
"""The version of the report's format, `suite.report`. It changes with every incompatible change."""

FieldText = Annotated[str, Meta(pattern="^[ -~]*$")]
"""A part of a header field."""
Milliseconds = Annotated[float, Meta(ge=0)]


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The base of all parts of a report: frozen, without members that the schema does not know."""


class SuiteInfo(Part, frozen=True):
    """The suite that made a report."""

    name: Literal["v2-conformance"]
    version: str
    catalogue: Annotated[
        str,
        Meta(
            description="Digest of the cases: "
            "`cat cases/*.yaml cases/clients/*.yaml | sha256sum | cut -c1-16`."
        ),
    ]
    report: Annotated[
        int, Meta(description="Version of this format.", ge=REPORT_FORMAT, le=REPORT_FORMAT)
    ]


class ServerInfo(Part, frozen=True):
    """What the server answered to GET /v2."""

    name: str
    version: str
    extensions: tuple[str, ...]


class Model(Part, frozen=True):
    """What the target calls the model in a role, and its tensors, in the contract's order."""

    model: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    version: Annotated[
        str | None, Meta(description="The only version of it that the server lists.")
    ] = None
    pinned: Annotated[
        bool, Meta(description="Whether the target names that version, which every URL then has.")
    ] = False


class ClientInfo(Part, frozen=True):
    """How a client was run: its command, in which secrets are masked, and its time limit."""

    command: Annotated[
        tuple[str, ...],
        Meta(description="The program and its arguments; none if it was not run as a command."),
    ]
    timeout_s: Annotated[float, Meta(description="Seconds that the client had for a request.")]


class TargetInfo(Part, frozen=True):
    """The server under test: where it is, what it claims, which models it has.

    Of a client, `server` has its name and version as it says them, and `url` is the bench.
    """

    url: str
    host: Annotated[str, Meta(description="The Host of every request.", pattern="^[!-~]*$")]
    headers: Annotated[
        tuple[tuple[FieldText, FieldText], ...],
        Meta(description="Header fields of every request; secret values are masked."),
    ]
    server: ServerInfo
    profiles: tuple[str, ...]
    unsupported: tuple[str, ...]
    models: Annotated[
        dict[str, Model], Meta(description="Role to the names of the model and its tensors.")
    ]
    absent: Annotated[
        dict[str, str], Meta(description="Role to the reason why the server has no model for it.")
    ]
    host_given: Annotated[
        bool, Meta(description="Whether the Host is not that of the URL, but was given.")
    ] = False
    masked: Annotated[
        bool, Meta(description="Whether secrets other than values of these headers are masked.")
    ] = False
    binding: Annotated[
        BindingName | None,
        Meta(description="In which envelope its endpoint takes messages; null for a V2 server."),
    ] = None
    client: Annotated[
        ClientInfo | None, Meta(description="How the client was run, if it was one.")
    ] = None
    http2: Annotated[bool, Meta(description="Whether all requests went over HTTP/2.")] = False

    @property
    def what(self) -> str:
        """What was tested, in a word: a server or a client."""
        return "server" if self.client is None else "client"


class Shard(Part, frozen=True):
    """Which part of the cases a run sends, of how many: see `suite.sharding`."""

    number: Annotated[int, Meta(description="From 1.", ge=1)]
    of: Annotated[int, Meta(ge=1)]


class Selection(Part, frozen=True):
    """Which cases a run was asked for: its plan can be made again from it."""

    patterns: Annotated[
        tuple[str, ...], Meta(description="Requirements and patterns of ids; all cases if none.")
    ] = ()
    large: bool = False
    thorough: bool = False
    variations: tuple[str, ...] = ()
    shard: Annotated[
        Shard | None, Meta(description="The only shard of these cases that the run sends.")
    ] = None
    huge: bool = False


EVERYTHING = Selection()
"""What a run has that was asked for nothing in particular."""


class OverallVerdict(Part, frozen=True):
    """The run's verdict: `reasons` block it, `warnings` do not."""

    conformant: bool
    robust: bool
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    standing: Annotated[
        str, Meta(description="The verdict as people say it, such as `incomplete run`.")
    ] = ""
    claim: Annotated[
        str, Meta(description="What it is about, such as `binary, raw; without BF16`.")
    ] = ""
    consistent: Annotated[
        bool | None,
        Meta(
            description="Whether all tested relations between the answers of models hold; null "
            "for a run with the models of the contract."
        ),
    ] = None
    shown: Annotated[
        tuple[str, ...], Meta(description="Requirements that relations have shown to hold.")
    ] = ()
    needs_identity: Annotated[
        tuple[str, ...],
        Meta(description="Requirements of the claimed profiles that only identity models show."),
    ] = ()

    @property
    def words(self) -> str:
        """The verdict as people say it if the run is whole; see `standing` for any run."""
        return verdict_words(
            conformant=self.conformant,
            robust=self.robust,
            complete=True,
            consistent=self.consistent,
        )


class CitedDocument(Part, frozen=True):
    """Where a document says what a requirement demands."""

    document: str
    url: str
    section: str
    paragraph: int | None


class RequirementResult(Part, frozen=True):
    """A requirement, the number of its cases with each outcome, and the worst of those."""

    id: str
    level: Level
    basis: Basis
    outcome: Outcome
    cases: Annotated[
        dict[Outcome, Annotated[int, Meta(ge=1)]],
        Meta(
            description="Outcome to the number of cases that have it.",
            extra_json_schema={"propertyNames": {"$ref": "#/$defs/Outcome"}},
        ),
    ]
    title: str
    statement: str
    follows: Annotated[str, Meta(description="Why a derived requirement holds; else empty.")]
    note: Annotated[str, Meta(description="What is free, disputed or wrong in the documents.")]
    cite: tuple[CitedDocument, ...]


class RecordedExchange(Part, frozen=True, kw_only=True):
    """One exchange: the bytes, and what they do not show. `note` is for people."""

    purpose: Purpose
    note: str
    request_kept: Annotated[
        KeptBytes,
        Meta(
            description="The request as it went over the wire: its place in `messages` (block, "
            "first byte, number of bytes), or the bytes; a long one deflated."
        ),
    ] = msgspec.field(name="request")
    response_kept: Annotated[
        KeptBytes, Meta(description="All bytes that came, in the same way.")
    ] = msgspec.field(name="response")
    ending: Ending
    detail: str
    sent: Annotated[Count, Meta(description="Bytes of the request that were sent.")]
    reused: Annotated[bool, Meta(description="Whether the connection had been used before.")]
    open: Annotated[bool, Meta(description="Whether the connection was left open.")]
    first_byte_ms: Milliseconds | None
    duration_ms: Milliseconds
    expected: Annotated[
        str | None,
        Meta(description="The answer that a canary must get again, if no answer to it was exact."),
    ] = None
    entry: Annotated[
        dict[str, Any] | None,
        Meta(description="The case of a generated request, as in a case file."),
    ] = None
    pieces: Annotated[
        tuple[Count, ...],
        Meta(description="Bytes of the request in each write, if there were several."),
    ] = ()
    pause_ms: Annotated[Milliseconds, Meta(description="Pause between two writes.")] = 0.0
    closed_before_ms: Annotated[
        Milliseconds | None,
        Meta(
            description="How long the connection before had been idle at most when the server "
            "closed it without having said so; null if it did not."
        ),
    ] = None
    shortened_ms: Annotated[
        Milliseconds | None,
        Meta(description="The time limit, if it was shorter than usual: others before had hung."),
    ] = None
    stray_before: Annotated[
        Count,
        Meta(
            description="Bytes that came on the connection before, after its response, although no "
            "request asked for them."
        ),
    ] = 0
    answers: Annotated[
        int, Meta(description="How many requests were sent: 2 if one was pipelined.", ge=1, le=2)
    ] = 1
    http2: Annotated[
        Http2Facts | None,
        Meta(
            description="What the frames say, if it was over HTTP/2: then the request and the "
            "response are fields and bodies in the notation of HTTP/1.1, not frames."
        ),
    ] = None
    streamed: Annotated[
        Streamed | None,
        Meta(
            description="What is kept of a huge tensor, if the exchange had one: then the request "
            "ends where the tensor begins, and the response is only the beginning of what came."
        ),
    ] = None

    @property
    def request(self) -> bytes:
        """The request's bytes. Raises ReportFileError if the report is damaged there."""
        return unpacked(self.request_kept)

    @property
    def response(self) -> bytes:
        """The response's bytes, as far as they were kept. Raises ReportFileError, see `request`."""
        return unpacked(self.response_kept)

    @property
    def request_size(self) -> int:
        """Bytes of the whole request, with those of a streamed tensor."""
        return size_of(self.request_kept) + (0 if self.streamed is None else self.streamed.size)

    @property
    def omitted(self) -> int:
        """How many bytes at the end of a message were not kept, for want of room."""
        return sum(
            kept.omitted if isinstance(kept, Deflated) else 0
            for kept in (self.request_kept, self.response_kept)
        )


class AskedInput(Part, frozen=True):
    """An input of a model; a dimension of -1 is variable."""

    name: str
    datatype: str
    dims: tuple[int, ...]
    chosen: Annotated[
        bool, Meta(description="Whether the user said which shape or which values it takes.")
    ] = False


class SampleValue(Part, frozen=True):
    """The value of an input in the requests of a run: its shape and its binary form."""

    shape: tuple[Count, ...]
    data: KeptBytes


class AskedModel(Part, frozen=True):
    """A model that is in no role of the contract, and by which exchanges it was learned."""

    role: str
    inputs: tuple[AskedInput, ...]
    samples: Annotated[
        tuple[tuple[SampleValue, ...], ...],
        Meta(description="Sets of values for the inputs, which were sent in turn."),
    ]
    special: Annotated[
        tuple[tuple[SampleValue, ...], ...],
        Meta(description="Sets of values that are those of cases, each of which was sent once."),
    ]
    learned: Annotated[
        tuple[RecordedExchange, ...],
        Meta(description="The request for its metadata, then its plain requests."),
    ]


class Relations(Part, frozen=True):
    """What a run was about that compared the answers of models with each other."""

    models: tuple[AskedModel, ...]
    rtol: Annotated[float, Meta(description="How far two floats may differ, relatively.")] = 0.0
    atol: Annotated[float, Meta(description="How far two floats may differ, absolutely.")] = 0.0

    def words(self, needs_identity: Collection[str]) -> tuple[str, ...]:
        """What a verdict on it is about, as clauses of its claim."""
        names = ", ".join(model.role.removeprefix(ROLE) for model in self.models)
        said = [f"relations between the answers of {names}"]
        if self.rtol or self.atol:
            said.append(f"floats within rtol {self.rtol:g} and atol {self.atol:g}")
        count = len(needs_identity)
        if count:
            said.append(f"{count} requirement{'s need' if count > 1 else ' needs'} identity models")
        return tuple(said)


class Calibration(Part, frozen=True):
    """The known-good requests to a model before any case of it, up to the first exact answer."""

    role: str
    form: Annotated[str, Meta(description="In what way the requests have their tensors.")]
    exchanges: tuple[RecordedExchange, ...]


class WrongUnderLoad(Part, frozen=True, kw_only=True):
    """An answer under load that failed, of a case that did not fail alone."""

    case: str
    at_s: Annotated[Seconds, Meta(description="Since the soak began.")]
    cause: Cause | None
    message: str
    exchange: RecordedExchange


class Soak(Part, frozen=True, kw_only=True):
    """What came of minutes under load, after all cases had run."""

    seconds: Annotated[Seconds, Meta(description="For how long it was asked for.")]
    duration_s: Annotated[Seconds, Meta(description="How long requests were sent.")]
    connections: Annotated[int, Meta(ge=1)]
    ended: Ended
    survived: Annotated[
        bool | None,
        Meta(description="Whether a known-good request got its right answer afterwards."),
    ]
    watched: Annotated[bool, Meta(description="Whether the server's processes were watched.")]
    kinds: tuple[KindCount, ...]
    phases: Annotated[tuple[Phase, ...], Meta(max_length=64)]
    samples: Annotated[tuple[Sample, ...], Meta(max_length=1000)]
    trends: Annotated[tuple[Trend, ...], Meta(description="What the samples and phases amount to.")]
    wrong: Annotated[
        dict[str, Count], Meta(description="Case to the number of wrong answers under load.")
    ]
    kept: Annotated[
        tuple[WrongUnderLoad, ...], Meta(description="Some of them, with all bytes.", max_length=20)
    ]

    @property
    def requests(self) -> int:
        """How many requests were sent."""
        return sum(kind.requests for kind in self.kinds)

    @property
    def leaks(self) -> tuple[Trend, ...]:
        """The quantities that leak."""
        return tuple(trend for trend in self.trends if trend.movement == "leaks")


class ExpectedFailure(Part, frozen=True):
    """A failure that was known beforehand. It counts all the same."""

    reason: str
    link: Annotated[str, Meta(pattern="^https?://")] | None = None


class CaseResult(Part, frozen=True, kw_only=True):
    """One case and what came of it. `message` is `cause` in words, for people."""

    id: str
    requirement: str
    profile: Annotated[
        str, Meta(description="A server that does not claim it is not sent the case.")
    ]
    level: Level
    basis: Basis
    why: Annotated[str, Meta(description="Why the case is there, in plain words.")]
    content: Annotated[str, Meta(description="Digest of what the case sends and expects.")]
    outcome: Outcome
    cause: Annotated[Cause | None, Meta(description="Why the case has its outcome.")]
    message: str
    duration_ms: Milliseconds
    expected: ExpectedFailure | None = None
    exchanges: tuple[RecordedExchange, ...]
    said: Annotated[
        Said | None, Meta(description="What the client said of a scenario, and how it ended.")
    ] = None

    @property
    def difference(self) -> FirstDifference | None:
        """The first differing element, if values were compared and are not the same."""
        return difference_in(self.cause)

    @property
    def died(self) -> bool:
        """Whether the server did not survive the case."""
        return died(self.cause)


class Integrity(Part, frozen=True):
    """The digest of everything else in the report, as docs/reports.md says."""

    algorithm: Literal["sha256"]
    digest: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class MergedShard(Part, frozen=True):
    """The run of one shard that a merged report is made of."""

    number: Annotated[int, Meta(description="From 1.", ge=1)]
    started: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    duration_s: Annotated[float, Meta(ge=0)]
    digest: Annotated[str, Meta(description="The digest of its report.", pattern="^[0-9a-f]{64}$")]


class Report(Part, frozen=True, kw_only=True, dict=True):
    """What a run of the suite against one server found, with every byte that went over the wire."""

    suite: SuiteInfo
    target: TargetInfo
    started: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    duration_s: Annotated[float, Meta(ge=0)]
    complete: Annotated[
        bool, Meta(description="False if the run was stopped before its last case.")
    ]
    own: Annotated[bool, Meta(description="Whether the cases are the suite's own.")]
    planned: Annotated[
        dict[str, Count],
        Meta(description="Requirement to the number of its cases in a whole run."),
    ]
    verdict: OverallVerdict
    requirements: tuple[RequirementResult, ...]
    cases: tuple[CaseResult, ...]
    selection: Annotated[
        Selection, Meta(description="What the run was asked for; everything usual if absent.")
    ] = EVERYTHING
    discovery: Annotated[
        tuple[RecordedExchange, ...],
        Meta(description="GET /v2, and the metadata of each model of the claimed profiles."),
    ] = ()
    calibration: Annotated[
        tuple[Calibration, ...],
        Meta(description="How known-good requests were answered at first, by model and form."),
    ] = ()
    shards: Annotated[
        tuple[MergedShard, ...],
        Meta(description="The runs that were merged into this report; empty for a single run."),
    ] = ()
    messages: Annotated[
        tuple[Deflated, ...],
        Meta(description="The blocks in which the messages of exchanges have their places."),
    ] = ()
    relations: Annotated[
        Relations | None,
        Meta(description="Null for a run with the models of the contract."),
    ] = None
    soak: Annotated[Soak | None, Meta(description="Null for a run that was not asked for one.")] = (
        None
    )
    integrity: Integrity | None = None

    @cached_property
    def _by_id(self) -> dict[str, CaseResult]:
        return {case.id: case for case in self.cases}

    def case(self, case_id: str) -> CaseResult | None:
        """The case with this id."""
        return self._by_id.get(case_id)

    def of(self, *outcomes: Outcome) -> Iterator[CaseResult]:
        """The cases with one of these outcomes, in the report's order."""
        return (case for case in self.cases if case.outcome in outcomes)


class RecordHeader(Part, frozen=True, kw_only=True):
    """The first line of a run's record: everything that is known before the first case."""

    suite: SuiteInfo
    target: TargetInfo
    started: str
    own: bool
    planned: dict[str, Count]
    order: Annotated[tuple[str, ...], Meta(description="The ids of the cases, as planned.")]
    selection: Selection = EVERYTHING
    discovery: tuple[RecordedExchange, ...] = ()
    relations: Relations | None = None


class RecordFooter(Part, frozen=True):
    """The last line of a finished record."""

    complete: bool
    duration_s: Annotated[float, Meta(ge=0)]


class RecordLine(Part, frozen=True, kw_only=True):
    """One line of a run's record: exactly one member is there."""

    header: RecordHeader | None = None
    calibration: Calibration | None = None
    case: CaseResult | None = None
    soak: Soak | None = None
    footer: RecordFooter | None = None
