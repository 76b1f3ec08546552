"""`inputs` of a case's request: each tensor's JSON, its true value, and the blob to send for it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import (
    DATATYPES,
    Buffer,
    ElementError,
    Shape,
    blob_size,
    check_blob,
    decode_bytes,
    element_count,
    encode_bytes,
    from_json,
    to_json,
)
from v2_conformance.protocol.message import Tensor, dump_json
from v2_conformance.protocol.names import BINARY_DATA_SIZE
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.models import ModelContract, TensorSpec, contract, stand_ins
from v2_conformance.suite.requirements import catalogue
from v2_conformance.suite.values.draws import Draw
from v2_conformance.suite.values.patterns import value_pattern
from v2_conformance.suite.values.samples import repeated
from v2_conformance.wire.encode import from_hex

IN_JSON = frozenset({"json", "nested", "both"})
"""The forms of inputs whose `data` the JSON has."""

_APART = 7
SAMPLE = "sample"
"""In place of a value pattern: what the model's samples have for the input."""
# More than any case needs. Beyond it a typo in a shape would only exhaust the memory.
_MOST_ELEMENTS = 1 << 28
_SHORT = 4096  # bytes of a blob


class EncodedInput(msgspec.Struct, frozen=True):  # made faster than a frozen dataclass
    """One input of a request.

    `head` is its JSON without `data`, `tensor` its true value, `index` its place among the
    model's inputs, and `blob` what is sent for it in binary form, None in any other. `filled` says
    that a pattern fills the shape, so that the value is known to fit it. `data` is the text of the
    last member of its JSON, None if it has none.
    """

    head: Mapping[str, Any]
    tensor: Tensor
    index: int
    blob: Buffer | None
    filled: bool
    data: bytes | None = None

    @property
    def entry(self) -> Mapping[str, Any]:
        """Its JSON."""
        return self.head if self.data is None else {**self.head, "data": json.loads(self.data)}


def input_entries(request: Mapping[str, Any]) -> Sequence[Any]:
    """Return the entries of `inputs`, with the short form for several tensors expanded. Raises
    CaseFileError.
    """
    inputs = request["inputs"]
    if isinstance(inputs, list):
        return inputs
    changed = inputs.get("except", {})
    if not changed.keys() <= set(map(str, inputs["tensors"])):
        raise CaseFileError("`inputs.except`: it changes an input that is not in `tensors`")
    return [
        {"tensor": tensor, **inputs["each"], **changed.get(str(tensor), {})}
        for tensor in inputs["tensors"]
    ]


class Values(msgspec.Struct, frozen=True):
    """Which values a request has where its case names a pattern: from `skip` elements on, with what
    the run drew, None for what is written."""

    skip: int = 0
    draw: Draw | None = None

    def of(self, name: str, datatype: str, count: int) -> bytes:
        """Return a tensor of the pattern `name`. Raises CaseFileError."""
        return value_pattern(name, datatype, count, skip=self.skip, draw=self.draw)


AS_WRITTEN = Values()


def encode_inputs(
    request: Mapping[str, Any],
    model: ModelContract,
    names: Sequence[str],
    chosen: Values = AS_WRITTEN,
) -> list[EncodedInput]:
    """Return every input of a request to a model whose inputs the target calls `names`.

    Value patterns have the `chosen` values. Raises CaseFileError.
    """
    encoded = []
    for position, entry in enumerate(input_entries(request)):
        try:
            encoded.append(_encode(position, entry, model, names, chosen))
        except (CaseFileError, ElementError) as error:
            raise CaseFileError(f"`inputs[{position}]`: {error}") from error
    return encoded


def encode_one(entry: Mapping[str, Any], model: ModelContract, spec: TensorSpec) -> EncodedInput:
    """Return the only tensor of a message, encoded as an input `spec` of `model`. Raises
    CaseFileError.
    """
    alone = ModelContract(**{**vars(model), "inputs": (spec,)})
    (encoded,) = encode_inputs({"inputs": [entry]}, alone, (spec.name,))
    return encoded


