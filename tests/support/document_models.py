"""The documents' examples as tests see them, and servers of the models that these assume."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.suite.models import ModelContract, TensorSpec

EXAMPLES = Path(__file__).parents[2] / "examples"

JsonObject = dict[str, Any]


def described(stem: str) -> JsonObject:
    """examples/STEM.json; a stem is such as oip-json.request."""
    found: JsonObject = json.loads((EXAMPLES / f"{stem}.json").read_text(encoding="utf-8"))
    return found


def body_of(stem: str) -> bytes:
    """examples/STEM.bin."""
    return (EXAMPLES / f"{stem}.bin").read_bytes()


def stems(*, kind: str = "", wrong: bool = False) -> list[str]:
    """The messages of one kind ("request", "response", "" for both) that are right, or wrong."""
    found = sorted(path.stem for path in EXAMPLES.glob(f"*{kind}.bin"))
    return [stem for stem in found if (described(stem)["wrong"] is not None) == wrong]


def bytes_of(tensor: JsonObject) -> bytes:
    """The bytes of a tensor of a described message."""
    return base64.b64decode(tensor["data"])


def serving_model(request: str, outputs: list[JsonObject]) -> type[Behaviour]:
    """The reference server with one model: that of a request, which always gives these outputs."""
    asked = described(request)
    inputs = asked["tensors"] or asked["json"]["inputs"]
    model = ModelContract(
        role="",
        model=asked["http"]["target"].split("/")[3],
        does="identity",
        inputs=tuple(_spec(tensor) for tensor in inputs),
        outputs=tuple(_spec(tensor) for tensor in outputs),
        profile="binary",
        batching=False,
        optional=False,
    )
    tensors = {
        tensor["name"]: Tensor(
            tensor["name"], tensor["datatype"], tuple(tensor["shape"]), bytes_of(tensor)
        )
        for tensor in outputs
    }

    class OneModel(Behaviour):
        def __init__(self, profiles: object = None) -> None:
            super().__init__(SERVER_PROFILES)
            self.models = {model.model: model}

        def run_model(self, model: ModelContract, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
            return tensors

    return OneModel


def _spec(tensor: JsonObject) -> TensorSpec:
    return TensorSpec(tensor["name"] or "input", tensor["datatype"], tuple(tensor["shape"]))
