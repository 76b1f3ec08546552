"""The exchanges that a report rests on, as report.json has them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from v2_conformance.report.document_part import Milliseconds, Part
from v2_conformance.report.kept_bytes import Deflated, KeptBytes, size_of, unpacked
from v2_conformance.suite.causes.base import Count
from v2_conformance.suite.models import ROLE
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.http1.response import read_again
from v2_conformance.wire.transcript import Ending, Response


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
        int,
        Meta(
            description="How many requests were sent: more than 1 if they were pipelined.",
            ge=1,
            le=4,
        ),
    ] = 1

    @property
    def messages(self) -> tuple[KeptBytes, KeptBytes]:
        """The request and the response, as they are kept."""
        return self.request_kept, self.response_kept

    @property
    def request(self) -> bytes:
        """The request's bytes. Raises ReportFileError if the report is damaged there."""
        return unpacked(self.request_kept)

    @property
    def response(self) -> bytes:
        """The response's bytes, as far as they were kept. Raises ReportFileError, see `request`."""
        return unpacked(self.response_kept)

    def read(self) -> Response | None:
        """Return the response as the connection read it; None as for `read_again`."""
        return read_again(self.response, self.ending, self.answers, request=self.request)

    @property
    def request_size(self) -> int:
        """Bytes of the whole request."""
        return size_of(self.request_kept)

    @property
    def omitted(self) -> int:
        """Number of bytes at the ends of its messages that were not kept, for lack of room."""
        return sum(kept.omitted if isinstance(kept, Deflated) else 0 for kept in self.messages)


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
    json_rtol: Annotated[
        float,
        Meta(
            ge=0,
            description="How far floats may differ, relatively, as their JSON has few digits.",
        ),
    ] = 0.0


class Relations(Part, frozen=True):
    """The subject of a run that compared the answers of models with each other."""

    models: tuple[AskedModel, ...]
    rtol: Annotated[float, Meta(ge=0, description="How far two floats may differ, relatively.")] = (
        0.0
    )
    atol: Annotated[float, Meta(ge=0, description="How far two floats may differ, absolutely.")] = (
        0.0
    )

    def words(self, needs_identity: Collection[str]) -> tuple[str, ...]:
        """Return what a verdict about relations covers, as clauses of its claim."""
        names = ", ".join(model.role.removeprefix(ROLE) for model in self.models)
        said = [f"relations between the answers of {names}"]
        if self.rtol or self.atol:
            said.append(f"floats within rtol {self.rtol:g} and atol {self.atol:g}")
        rounded: dict[float, list[str]] = {}
        for model in self.models:
            if model.json_rtol:
                rounded.setdefault(model.json_rtol, []).append(model.role.removeprefix(ROLE))
        said += [
            f"floats of {', '.join(names)} within rtol {rtol:g}, as their JSON has few digits"
            for rtol, names in rounded.items()
        ]
        count = len(needs_identity)
        if count:
            said.append(f"{count} requirement{'s need' if count > 1 else ' needs'} identity models")
        return tuple(said)


class Calibration(Part, frozen=True):
    """The known-good requests to a model before any case of it, up to the first exact answer."""

    role: str
    form: Annotated[str, Meta(description="In what way the requests have their tensors.")]
    exchanges: tuple[RecordedExchange, ...]
