"""The target's part of a request: its address, and the models that it has deployed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from v2_conformance.protocol.message import Tensor
from v2_conformance.suite.models import ModelContract, contract


@dataclass(frozen=True)
class Tolerance:
    """How much floats of two answers may differ: absolutely, and relative to the first answer."""

    rtol: float = 0.0
    atol: float = 0.0


@dataclass(frozen=True)
class KnownModel:
    """A model that has no role in the contract: its tensors and its answers.

    `answers` are its outputs, in their order, to each set of `model.samples`. They are None if one
    of them was malformed, or if it does not repeat its answers: then `differing` says in which
    output. `special` are those to `model.special`, None for each malformed one. `way` is the form
    of inputs in which it was asked, and whether outputs were binary.
    """

    model: ModelContract
    answers: tuple[tuple[Tensor, ...], ...] | None = None
    tolerance: Tolerance | None = None
    differing: str | None = None
    special: tuple[tuple[Tensor, ...] | None, ...] = ()
    way: tuple[str, bool] = ("binary", True)

    @property
    def answer_bytes(self) -> int:
        """Bytes of the largest answer's tensors, 0 if none is known."""
        answers = [*(self.answers or ()), *filter(None, self.special)]
        return max((sum(len(tensor.blob) for tensor in one) for one in answers), default=0)


def model_path(name: str) -> str:
    """Return the path of a model below the target's prefix. Raises UnicodeEncodeError for a name
    that no URL can have: one with a lone surrogate.
    """
    return f"/v2/models/{quote(name, safe='')}"


@dataclass(frozen=True)
class DeployedModel:
    """The target's names for the model in a role and for its tensors, in the contract's order.

    `version` is the only version of the model that the server lists, None if it lists none or more;
    or, if `pinned`, the one that the target names, which every URL has. `known` is set for a model
    that is in no role of the contract. Every request that has JSON has the `parameters`.
    """

    role: str
    model: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    version: str | None = None
    pinned: bool = False
    known: KnownModel | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def of(self, model: ModelContract) -> DeployedModel:
        """Return it with the tensors of `model`, of which no answer is known yet."""
        names = (tuple(spec.name for spec in specs) for specs in (model.inputs, model.outputs))
        inputs, outputs = names
        return replace(self, inputs=inputs, outputs=outputs, known=KnownModel(model))

    @property
    def path(self) -> str:
        """The path of the model below the target's prefix: that of its metadata."""
        version = f"/versions/{self.version}" if self.pinned else ""
        return f"/v2/models/{self.model}{version}"

    @property
    def contract(self) -> ModelContract:
        """The model's contract: its role's, or the `known` facts."""
        return contract()[self.role] if self.known is None else self.known.model


@dataclass(frozen=True)
class Address:
    """The parts of a request that belong to the run: Host, path prefix, extra header fields, seed.

    `scheme` is http or https. The values and ids of requests follow from the `seed` of the run;
    without one, they are as written.
    """

    host: str
    prefix: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    scheme: str = "http"
    seed: int | None = None

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The header fields that every request to the target begins with."""
        return (("Host", self.host), *self.headers)
