"""Faults of shapes, datatypes and inputs that are not the model's (J)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from msgspec import structs

from v2_conformance.protocol.datatypes import DATATYPES, Shape, element_count
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import BINARY_DATA_SIZE
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Blobs
from v2_conformance.reference.request_reader import JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.shared import Inputs, resize
from v2_mutants.registry import Right, What, fault

# --- J5: shapes


def _reads_input(repair: Callable[[JsonObject], JsonObject]) -> What[RequestInput]:
    """A server that reads `repair(entry)` instead of an entry of `inputs`."""
    return lambda right, specs, item: right(item=repair(item) if isinstance(item, dict) else item)


def _numbers(item: JsonObject) -> list[Any]:
    """The entry's JSON data if it is a flat array."""
    data = item.get("data")
    return data if isinstance(data, list) else []


def _sizes(item: JsonObject) -> list[int]:
    """The entry's shape if it is one of integers."""
    shape = item.get("shape")
    fits = isinstance(shape, list) and all(type(size) is int for size in shape)
    return shape if isinstance(shape, list) and fits else []


def _inferred(dimension: int) -> Callable[[JsonObject], JsonObject]:
    def repair(item: JsonObject) -> JsonObject:
        unknown = item.get("shape") == [dimension] and "data" in item
        return {**item, "shape": [len(_numbers(item))]} if unknown else item

    return repair


def _absolute(item: JsonObject) -> JsonObject:
    sizes = _sizes(item)
    return {**item, "shape": [-sizes[0]]} if len(sizes) == 1 and sizes[0] < -1 else item


def _modulo(bits: int, longer: int) -> Callable[[JsonObject], JsonObject]:
    def repair(item: JsonObject) -> JsonObject:
        sizes = _sizes(item)
        applies = len(sizes) == 1 and 1 << bits < sizes[0] < 1 << longer and "data" in item
        return {**item, "shape": [sizes[0] % (1 << bits)]} if applies else item

    return repair


def _both_negative(form: str) -> Callable[[JsonObject], JsonObject]:
    def repair(item: JsonObject) -> JsonObject:
        sizes = _sizes(item)
        applies = len(sizes) == 2 and max(sizes) < 0 and (form == "json") == ("data" in item)
        return {**item, "shape": [-size for size in sizes]} if applies else item

    return repair


def _product_wraps(item: JsonObject) -> JsonObject:
    sizes = _sizes(item)
    applies = len(sizes) == 2 and element_count(sizes) % (1 << 64) == len(_numbers(item)) > 0
    return {**item, "shape": [len(_numbers(item)), 1]} if applies and max(sizes) > 1 << 32 else item


def _scalar(item: JsonObject) -> JsonObject:
    return {"shape": [1], **item, "data": _numbers(item)[:1]} if "shape" not in item else item


def _by_size(item: JsonObject) -> int | None:
    """Return the number of elements of an input of INT32 by the size of its blob."""
    size = (item.get("parameters") or {}).get("binary_data_size")
    return size // 4 if type(size) is int and item.get("datatype") == "INT32" else None


def _inferred_from_size(item: JsonObject) -> JsonObject:
    count = _by_size(item) if item.get("shape") == [-1] else None
    return item if count is None else {**item, "shape": [count]}


def _flipped_by_size(item: JsonObject) -> JsonObject:
    count = _by_size(item) if _sizes(item) == [-(_by_size(item) or 0)] else None
    return item if count is None else {**item, "shape": [count]}


def _size_wraps(item: JsonObject) -> JsonObject:
    sizes = _sizes(item)
    empty = len(sizes) == 1 and sizes[0] > 0 and sizes[0] * 4 % (1 << 64) == 0
    has_data = "data" in item or "parameters" in item
    return {**item, "shape": [0], "data": []} if empty and not has_data else item


for _name, _text, _repair in (
    ("minus-one-inferred", "The dimension -1 is found out from the data.", _inferred(-1)),
    ("negative-dimension-absolute", "A negative dimension is taken as positive.", _absolute),
    ("dimension-modulo-32-bits", "A dimension is cut to 32 bits.", _modulo(32, 34)),
    ("dimension-modulo-64-bits", "A dimension is cut to 64 bits.", _modulo(64, 70)),
    ("negative-pair-in-json", "Two negative dimensions cancel out.", _both_negative("json")),
    ("negative-pair-in-binary", "Two negative dimensions of a blob do.", _both_negative("binary")),
    ("product-modulo-64-bits", "The product of dimensions is cut to 64 bits.", _product_wraps),
    ("no-shape-is-a-scalar", "Without a shape, only the first element counts.", _scalar),
    ("minus-one-inferred-from-size", "The dimension -1 is found out from the size of the blob.",
     _inferred_from_size),
    ("minus-count-of-a-blob-absolute", "A negative dimension of a blob is taken as positive.",
     _flipped_by_size),
    ("own-size-modulo-64-bits", "Without data, a size of 2^64 is 0.", _size_wraps),
):  # fmt: skip
    fault(_name, "J5", Behavior.request_input)(_text, _reads_input(_repair))