def _encode(
    position: int,
    given: Mapping[str, Any],
    model: ModelContract,
    names: Sequence[str],
    chosen: Values,
) -> EncodedInput:
    index = given.get("tensor", position)
    if not 0 <= index < len(model.inputs):
        raise CaseFileError(f"`tensor`: the model has no input {index}")
    true_datatype = model.inputs[index].datatype
    datatype, shape = given.get("datatype", true_datatype), given["shape"]
    sampled = given.get("values") == SAMPLE
    if sampled:
        blob = _sampled(given, model, index, chosen.skip)
    else:
        # Tensors of one datatype must differ, to show a mix-up.
        alike = sum(spec.datatype == true_datatype for spec in model.inputs[:index])
        apart = msgspec.structs.replace(chosen, skip=chosen.skip + _APART * alike)
        blob = _blob(given, true_datatype, shape, apart)
    tensor = Tensor(given.get("name", names[index]), datatype, tuple(shape), blob)
    form = given.get("form", "binary")
    sent: Buffer | None = None
    if form in ("binary", "both"):
        sent = from_hex(given["blob"]) if "blob" in given else blob
    parameters = dict(given.get("parameters", {}))
    if sent is not None:
        parameters[BINARY_DATA_SIZE] = declared_size(given.get("size", {"add": 0}), len(sent))
    head: dict[str, Any] = {"name": tensor.name, "shape": shape, "datatype": datatype}
    if parameters or "parameters" in given:
        head["parameters"] = parameters
    data = None
    if form in IN_JSON:
        nested = form == "nested" and bool(tensor.shape)  # `data` is an array, of a scalar, too
        if nested:
            check_tensor(Tensor(tensor.name, true_datatype, tensor.shape, blob))
        data = json_data(true_datatype, tensor.shape, blob, nested=nested, shared=sampled)
    pattern_given = isinstance(given.get("values", ""), str) and "elements" not in given
    filled = pattern_given and datatype == true_datatype
    return EncodedInput(head, tensor, index, sent, filled, data)


def _blob(given: Mapping[str, Any], datatype: str, shape: Sequence[Any], chosen: Values) -> bytes:
    values = given.get("values", "counting")
    if isinstance(values, list):
        if given.get("elements", len(values)) != len(values):
            raise CaseFileError(f"`elements`: `values` has {len(values)}")
        return from_json(datatype, (len(values),), values)
    if isinstance(values, dict) and "then" not in values:
        return from_hex(values["hex"])
    count = given["elements"] if "elements" in given else _filled(shape)
    if isinstance(values, str):
        return chosen.of(values, datatype, count)
    start, rest = from_hex(values["hex"]), chosen.of(values["then"], datatype, count)
    if DATATYPES[datatype].size is not None:
        return start + rest[len(start) :]
    return start + encode_bytes(decode_bytes(rest)[len(decode_bytes(start)) :])


def _filled(shape: Sequence[Any]) -> int:
    if not _is_shape(shape) or (count := element_count(shape)) > _MOST_ELEMENTS:
        raise CaseFileError("`shape`: it cannot be filled; give `elements`")
    return count


def _sampled(given: Mapping[str, Any], model: ModelContract, index: int, skip: int) -> bytes:
    """Return the model's sample of an input, special or ordinary, with its elements repeated to the
    requested number.
    """
    sets, number = model.samples, skip % len(model.samples)
    if "special" in given:
        sets, number = model.special, given["special"]
    sample = sets[number][index]
    if "elements" not in given:
        return sample.blob
    return repeated(sample, model.inputs[index].datatype, given["elements"])


def _is_shape(shape: Sequence[Any]) -> bool:
    for dimension in shape:  # noqa: SIM110
        if type(dimension) is not int or dimension < 0:
            return False
    return True


def json_data(
    datatype: str, shape: Shape, blob: Buffer, *, nested: bool = False, shared: bool = False
) -> bytes:
    """Return the data of a tensor as compact JSON, nested by `shape` if requested. Raises
    ElementError for what JSON cannot express.

    Hundreds of cases send the same few short tensors, and those about an arbitrary model its long
    sample. So short data is cached, and the last few that are `shared`.
    """
    shape = shape if nested else ()  # so that tensors of other shapes share it
    write = _short_data if len(blob) <= _SHORT else _shared_data if shared else _data
    return write(datatype, shape, bytes(blob), nested=nested)


