"""Faults of `binary_data_size` itself: absent, beside `data`, no usable number (S)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from v2_conformance.protocol.datatypes import Shape, element_count
from v2_conformance.protocol.names import BINARY_DATA_OUTPUT, BINARY_DATA_SIZE, SERVER_PROFILES
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Blobs
from v2_conformance.reference.request_reader import JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.shared.blobs import (
    MAX_MADE_UP,
    Blob,
    PrefersData,
    Tensors,
    is_bytes,
    size_by_shape,
)
from v2_mutants.registry import Right, fault, then


@fault.several("bytes-size-kept-by-shape", "S1")
class _BytesSizeKeptByShape(Behaviour):
    """The size of a BYTES input is taken from the first request with the same shape."""

    def __init__(self, profiles: Collection[str] = SERVER_PROFILES) -> None:
        super().__init__(profiles)
        self.kept: dict[Shape, int] = {}

    def declared_size(self, entry: RequestInput) -> int | None:
        size = super().declared_size(entry)
        if size is None or not is_bytes(entry):
            return size
        return self.kept.setdefault(entry.shape, size)


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


fault.several(
    "data-preferred-blob-skipped",
    "S5",
    "If an input has both `data` and a size, `data` is used and the blob is skipped.",
)(PrefersData)


@fault("data-and-size-of-only-input-accepted", "S5", Behaviour.read_inputs)
def _(right: Right[Tensors], model: ModelContract, document: JsonObject, blobs: Blobs) -> Tensors:
    """If the only input has both `data` and a size, its size and its blob are ignored."""
    entries = right.server.request_inputs(model, document)
    if len(entries) == 1 and entries[0].has_data and (BINARY_DATA_SIZE in entries[0].parameters):
        (listed,) = document["inputs"]
        document = document | {"inputs": [listed | {"parameters": {}}]}
        blobs = replace(blobs, view=blobs.view[:0])
    return right(document=document, blobs=blobs)


@fault("negative-size-as-native", "S6", Behaviour.negative_size)
def _(right: Right[int], entry: RequestInput, size: int) -> int:
    """A negative size is replaced by shape × element size."""
    native = size_by_shape(entry)
    return right() if native is None else native


@fault.several("negative-bytes-size-takes-the-rest", "S6")
class _NegativeBytesSizeTakesTheRest(Behaviour):
    """A BYTES input with a negative size takes all remaining bytes."""

    def negative_size(self, entry: RequestInput, size: int) -> int:
        return size if is_bytes(entry) else super().negative_size(entry, size)

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        return blobs.view[offset:] if size < 0 else super().slice_blob(entry, blobs, offset, size)

    def check_all_read(self, blobs: Blobs, offset: int) -> None:
        if offset >= 0:
            super().check_all_read(blobs, offset)


fault("size-wraps-at-32-bits", "S7", Behaviour.declared_size)(
    "Only the low 32 bits of a size are used.",
    then(lambda size, entry: None if size is None else size % 2**32),
)
fault("size-wraps-at-64-bits", "S7", Behaviour.declared_size)(
    "Only the low 64 bits of a size are used.",
    then(lambda size, entry: None if size is None else size % 2**64),
)
fault("bytes-size-wraps-at-32-bits", "S7", Behaviour.declared_size)(
    "Only the low 32 bits of the size of a BYTES input are used.",
    then(lambda size, entry: size if size is None or not is_bytes(entry) else size % 2**32),
)
fault("mistyped-size-as-native", "S9", Behaviour.declared_size)(
    "A size that is not a number is replaced by shape × element size.",
    lambda right, entry: (
        right()
        if type(entry.parameters.get(BINARY_DATA_SIZE, 0)) in (int, float)
        else size_by_shape(entry)
    ),
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


@fault("absent-data-read-as-zeros", "S11", Behaviour.input_blob)
def _(right: Right[Blob], entry: RequestInput, blobs: Blobs, offset: int) -> Blob:
    """An input with neither `data` nor a size is read as zeros."""
    if entry.has_data or BINARY_DATA_SIZE in entry.parameters:
        return right()
    native = size_by_shape(entry)
    size = 4 * element_count(entry.shape) if native is None else native
    return bytes(min(size, MAX_MADE_UP)), offset


fault("absent-size-read-as-native", "S11", Behaviour.declared_size)(
    "An input with neither `data` nor a size takes shape × element size bytes of the blobs.",
    then(lambda size, entry: size_by_shape(entry) if size is None and not entry.has_data else size),
)


@fault("size-zero-read-as-zeros", "S12", Behaviour.input_blob)
def _(right: Right[Blob], entry: RequestInput, blobs: Blobs, offset: int) -> Blob:
    """An input with the size 0 and a non-empty shape is read as zeros."""
    native = size_by_shape(entry)
    if native and native <= MAX_MADE_UP and (right.server.declared_size(entry) == 0):
        return bytes(native), offset
    return right()


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
