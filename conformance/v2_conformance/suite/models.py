"""The models that a certified server deploys, read from cases/models.yaml."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import unquote

from v2_conformance.own_files import own_document
from v2_conformance.protocol.datatypes import Shape
from v2_conformance.terminal_safe_text import on_one_line

ROLE = "model/"
"""The prefix of the role of a model that has none in the contract; its name follows."""


def name_of(role: str) -> str:
    """Return the name of the model that has `role` outside the contract, as people write it."""
    return on_one_line(unquote(role.removeprefix(ROLE)))


@dataclass(frozen=True)
class TensorSpec:
    """A model's input or output: -1 in `dims` is a variable dimension."""

    name: str
    datatype: str
    dims: Shape

    def takes(self, shape: Shape) -> bool:
        """Return True if the tensor may have this shape."""
        sizes = zip(self.dims, shape, strict=False)
        return len(self.dims) == len(shape) and all(want in (-1, got) for want, got in sizes)

    def metadata(self) -> dict[str, Any]:
        """The tensor as V2 model metadata describes it."""
        return {"name": self.name, "datatype": self.datatype, "shape": list(self.dims)}


@dataclass(frozen=True)
class Sample:
    """A known value of an input: its shape and its binary form."""

    shape: Shape
    blob: bytes


@dataclass(frozen=True)
class ModelContract:
    """Contract for the model in one role: its tensors and its behavior.

    `does` is "identity" (OUTPUTi = INPUTi), "first_three" (the first three elements of INPUT0 as
    [3, 1], and their negation), or "unknown" for a model that is in no role of the contract: then
    `samples` has a value of each input, or several such sets, and `special` has the sets of
    cases/relations.yaml that were asked about (see `wire.relations.values`);
    `not_in_json` says which outputs no JSON can hold: the number of the special set, None for the
    samples, and the place of the output, None if the whole answer is too long as JSON. `profile`
    names the opt-in profile that alone needs the model. It `takes_raw` requests, which have nothing
    but one tensor, unless its other ones have more. Without an `optional` model, a server can
    still be certified. A model that `stands_in_for` the one in another role takes its place for a
    server without one of its datatypes, and no other server needs it.
    """

    role: str
    model: str
    does: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    profile: str
    batching: bool
    optional: bool
    stands_in_for: str | None = None
    samples: tuple[tuple[Sample, ...], ...] = ()
    special: tuple[tuple[Sample, ...], ...] = ()
    not_in_json: tuple[tuple[int | None, int | None], ...] = field(default=(), repr=False)
    takes_raw: bool = True

    @property
    def datatypes(self) -> frozenset[str]:
        """The datatypes that a server needs for it."""
        return frozenset(spec.datatype for spec in (*self.inputs, *self.outputs))

    def metadata(self) -> dict[str, Any]:
        """The model as V2 model metadata describes it."""
        return {
            "name": self.model,
            "inputs": [tensor.metadata() for tensor in self.inputs],
            "outputs": [tensor.metadata() for tensor in self.outputs],
        }

    def is_of_use(self, unsupported: Collection[str]) -> bool:
        """Return True if a server without these datatypes needs it."""
        if self.stands_in_for is None:
            return True
        return not contract()[self.stands_in_for].datatypes.isdisjoint(unsupported)


@cache
def contract() -> dict[str, ModelContract]:
    """Return every role of cases/models.yaml, in its order."""
    return {entry["role"]: _model(entry) for entry in own_document("models.yaml")["models"]}


def models_of_use(
    profiles: Collection[str], unsupported: Collection[str]
) -> dict[str, ModelContract]:
    """The roles that a server of these profiles, without these datatypes, is asked for."""
    return {
        role: model
        for role, model in contract().items()
        if model.profile in profiles and model.is_of_use(unsupported)
    }


@cache
def stand_ins() -> dict[str, str]:
    """Roles to the roles whose models stand in for theirs."""
    return {
        model.stands_in_for: role
        for role, model in contract().items()
        if model.stands_in_for is not None
    }


def _model(entry: dict[str, Any]) -> ModelContract:
    return ModelContract(
        role=entry["role"],
        model=entry["model"],
        does=entry["does"],
        inputs=_tensors("INPUT", entry["inputs"]),
        outputs=_tensors("OUTPUT", entry.get("outputs", entry["inputs"])),
        profile=entry.get("profile", "binary"),
        batching=entry.get("batching", False),
        optional=entry.get("optional", False) or "stands_in_for" in entry,
        stands_in_for=entry.get("stands_in_for"),
    )


def _tensors(prefix: str, entries: list[list[Any]]) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec(f"{prefix}{i}", datatype, tuple(dims))
        for i, (datatype, dims) in enumerate(entries)
    )
