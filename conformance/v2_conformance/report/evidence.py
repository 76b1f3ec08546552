"""The exchanges that a report rests on, as report.json has them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from msgspec import Meta

from v2_conformance.judging.known_good import Form
from v2_conformance.report.tested import Part
from v2_conformance.suite.causes.base import Count
from v2_conformance.suite.models import ROLE
from v2_conformance.wire.exchange import Body, Exchange


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
    data: Body


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
        tuple[Exchange, ...],
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
        clauses = [f"relations between the answers of {names}"]
        if self.rtol or self.atol:
            clauses.append(f"floats within rtol {self.rtol:g} and atol {self.atol:g}")
        rounded: dict[float, list[str]] = {}
        for model in self.models:
            if model.json_rtol:
                rounded.setdefault(model.json_rtol, []).append(model.role.removeprefix(ROLE))
        clauses += [
            f"floats of {', '.join(names)} within rtol {rtol:g}, as their JSON has few digits"
            for rtol, names in rounded.items()
        ]
        count = len(needs_identity)
        if count:
            clauses.append(
                f"{count} requirement{'s need' if count > 1 else ' needs'} identity models"
            )
        return tuple(clauses)


class Calibration(Part, frozen=True):
    """The known-good requests to a model before any case of it, up to the first exact answer."""

    role: str
    form: Annotated[Form, Meta(description="In what way the requests have their tensors.")]
    exchanges: tuple[Exchange, ...]
