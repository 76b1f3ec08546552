"""The models that a certified server deploys, read from cases/models.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import Shape
from v2_conformance.resources import folder
from v2_conformance.yaml_files import read_yaml


@dataclass(frozen=True)
class TensorSpec:
    """A model's input or output: -1 in `dims` is a variable dimension."""

    name: str
    datatype: str
    dims: Shape

    def metadata(self) -> dict[str, Any]:
        """The tensor as V2 model metadata describes it."""
        return {"name": self.name, "datatype": self.datatype, "shape": list(self.dims)}


@dataclass(frozen=True)
class ModelContract:
    """What the model in one role has to look like and do.

    `does` is "identity" (OUTPUTi = INPUTi) or "first_three" (the first three elements of INPUT0 as
    [3, 1], and their negation). `profile` names the opt-in profile that alone needs the model.
    Without an `optional` model, a server can still be certified.
    """

    role: str
    model: str
    does: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    profile: str
    batching: bool
    optional: bool


@cache
def contract() -> dict[str, ModelContract]:
    """Every role of cases/models.yaml, in its order."""
    entries = read_yaml(folder("cases") / "models.yaml", CaseFileError).document["models"]
    return {entry["role"]: _model(entry) for entry in entries}


def _model(entry: dict[str, Any]) -> ModelContract:
    return ModelContract(
        role=entry["role"],
        model=entry["model"],
        does=entry["does"],
        inputs=_tensors("INPUT", entry["inputs"]),
        outputs=_tensors("OUTPUT", entry.get("outputs", entry["inputs"])),
        profile=entry.get("profile", "binary"),
        batching=entry.get("batching", False),
        optional=entry.get("optional", False),
    )


def _tensors(prefix: str, entries: list[list[Any]]) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec(f"{prefix}{i}", datatype, tuple(dims))
        for i, (datatype, dims) in enumerate(entries)
    )
