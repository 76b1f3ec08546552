"""`inputs` of a case's request: each tensor's JSON, its true value, and the blob to send for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
)
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import BINARY_DATA_SIZE
from v2_conformance.suite.models import ModelContract, Sample, TensorSpec
from v2_conformance.suite.values.draws import Draw
from v2_conformance.suite.values.patterns import value_pattern
from v2_conformance.wire.case_data import (
    array,
    from_hex,
    integer,
    mapping,
    one_of,
    only_member,
    refuse,
    text,
    unexpected,
    write_json,
)
from v2_conformance.wire.encode.json_data import JsonData, json_data

IN_JSON = frozenset({"json", "nested", "both"})
"""The forms of inputs whose `data` the JSON has."""

_FORMS = ("binary", "json", "nested", "both", "neither")
_MEMBERS = (
    "tensor",
    "name",
    "datatype",
    "shape",
    "values",
    "form",
    "size",
    "blob",
    "parameters",
    "elements",
    "special",
)
_APART = 7
_FEW = 16  # dimensions
SAMPLE = "sample"
"""In place of a value pattern: what the model's samples have for the input."""
# More than any case needs. Beyond it a typo in a shape would only exhaust the memory.
_MOST_ELEMENTS = 1 << 28


class Described(msgspec.Struct, frozen=True):
    """The JSON of a tensor without its data, and its text if that is already known."""

    entry: Mapping[str, Any]
    text: bytes | None = None

    def write(self) -> bytes:
        """Return the text, as `write_json` writes it. Raises CaseFileError."""
        return write_json(self.entry) if self.text is None else self.text


class EncodedInput(msgspec.Struct, frozen=True):  # made faster than a frozen dataclass
    """One input of a request.

    `described` is its JSON without `data`, `tensor` its true value, `index` its place among the
    model's inputs, and `blob` what is sent for it in binary form, None in any other. `filled` says
    that a pattern fills the shape, so that the value is known to fit it. `data` is the last member
    of its JSON, None if it has none.
    """

    described: Described
    tensor: Tensor
    index: int
    blob: Buffer | None
    filled: bool
    data: JsonData | None = None

    @property
    def entry(self) -> Mapping[str, Any]:
        """Its JSON."""
        entry = self.described.entry
        return entry if self.data is None else {**entry, "data": self.data.values}