@fault.several("blob-without-a-shape-is-zeros", "J5")
class _BlobWithoutAShape(Behavior):
    """A blob of INT32 without a shape has as many elements as its size, all of them 0."""

    def request_input(self, specs: dict[str, TensorSpec], item: object) -> RequestInput:
        count = _by_size(item) if isinstance(item, dict) and "shape" not in item else None
        if not isinstance(item, dict) or count is None:
            return super().request_input(specs, item)
        entry = super().request_input(specs, {**item, "shape": [count]})
        return replace(entry, parameters=entry.parameters | {"made up": True})

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        blob = super().slice_blob(entry, blobs, offset, size)
        return memoryview(bytes(len(blob))) if "made up" in entry.parameters else blob


fault("zero-shape-inferred", "J1", Behavior.request_input)(
    "The dimension 0 is found out from the data.", _reads_input(_inferred(0))
)


# --- J6: inputs


def _zeros(spec: TensorSpec) -> RequestInput:
    shape = tuple(2 if dim == -1 else dim for dim in spec.dims)
    zero = False if spec.datatype == "BOOL" else 0
    return RequestInput(spec, shape, {}, True, [zero] * element_count(shape))


def _names(document: JsonObject) -> list[Any]:
    listed = document.get("inputs")
    entries = listed if isinstance(listed, list) else []
    return [entry.get("name") if isinstance(entry, dict) else None for entry in entries]


def _fills(datatype: str, *, repeated: bool) -> What[Inputs]:
    """A server that has zeros for a missing input, if another one is `repeated` or none is."""

    def what(right: Right[Inputs], model: ModelContract, document: JsonObject) -> Inputs:
        names = _names(document)
        missing = [spec for spec in model.inputs if spec.name not in names]
        concerned = [spec.datatype for spec in missing] == [datatype] and names
        if not concerned or (len(set(names)) < len(names)) != repeated:
            return right()
        specs = {spec.name: spec for spec in model.inputs}
        entries = [right.server.request_input(specs, item) for item in document["inputs"]]
        unique = {entry.spec.name: entry for entry in entries}
        return [*unique.values(), *map(_zeros, missing)]

    return what


for _name, _text, _what in (
    ("missing-uint32-is-zeros", "A missing UINT32 input is zeros.",
     _fills("UINT32", repeated=False)),
    ("missing-bool-is-zeros", "A missing BOOL input is zeros.", _fills("BOOL", repeated=False)),
):  # fmt: skip
    fault(_name, "J6", Behavior.request_inputs)(_text, _what)


@fault("last-of-two-inputs-counts", "J6", Behavior.request_inputs)
def _(right: Right[Inputs], model: ModelContract, document: JsonObject) -> Inputs:
    """Of two JSON inputs with one name, the last counts."""
    names = _names(document)
    listed = document.get("inputs")
    complete = {spec.name for spec in model.inputs} == set(names)
    if not complete or not isinstance(listed, list) or len(set(names)) == len(names):
        return right()
    last = dict(zip(names, listed, strict=True))
    repeated = next(name for name in names if names.count(name) > 1)
    return right(
        document={**document, "inputs": [*last.values()]} if "data" in last[repeated] else document
    )


@fault("unknown-input-ignored", "J6", Behavior.request_inputs)
def _(right: Right[Inputs], model: ModelContract, document: JsonObject) -> Inputs:
    """An input that the model does not have is ignored."""
    names = [spec.name for spec in model.inputs]
    listed = document.get("inputs")
    if isinstance(listed, list) and set(names) < set(map(str, _names(document))):
        known = [item for item in listed if item.get("name") in names]
        document = {**document, "inputs": known}
    return right(document=document)


@fault.several("int16-read-as-another-datatype", "J6")
class _Int16ReadAsAnother(Behavior):
    """A blob declared as INT16 is read in the datatype of the model."""

    def request_input(self, specs: dict[str, TensorSpec], item: object) -> RequestInput:
        spec = specs.get(item.get("name", "")) if isinstance(item, dict) else None
        if not isinstance(item, dict) or spec is None or item.get("datatype") != "INT16":
            return super().request_input(specs, item)
        if spec.datatype == "INT16":
            return super().request_input(specs, item)
        size = (DATATYPES[spec.datatype].size or 1) * element_count(item["shape"])
        parameters = {BINARY_DATA_SIZE: size}
        item = {**item, "datatype": spec.datatype, "parameters": parameters}
        return super().request_input(specs, item)

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        if set(entry.parameters) == {BINARY_DATA_SIZE} and len(blobs.view) < size:
            return memoryview(resize(blobs.view, size))
        return super().slice_blob(entry, blobs, offset, size)

    def check_all_read(self, blobs: Blobs, offset: int) -> None:
        return None


