"""Faults of servers that check the first input only, or not the model's fixed dimensions (J)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from v2_conformance.protocol.datatypes import Shape, element_count
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.request_reader import JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.shared.blobs import resize
from v2_mutants.registry import Right, What, fault


def _reads_later(repair: Callable[[list[Any], int], list[Any]]) -> What[list[RequestInput]]:
    """A server that reads `repair(data, element count)` of each UINT32 input but the first."""

    def repaired(entry: RequestInput) -> RequestInput:
        if entry.spec.datatype != "UINT32" or not isinstance(entry.data, list):
            return entry
        return replace(entry, data=repair(entry.data, element_count(entry.shape)))

    def what(
        right: Right[list[RequestInput]], model: ModelContract, document: JsonObject
    ) -> list[RequestInput]:
        first, *later = right()
        return [first, *map(repaired, later)]

    return what


fault("later-integers-wrap-around", "J1", Behaviour.request_inputs)(
    "A JSON integer beyond UINT32 wraps around unless it is in the first input.",
    _reads_later(
        lambda data, count: [item % 2**32 if type(item) is int else item for item in data]
    ),
)
fault("later-missing-elements-are-zeros", "J1", Behaviour.request_inputs)(
    "Elements missing from a JSON input that is not the first are zeros.",
    _reads_later(lambda data, count: [*data, *[0] * (count - len(data))]),
)


@fault("later-datatypes-unchecked", "J6", Behaviour.request_inputs)
def _(
    right: Right[list[RequestInput]], model: ModelContract, document: JsonObject
) -> list[RequestInput]:
    """The datatype of an input that is not the first is not looked at."""
    listed = document.get("inputs")
    own = {spec.name: spec.datatype for spec in model.inputs}
    if isinstance(listed, list) and all(isinstance(item, dict) for item in listed):
        later = [item | {"datatype": own.get(item.get("name"))} for item in listed[1:]]
        document = {**document, "inputs": [*listed[:1], *later]}
    return right(document=document)


class _AnySize(Behaviour):
    """A server that takes a vector of any length for one of fixed length."""

    def input_shape(self, spec: TensorSpec, shape: object) -> Shape:
        if len(spec.dims) == 1 and spec.dims[0] > 1 and isinstance(shape, list) and len(shape) == 1:
            return super().input_shape(replace(spec, dims=(-1,)), shape)
        return super().input_shape(spec, shape)


def _made_to_fit(*, fewer: bool) -> type[Behaviour]:
    """A server that makes a blob with `fewer` elements than the model's shape, or more, fit it."""

    class MadeToFit(_AnySize):
        def request_input(self, specs: dict[str, TensorSpec], item: object) -> RequestInput:
            entry = super().request_input(specs, item)
            given, fixed = entry.shape[0] if entry.shape else 1, entry.spec.dims[0]
            if fixed > 1 and given != fixed and (entry.has_data or (given < fixed) != fewer):
                Behaviour.input_shape(self, entry.spec, list(entry.shape))
            return entry

        def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
            made = super().output_tensor(output, tensor)
            if output.dims[0] < 2 or len(output.dims) > 1:
                return made
            size = len(made.blob) // max(element_count(made.shape), 1) * element_count(output.dims)
            return msgspec.structs.replace(made, shape=output.dims, blob=resize(made.blob, size))

    return MadeToFit


fault.several(
    "short-tensors-padded",
    "J6",
    "A blob with fewer elements than the model's fixed shape is padded with zeros.",
)(_made_to_fit(fewer=True))
fault.several(
    "long-tensors-cut", "J6", "A blob with more elements than the model's fixed shape is cut off."
)(_made_to_fit(fewer=False))


@fault.several("fixed-dimensions-unchecked", "J6")
class _FixedDimensionsUnchecked(_AnySize):
    """A model with a fixed shape takes a JSON input of any other."""

    def request_input(self, specs: dict[str, TensorSpec], item: object) -> RequestInput:
        entry = super().request_input(specs, item)
        if not entry.has_data:
            Behaviour.input_shape(self, entry.spec, list(entry.shape))
        return entry