def input_entries(request: Mapping[str, Any]) -> Sequence[Any]:
    """Return the entries of `inputs`, with the short form for several tensors expanded.

    Raises CaseFileError.
    """
    inputs = request.get("inputs")
    if not isinstance(inputs, dict):
        return array(inputs, "`inputs`")
    short = mapping(inputs, "`inputs`", ("tensors", "each", "except"))
    tensors = array(short.get("tensors"), "`inputs.tensors`")
    each = mapping(short.get("each"), "`inputs.each`")
    changed = mapping(short.get("except", {}), "`inputs.except`", list(map(str, tensors)))
    return [
        {"tensor": tensor, **each, **mapping(changed.get(str(tensor), {}), "`inputs.except`")}
        for tensor in tensors
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
        except CaseFileError as error:
            raise CaseFileError(f"`inputs[{position}]`: {error}") from error
    return encoded


def encode_one(entry: Mapping[str, Any], model: ModelContract, spec: TensorSpec) -> EncodedInput:
    """Return the only tensor of a message, encoded as an input `spec` of `model`. Raises
    CaseFileError.
    """
    alone = ModelContract(**{**vars(model), "inputs": (spec,), "stands_in_for": None})
    (encoded,) = encode_inputs({"inputs": [entry]}, alone, (spec.name,))
    return encoded


def _encode(
    position: int, entry: object, model: ModelContract, names: Sequence[str], chosen: Values
) -> EncodedInput:
    given = mapping(entry, "the entry", _MEMBERS)
    index = integer(given.get("tensor", position), "`tensor`", least=0, most=len(model.inputs) - 1)
    true_datatype = model.inputs[index].datatype
    datatype = text(given.get("datatype", true_datatype), "`datatype`")
    shape = array(given.get("shape"), "`shape`")
    apart = chosen
    if model.stands_in_for and index:  # tensors of one datatype must differ, so that a mix-up shows
        apart = msgspec.structs.replace(chosen, skip=chosen.skip + _APART * index)
    tensor = Tensor(
        text(given.get("name", names[index]), "`name`"),
        datatype,
        tuple(shape),
        _sampled(given, model, index, chosen.skip)
        if given.get("values") == SAMPLE
        else _blob(given, true_datatype, shape, apart),
    )
    form = one_of(given.get("form", "binary"), "`form`", _FORMS)
    sent: Buffer | None = None
    if form not in ("binary", "both"):
        refuse(given, ("blob", "size"), f"an input in the form {form} has no blob")
    else:
        sent = from_hex(given["blob"], "`blob`") if "blob" in given else tensor.blob
    usual = "parameters" not in given and "size" not in given and len(shape) <= _FEW
    if usual and _is_shape(shape):
        described = _usual(tensor.name, tensor.shape, datatype, None if sent is None else len(sent))
    else:
        described = _described(given, tensor, shape, sent)
    data = None
    if form in IN_JSON:
        held = msgspec.structs.replace(tensor, datatype=true_datatype)  # what `values` are of
        data = _data(held, nested=form == "nested", shared=given.get("values") == SAMPLE)
    pattern_given = isinstance(given.get("values", ""), str) and "elements" not in given
    filled = pattern_given and datatype == true_datatype
    return EncodedInput(described, tensor, index, sent, filled, data)


def _described(
    given: Mapping[str, Any], tensor: Tensor, shape: Sequence[Any], sent: Buffer | None
) -> Described:
    entry: dict[str, Any] = {"name": tensor.name, "shape": shape, "datatype": tensor.datatype}
    parameters = dict(mapping(given.get("parameters", {}), "`parameters`"))
    if sent is not None:
        refuse(parameters, (BINARY_DATA_SIZE,), "`size` says what it is")
        size = declared_size(given["size"], len(sent)) if "size" in given else len(sent)
        parameters[BINARY_DATA_SIZE] = size
    if parameters or "parameters" in given:
        entry["parameters"] = parameters
    return Described(entry)


@lru_cache(maxsize=1024)
def _usual(name: str, shape: Shape, datatype: str, size: int | None) -> Described:
    """Return the parts that hundreds of cases of a run share."""
    entry: dict[str, Any] = {"name": name, "shape": list(shape), "datatype": datatype}
    if size is not None:
        entry["parameters"] = {BINARY_DATA_SIZE: size}
    return Described(entry, write_json(entry))


def _blob(given: Mapping[str, Any], datatype: str, shape: Sequence[Any], chosen: Values) -> bytes:
    """Return the tensor's true value."""
    values = given.get("values", "counting")
    if isinstance(values, list) and given.get("elements", len(values)) != len(values):
        raise unexpected("`elements`", f"the {len(values)} that `values` has", given["elements"])
    if isinstance(values, dict):
        refuse(given, ("elements",), "`values` has all elements")
    if isinstance(values, dict):
        return _begun(mapping(values, "`values`", ("hex", "then")), datatype, shape, chosen)
    if isinstance(values, list):
        try:
            return from_json(datatype, (len(values),), values)
        except ElementError as error:
            raise CaseFileError(f"`values`: {error}") from error
    name = text(values, "`values`")
    if "elements" in given:
        count = integer(given["elements"], "`elements`", least=0, most=_MOST_ELEMENTS)
        return chosen.of(name, datatype, count)
    if not _is_shape(shape) or (count := element_count(shape)) > _MOST_ELEMENTS:
        raise unexpected("`shape`", "a shape that can be filled, or else `elements`", shape)
    return chosen.of(name, datatype, count)


def _sampled(given: Mapping[str, Any], model: ModelContract, index: int, skip: int) -> bytes:
    """Return the model's sample of an input, special or ordinary, with its elements repeated to the
    requested number.
    """
    if "special" in given:
        chosen: Sample = model.special[given["special"]][index]
        return chosen.blob
    blob = model.samples[skip % len(model.samples)][index].blob
    if "elements" not in given:
        return blob
    count = integer(given["elements"], "`elements`", least=0, most=_MOST_ELEMENTS)
    if not blob:
        raise CaseFileError("`elements`: the sample has no elements to repeat")
    size = DATATYPES[model.inputs[index].datatype].size
    if size is None:
        elements = decode_bytes(blob)
        return encode_bytes([elements[i % len(elements)] for i in range(count)])
    return (blob * (count * size // len(blob) + 1))[: count * size]


def _begun(values: Mapping[str, Any], datatype: str, shape: Sequence[Any], chosen: Values) -> bytes:
    """Return the elements in `hex`, with those of the pattern `then` for the missing ones."""
    start = from_hex(values.get("hex"), "`values.hex`")
    if "then" not in values:
        return start
    if not _is_shape(shape):
        raise unexpected("`shape`", "a shape that can be filled", shape)
    name = text(values["then"], "`values.then`")
    rest = chosen.of(name, datatype, element_count(shape))
    if DATATYPES[datatype].size is not None:
        return start + rest[len(start) :]
    try:
        first = decode_bytes(start)
    except ElementError as error:
        raise CaseFileError(f"`values.hex`: {error}") from error
    return start + encode_bytes(decode_bytes(rest)[len(first) :])


def _is_shape(shape: Sequence[Any]) -> bool:
    for dimension in shape:  # noqa: SIM110
        if type(dimension) is not int or dimension < 0:
            return False
    return True


def declared_size(given: object, true: int) -> Any:
    """Return the binary_data_size to declare for a blob of `true` bytes, tampered with as given."""
    kind, value = only_member(given, "`size`", ("add", "times", "value"))
    if kind == "value":
        return value
    number = integer(value, f"`size.{kind}`")
    return true * number if kind == "times" else true + number


def _data(tensor: Tensor, *, nested: bool, shared: bool) -> JsonData:
    """Return `data` of the tensor's JSON. A `shared` tensor, which may be long, is used by many
    cases.
    """
    try:
        if nested:
            check_tensor(tensor)
        _check_datatype(tensor)
        return json_data(tensor.datatype, tensor.shape, tensor.blob, nested=nested, shared=shared)
    except ElementError as error:
        raise CaseFileError(f"it has no JSON form: {error}") from error


def declared_part(tensor: Tensor) -> Tensor | None:
    """Return a tensor with as many of its first elements as its shape has, which is what a message
    that contradicts itself declares of it; None if there are fewer, or if it is no tensor.
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
    _check_datatype(tensor)
    if not _is_shape(tensor.shape):
        raise unexpected("`shape`", "a list of sizes", list(tensor.shape))
    check_blob(tensor.datatype, tensor.shape, tensor.blob)


def _check_datatype(tensor: Tensor) -> None:
    if tensor.datatype not in DATATYPES:
        raise unexpected("`datatype`", "one that the protocol has", tensor.datatype)