@fault("later-integers-wrap-around", "J1", Behavior.request_inputs)
def _(right: Right[Inputs], model: ModelContract, document: JsonObject) -> Inputs:
    """A JSON integer beyond UINT32 wraps around unless it is in the first input."""
    first, *later = right()
    for place, entry in enumerate(later):
        if entry.spec.datatype == "UINT32" and isinstance(entry.data, list):
            wrapped = [item % 2**32 if type(item) is int else item for item in entry.data]
            later[place] = replace(entry, data=wrapped)
    return [first, *later]


@fault("later-datatypes-unchecked", "J6", Behavior.request_inputs)
def _(right: Right[Inputs], model: ModelContract, document: JsonObject) -> Inputs:
    """The datatype of an input that is not the first is not looked at."""
    listed = document.get("inputs")
    own = {spec.name: spec.datatype for spec in model.inputs}
    if isinstance(listed, list) and all(isinstance(item, dict) for item in listed):
        later = [item | {"datatype": own.get(item.get("name"))} for item in listed[1:]]
        document = {**document, "inputs": [*listed[:1], *later]}
    return right(document=document)


class _AnySize(Behavior):
    """A server that takes a vector of any length for one of fixed length."""

    def input_shape(self, spec: TensorSpec, shape: object) -> Shape:
        if len(spec.dims) == 1 and spec.dims[0] > 1 and isinstance(shape, list) and len(shape) == 1:
            return super().input_shape(replace(spec, dims=(-1,)), shape)
        return super().input_shape(spec, shape)


@fault.several("long-tensors-cut", "J6")
class _LongTensorsCut(_AnySize):
    """A blob with more elements than the model's fixed shape is cut off."""

    def request_input(self, specs: dict[str, TensorSpec], item: object) -> RequestInput:
        entry = super().request_input(specs, item)
        given, fixed = entry.shape[0] if entry.shape else 1, entry.spec.dims[0]
        if fixed > 1 and given != fixed and (entry.has_data or given < fixed):
            Behavior.input_shape(self, entry.spec, list(entry.shape))
        return entry

    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        made = super().output_tensor(output, tensor)
        if output.dims[0] < 2 or len(output.dims) > 1:
            return made
        size = len(made.blob) // max(element_count(made.shape), 1) * element_count(output.dims)
        return structs.replace(made, shape=output.dims, blob=resize(made.blob, size))


@fault.several("fixed-dimensions-unchecked", "J6")
class _FixedDimensionsUnchecked(_AnySize):
    """A model with a fixed shape takes a JSON input of any other."""

    def request_input(self, specs: dict[str, TensorSpec], item: object) -> RequestInput:
        entry = super().request_input(specs, item)
        if not entry.has_data:
            Behavior.input_shape(self, entry.spec, list(entry.shape))
        return entry


def _converts(member: str, given: object, to: object) -> What[RequestInput]:
    """A server that reads `to` for a member of an input that is exactly what is `given`."""

    def what(
        right: Right[RequestInput], specs: dict[str, TensorSpec], item: object
    ) -> RequestInput:
        if isinstance(item, dict) and repr(item.get(member)) == repr(given):
            item = {**item, member: to}
        return right(item=item)

    return what


for _name, _text, _given, _to in (
    ("fraction-cut", "The shape [4.5] is read as [4].", [4.5], [4]),
    ("true-is-one", "The shape [true] is read as [1].", [True], [1]),
    ("digits-read", 'The shape ["4"] is read as [4].', ["4"], [4]),
    ("null-dropped", "The shape [4, null] is read as [4].", [4, None], [4]),
    ("number-read", "The shape 4 is read as [4].", 4, [4]),
    ("text-read", 'The shape "4" is read as [4].', "4", [4]),
):
    fault(f"shape-{_name}", "J5", Behavior.request_input)(_text, _converts("shape", _given, _to))

for _name, _text, _datatype in (
    ("left-out", "An input without a datatype has that of the model.", None),
    ("in-lower-case", "The datatype int32 is read as INT32.", "int32"),
):
    fault(f"datatype-{_name}", "J6", Behavior.request_input)(
        _text, _converts("datatype", _datatype, "INT32")
    )

fault("the-only-input-twice", "J6", Behavior.request_inputs)(
    "If the only input of a model is listed twice, the last one counts.",
    lambda right, model, document: right(
        document={**document, "inputs": document["inputs"][-1:]}
        if len(model.inputs) == 1 and len(document["inputs"]) == 2
        else document
    ),
)
