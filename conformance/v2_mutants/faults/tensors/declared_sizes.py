"""Faults of `binary_data_size` itself: absent, beside `data`, no usable number (S)."""

from __future__ import annotations

from dataclasses import replace

from v2_conformance.protocol.datatypes import element_count
from v2_conformance.protocol.names import BINARY_DATA_OUTPUT, BINARY_DATA_SIZE
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Blobs
from v2_conformance.reference.request_reader import JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.shared.blobs import (
    MAX_MADE_UP,
    Tensors,
    is_bytes,
    size_by_shape,
)
from v2_mutants.registry import Right, fault, then

fault("bytes-size-eight-per-element", "S1", Behaviour.declared_size)(
    "A BYTES input is read as eight bytes per element, whatever size it declares.",
    then(
        lambda size, entry: (
            size if not size or not is_bytes(entry) else 8 * element_count(entry.shape)
        )
    ),
)


@fault.several("data-preferred-blob-left", "S5")
class _DataPreferredBlobLeft(Behaviour):
    """If an input has both `data` and a size, its blob is left for the next input."""

    def request_input(self, specs: dict[str, TensorSpec], item: object) -> RequestInput:
        entry = super().request_input(specs, item)
        if not entry.has_data:
            return entry
        kept = {name: value for name, value in entry.parameters.items() if name != BINARY_DATA_SIZE}
        return replace(entry, parameters=kept)

    def read_inputs(self, model: ModelContract, document: JsonObject, blobs: Blobs) -> Tensors:
        entries = self.request_inputs(model, document)
        if any(entry.has_data for entry in entries):
            # The blob that no input took comes last, and nothing complains about it.
            total = sum(self.declared_size(entry) or 0 for entry in entries)
            listed = [item.get("parameters") or {} for item in document["inputs"]]
            sizes = sum(BINARY_DATA_SIZE in parameters for parameters in listed)
            if sizes > sum(BINARY_DATA_SIZE in entry.parameters for entry in entries):
                blobs = replace(blobs, view=blobs.view[:total])
        return super().read_inputs(model, document, blobs)


@fault.several("size-preferred-over-data", "S5")
class _SizePreferredOverData(Behaviour):
    """If an input has both `data` and a size, `data` is ignored; a missing blob is zeros."""

    def check_one_source(self, entry: RequestInput, size: int | None) -> None:
        if size is None:
            super().check_one_source(entry, size)

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        if entry.has_data and not len(blobs.view) and size <= MAX_MADE_UP:
            return memoryview(bytes(size))
        return super().slice_blob(entry, blobs, offset, size)


fault("size-wraps-at-32-bits", "S7", Behaviour.declared_size)(
    "Only the low 32 bits of a size are used.",
    then(lambda size, entry: None if size is None else size % 2**32),
)
fault("size-true-read-as-one", "S9", Behaviour.declared_size)(
    "A size of `true` is read as 1.",
    lambda right, entry: 1 if entry.parameters.get(BINARY_DATA_SIZE) is True else right(),
)


@fault("fractional-size-truncated", "S10", Behaviour.declared_size)
def _(right: Right[int | None], entry: RequestInput) -> int | None:
    """A size of 16.5 is read as 16."""
    size = entry.parameters.get(BINARY_DATA_SIZE)
    if isinstance(size, float):
        parameters = entry.parameters | {BINARY_DATA_SIZE: int(size)}
        return right(replace(entry, parameters=parameters))
    return right()


fault("absent-size-read-as-native", "S11", Behaviour.declared_size)(
    "An input with neither `data` nor a size takes shape × element size bytes of the blobs.",
    then(lambda size, entry: size_by_shape(entry) if size is None and not entry.has_data else size),
)


fault("size-zero-read-as-native", "S12", Behaviour.declared_size)(
    "An input with the size 0 and a non-empty shape is read as shape × element size bytes.",
    then(lambda size, entry: size_by_shape(entry) if size == 0 else size),
)
fault("unknown-input-parameter-hides-blob", "S14", Behaviour.slice_blob)(
    "If an input has a parameter other than its size, its blob is read as zeros.",
    then(
        lambda blob, entry, blobs, offset, size: (
            memoryview(bytes(size))
            if set(entry.parameters) - {BINARY_DATA_SIZE, BINARY_DATA_OUTPUT}
            else blob
        )
    ),
)
