"""The parts of report.json about what was tested, and with what."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import cache
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from v2_conformance.judging.known_good import Form
from v2_conformance.judging.learning import shapes_unlike_metadata
from v2_conformance.judging.metadata import ServerInfo
from v2_conformance.suite.causes.base import Count
from v2_conformance.suite.library import digest
from v2_conformance.suite.models import TensorSpec, name_of
from v2_conformance.suite.requirements import catalogue_version
from v2_conformance.version import __version__, judging_digest
from v2_conformance.wire.encode.deployment import DeployedModel
from v2_conformance.wire.exchange import Body, Exchange

REPORT_FORMAT = 3
"""The version of the report's format, `suite.report`. It changes with every incompatible change."""

FieldText = Annotated[str, Meta(pattern="^[ -~]*$")]
"""A part of a header field."""


class ReportPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The base of all parts of a report: frozen, without members that the schema does not know."""


class SuiteInfo(ReportPart, frozen=True):
    """The suite that made a report."""

    name: Literal["v2-conformance"]
    version: str
    catalogue: str
    """Digest of what the catalogue asks and expects. Its words do not change it."""
    report: Annotated[int, Meta(ge=REPORT_FORMAT, le=REPORT_FORMAT)]
    """Version of this format."""
    catalogue_version: str
    """Version of the catalogue of requirements."""
    judging: str
    """Digest of the code that decides verdicts, which tells builds of one version apart."""

    @property
    def of_catalogue(self) -> str:
        """The catalogue in words: its version and its digest."""
        return f"{self.catalogue_version} ({self.catalogue})"

    @property
    def in_words(self) -> str:
        """The suite and its catalogue in words."""
        return f"{self.name} {self.version}, catalogue {self.of_catalogue}"


@cache
def this_suite() -> SuiteInfo:
    """Return what a report that this installation makes says of the suite."""
    return SuiteInfo(
        "v2-conformance",
        __version__,
        digest(),
        REPORT_FORMAT,
        catalogue_version(),
        judging_digest(),
    )


class Model(ReportPart, frozen=True):
    """The target's names for the model in a role and for its tensors, in the contract's order."""

    model: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    version: str | None = None
    """The only version of it that the server lists."""
    pinned: bool = False
    """Whether the target names that version, which every URL then has."""
    parameters: dict[str, bool | int | float | str] = {}
    """Parameters of the request that the model gets in all JSON."""

    def deployed(self, role: str) -> DeployedModel:
        """Return the model as requests name it."""
        return DeployedModel(role, **{name: getattr(self, name) for name in self.__struct_fields__})


class ClientInfo(ReportPart, frozen=True):
    """How a client was run: its command, in which secrets are masked, and its time limit."""

    command: tuple[str, ...]
    """The program and its arguments."""
    timeout_s: Annotated[float, Meta(gt=0)]
    """Seconds that the client had for a request."""
    lacks: tuple[str, ...] = ()
    """Features that it is said to lack: scenarios that need one did not run."""


class TargetInfo(ReportPart, frozen=True):
    """The server under test: where it is, what it claims, which models it has.

    Of a client, `server` has its name and version as it says them, and `url` is the bench.
    """

    url: str
    host: Annotated[str, Meta(pattern="^[!-~]*$")]
    """The Host of every request."""
    headers: tuple[tuple[FieldText, FieldText], ...]
    """Header fields of every request; secret values are masked."""
    server: ServerInfo
    profiles: tuple[str, ...]
    unsupported: tuple[str, ...]
    models: dict[str, Model]
    """Role to the names of the model and its tensors."""
    absent: dict[str, str]
    """Role to the reason why the server has no model for it."""
    host_given: bool = False
    """Whether the Host is not that of the URL, but was given."""
    masked: bool = False
    """Whether secrets other than values of these headers are masked."""
    client: ClientInfo | None = None
    """How the client was run, if it was one."""
    restart_command: bool = False
    """Whether the run had a command that restarts a killed server."""

    @property
    def what(self) -> str:
        """The kind of product tested, in a word: a server or a client."""
        return "server" if self.client is None else "client"

    @property
    def without(self) -> tuple[str, ...]:
        """What it does not support, as the run was told."""
        return self.unsupported if self.client is None else (*self.unsupported, *self.client.lacks)


class Selection(ReportPart, frozen=True):
    """Which cases a run was asked for: its plan can be made again from it."""

    patterns: tuple[str, ...] = ()
    """Requirements and patterns of ids; all cases if none."""
    large: bool = False


EVERYTHING = Selection()
"""The options of a run that was asked for nothing in particular."""


class AskedInput(ReportPart, frozen=True):
    """An input of a model; a dimension of -1 is variable."""

    name: str
    datatype: str
    dims: tuple[int, ...]
    chosen: bool = False
    """Whether the user said which shape or which values it takes."""


class SampleValue(ReportPart, frozen=True):
    """The value of an input in the requests of a run: its shape and its binary form."""

    shape: tuple[Count, ...]
    data: Body


class AskedModel(ReportPart, frozen=True):
    """A model that is in no role of the contract, and by which exchanges it was learned."""

    role: str
    inputs: tuple[AskedInput, ...]
    samples: tuple[tuple[SampleValue, ...], ...]
    """Sets of values for the inputs, which were sent in turn."""
    special: tuple[tuple[SampleValue, ...], ...]
    """Sets of values that are those of cases, each of which was sent once."""
    learned: tuple[Exchange, ...]
    """The request for its metadata, then its plain requests."""
    json_rtol: Annotated[float, Meta(ge=0)] = 0.0
    """How far floats may differ, relatively, as those in JSON need few digits."""

    def odd_shapes(self) -> Iterator[str]:
        """Yield in words what the model's metadata does not say of the shapes of its answers."""
        specs = (TensorSpec(one.name, one.datatype, one.dims) for one in self.inputs)
        sent = (value.shape for values in self.samples[:1] for value in values)
        return shapes_unlike_metadata(self.learned, zip(specs, sent, strict=False))


class Relations(ReportPart, frozen=True):
    """The subject of a run that compared the answers of models with each other."""

    models: tuple[AskedModel, ...]
    rtol: Annotated[float, Meta(ge=0)] = 0.0
    """How far two floats may differ, relatively."""
    atol: Annotated[float, Meta(ge=0)] = 0.0
    """How far two floats may differ, absolutely."""

    def words(self, needs_identity: Collection[str]) -> tuple[str, ...]:
        """Return what a verdict about relations covers, as clauses of its claim."""
        names = ", ".join(name_of(model.role) for model in self.models)
        clauses = [f"relations between the answers of {names}"]
        if self.rtol or self.atol:
            clauses.append(f"floats within rtol {self.rtol:g} and atol {self.atol:g}")
        rounded: dict[float, list[str]] = {}
        for model in self.models:
            if model.json_rtol:
                rounded.setdefault(model.json_rtol, []).append(name_of(model.role))
        clauses += [
            f"floats of {', '.join(names)} within rtol {rtol:g}, as none of those seen needs more "
            f"than {round(1 - math.log10(rtol))} digits"
            for rtol, names in rounded.items()
        ]
        count = len(needs_identity)
        if count:
            clauses.append(
                f"{count} requirement{'s need' if count > 1 else ' needs'} identity models"
            )
        return tuple(clauses)


class Calibration(ReportPart, frozen=True):
    """The known-good requests to a model before any case of it, up to the first exact answer."""

    role: str
    form: Form
    """How the requests carry their tensors."""
    exchanges: tuple[Exchange, ...]