def _data(datatype: str, shape: Shape, blob: bytes, *, nested: bool) -> bytes:
    values = to_json(datatype, shape, blob, nested=nested)
    # msgspec is faster, but no two JSON libraries agree on floats.
    write = dump_json if DATATYPES[datatype].kind == "float" else msgspec.json.encode
    return write(values)


_short_data = lru_cache(maxsize=256)(_data)
_shared_data = lru_cache(maxsize=4)(_data)


def declared_size(given: Mapping[str, Any], true: int) -> Any:
    """Return the binary_data_size to declare for a blob of `true` bytes, tampered with as given."""
    ((kind, value),) = given.items()
    if kind == "value":
        return value
    return true * value if kind == "times" else true + value


def declared_part(tensor: Tensor) -> Tensor | None:
    """Return a tensor with as many of its first elements as its shape has, which is what a message
    that contradicts itself declares of it; None if there are fewer, or if it is not a tensor.
    """
    if tensor.datatype not in DATATYPES or not _is_shape(tensor.shape):
        return None
    count, size = element_count(tensor.shape), blob_size(tensor.datatype, tensor.shape)
    if size is not None:
        blob = tensor.blob[:size] if len(tensor.blob) >= size else None
    else:
        try:
            elements = decode_bytes(tensor.blob)
        except ElementError:
            return None
        blob = encode_bytes(elements[:count]) if len(elements) >= count else None
    return None if blob is None else msgspec.structs.replace(tensor, blob=blob)


def check_tensor(tensor: Tensor) -> None:
    """Raise CaseFileError or ElementError unless the tensor's value is one of its shape."""
    if tensor.datatype not in DATATYPES or not _is_shape(tensor.shape):
        raise CaseFileError(f"{tensor.name} is not a tensor: its datatype or shape is impossible")
    check_blob(tensor.datatype, tensor.shape, tensor.blob)


# Patterns whose values differ from tensor to tensor; others become the usual one.
_ANY_DATATYPE = frozenset({"counting", "counting_in_json"})
# Members that depend on a tensor's datatype: such a case is about it.
_OF_A_DATATYPE = frozenset({"blob", "datatype"})


def stood_in(case: Case, unsupported: Collection[str]) -> Case:
    """Return `case` as a server without the datatypes `unsupported` gets it, unchanged if nothing
    moves.

    The case keeps its id. A case that gives elements or bytes of its own is about a datatype, and
    so is one of a requirement that is; these are not sent.
    """
    if not isinstance(case, RequestCase) or case.datatypes.isdisjoint(unsupported):
        return case
    if catalogue()[case.requirement].datatypes:
        return case
    try:
        moved = _moved(case, unsupported)
        first = None if case.first is None else _moved(case.first, unsupported)
        members = tuple(_moved(member, unsupported) for member in case.members)
    except CaseFileError:
        return case
    return replace(moved, first=first, members=members)


def _moved(case: RequestCase, unsupported: Collection[str]) -> RequestCase:
    """Return one request of a case, sent to a model that the server can have. Raises CaseFileError
    if there is none.
    """
    if contract()[case.model].datatypes.isdisjoint(unsupported):
        return case
    role = stand_ins().get(case.model)
    if role is None:
        raise CaseFileError(f"{case.id}: no model stands in for {case.model}")
    raw = bool(case.request.get("raw"))
    entries = [_entry(entry, raw=raw) for entry in input_entries(case.request)]
    return replace(case, model=role, request={**case.request, "inputs": entries})


def _entry(entry: Mapping[str, Any], *, raw: bool) -> Mapping[str, Any]:
    values, size = entry.get("values", "counting"), entry.get("size", {})
    if raw:  # it names no tensor
        return entry
    if not _OF_A_DATATYPE.isdisjoint(entry) or not isinstance(values, str) or "value" in size:
        raise CaseFileError("the tensor has elements or bytes of its own datatype")
    if values in _ANY_DATATYPE:
        return entry
    return {member: value for member, value in entry.items() if member != "values"}
