"""The request side: from the bytes of a body to the tensors and outputs that the client meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from v2_conformance.protocol.datatypes import (
    DATATYPES,
    Buffer,
    ElementError,
    Shape,
    blob_size,
    check_blob,
    element_count,
    encode_bytes,
    from_json,
)
from v2_conformance.protocol.message import HEADER_LENGTH, Tensor, parse_json
from v2_conformance.reference.exchange import Blobs, Rejected, Request
from v2_conformance.suite.models import ModelContract, TensorSpec

LENGTH_NAME = HEADER_LENGTH.lower()
SIZE = "binary_data_size"
INT64_MAX = 2**63 - 1

_DIGITS = re.compile("[0-9]+")


@dataclass(frozen=True)
class Entry:
    """One member of the request's `inputs`, checked against the model.

    `data` counts only where `has_data`: a member `data` of null is there, but None.
    """

    spec: TensorSpec
    shape: Shape
    parameters: dict[str, Any]
    has_data: bool
    data: object


@dataclass(frozen=True)
class Wanted:
    """An output that the response carries, in binary or JSON form."""

    name: str
    binary: bool


@dataclass(frozen=True)
class Call:
    """A request as understood: the inputs by name, the outputs in response order."""

    inputs: dict[str, Tensor]
    wanted: tuple[Wanted, ...]
    id: str | None = None


class Reading:
    """Reads requests; every method is one decision, so that a fault can replace exactly that one.

    All of them raise Rejected, MessageError or ElementError for what they refuse.
    """

    # --- the header length -------------------------------------------------------------------

    def header_length(self, request: Request) -> int | None:
        """The header length that the client sent, None if none."""
        values = self.length_values(request)
        if not values:
            return None
        if len(set(values)) > 1:
            return self.resolve_conflict(values)
        return self.parse_length(values[0])

    def length_values(self, request: Request) -> list[str]:
        """Every value of the header, whatever the case of its name (H2), trimmed (H13)."""
        return request.values(LENGTH_NAME)

    def resolve_conflict(self, values: Sequence[str]) -> int:
        """What several different values mean: nothing (H12)."""
        raise Rejected(f"{HEADER_LENGTH} has conflicting values: {', '.join(values)}")

    def parse_length(self, text: str) -> int:
        """The number that a value stands for: ASCII digits and nothing else (H4, H6, H8)."""
        if not _DIGITS.fullmatch(text):
            raise Rejected(f"{HEADER_LENGTH} is {text!a}, not a number of bytes")
        digits = text.lstrip("0") or "0"
        if len(digits) > 19 or int(digits) > INT64_MAX:
            return self.oversized_length(digits)
        return int(digits)

    def oversized_length(self, digits: str) -> int:
        """What a number beyond int64 means: no body is that long (H7)."""
        raise Rejected(f"{HEADER_LENGTH} {digits[:40]} is longer than any body")

    # --- the body ----------------------------------------------------------------------------

    def split(self, request: Request, length: int | None) -> tuple[memoryview, Blobs]:
        """The body's JSON and what follows it (P2). Without a header length all of it is JSON."""
        body = request.body
        end = len(body) if length is None else self.json_end(body, length)
        return body[:end], Blobs(
            body[end:],
            tuple(cut - end for cut in request.chunk_cuts if cut > end),
            tuple(cut - end for cut in request.segment_cuts if cut > end),
        )

    def json_end(self, body: memoryview, length: int) -> int:
        """Where the JSON ends: after `length` bytes (P10), which have to be there (H5)."""
        if length > len(body):
            raise Rejected(f"{HEADER_LENGTH} is {length}, but the body has {len(body)} bytes")
        return length

    def parse_document(self, text: memoryview) -> dict[str, Any]:
        """The JSON object, parsed strictly; white space around it counts as JSON (P11)."""
        return parse_json(text)

    def read_call(self, model: ModelContract, request: Request, length: int | None) -> Call:
        """A request whose body is JSON, or JSON and blobs."""
        text, blobs = self.split(request, length)
        document = self.parse_document(text)
        identifier = document.get("id")
        if identifier is not None and not isinstance(identifier, str):
            raise Rejected("`id` is not a string")
        if identifier is not None and any("\ud800" <= char <= "\udfff" for char in identifier):
            raise Rejected("`id` holds an unpaired surrogate")
        _parameters(document, "the request")
        wanted = self.wanted_outputs(model, document)
        inputs = self.read_inputs(model, document, blobs)
        return Call(inputs, wanted, identifier)

    # --- inputs ------------------------------------------------------------------------------

    def read_inputs(
        self, model: ModelContract, document: dict[str, Any], blobs: Blobs
    ) -> dict[str, Tensor]:
        """Every input by name; blobs are consumed in the order of the request's JSON (M2)."""
        entries = self.input_entries(model, document)
        tensors: dict[str, Tensor] = {}
        offset = 0
        for entry in self.blob_order(model, entries):
            blob, offset = self.input_blob(entry, blobs, offset)
            spec = entry.spec
            tensors[spec.name] = Tensor(spec.name, spec.datatype, entry.shape, blob)
        self.check_all_read(blobs, offset)
        return tensors

    def blob_order(self, model: ModelContract, entries: list[Entry]) -> list[Entry]:
        """The order in which inputs take their blobs: that of the JSON (M2)."""
        return entries

    def input_entries(self, model: ModelContract, document: dict[str, Any]) -> list[Entry]:
        """The request's `inputs`, each of the model's exactly once."""
        listed = document.get("inputs")
        if not isinstance(listed, list):
            raise Rejected("`inputs` is not an array")
        specs = {spec.name: spec for spec in model.inputs}
        entries = [self.input_entry(specs, item) for item in listed]
        names = [entry.spec.name for entry in entries]
        if len(set(names)) != len(names):
            raise Rejected("an input is given twice")
        missing = [name for name in specs if name not in names]
        if missing:
            raise Rejected(f"missing inputs: {', '.join(missing)}")
        return entries

    def input_entry(self, specs: dict[str, TensorSpec], item: object) -> Entry:
        """One member of `inputs`: its name, datatype and shape have to be the model's."""
        if not isinstance(item, dict):
            raise Rejected("a member of `inputs` is not an object")
        name = item.get("name")
        spec = specs.get(name) if isinstance(name, str) else None
        if spec is None:
            raise Rejected(f"the model has no input {name!a}")
        if item.get("datatype") != spec.datatype:
            raise Rejected(f"input {name} is of datatype {spec.datatype}")
        shape = self.input_shape(spec, item.get("shape"))
        parameters = _parameters(item, f"input {name}")
        return Entry(spec, shape, parameters, "data" in item, item.get("data"))

    def input_shape(self, spec: TensorSpec, shape: object) -> Shape:
        """The shape of an input: non-negative integers that fit the model's dimensions."""
        if not isinstance(shape, list) or any(type(size) is not int for size in shape):
            raise Rejected(f"the shape of input {spec.name} is not an array of integers")
        if any(not 0 <= size <= INT64_MAX for size in shape):
            raise Rejected(f"the shape of input {spec.name} has a dimension out of range")
        fits = len(shape) == len(spec.dims) and all(
            wanted in (-1, size) for wanted, size in zip(spec.dims, shape, strict=True)
        )
        if not fits:
            raise Rejected(f"input {spec.name}: shape {shape} does not fit {list(spec.dims)}")
        return tuple(shape)

    def input_blob(self, entry: Entry, blobs: Blobs, offset: int) -> tuple[Buffer, int]:
        """An input's elements as a blob, and the offset at which the next input's blob starts."""
        size = self.declared_size(entry)
        self.check_one_source(entry, size)
        if size is None:
            return self.json_blob(entry), offset
        self.check_size(entry, size)
        blob = self.slice_blob(entry, blobs, offset, size)
        return self.binary_blob(entry, blob), self.next_offset(entry, offset, size)

    def declared_size(self, entry: Entry) -> int | None:
        """The input's `binary_data_size`, None where it has none (S1, S6, S9, S10)."""
        if SIZE not in entry.parameters:
            return None
        size = entry.parameters[SIZE]
        if isinstance(size, float) and size.is_integer():
            size = int(size)
        if type(size) is not int:
            raise Rejected(f"input {entry.spec.name}: {SIZE} is not an integer")
        if size < 0:
            return self.negative_size(entry, size)
        return size

    def negative_size(self, entry: Entry, size: int) -> int:
        """What a negative size means: nothing (S6)."""
        raise Rejected(f"input {entry.spec.name}: {SIZE} is negative")

    def check_one_source(self, entry: Entry, size: int | None) -> None:
        """An input has `data` or a size, never both (S5), never neither (S11)."""
        if entry.has_data and size is not None:
            raise Rejected(f"input {entry.spec.name} has both `data` and {SIZE}")
        if not entry.has_data and size is None:
            raise Rejected(f"input {entry.spec.name} has neither `data` nor {SIZE}")

    def check_size(self, entry: Entry, size: int) -> None:
        """The declared size is shape × element size (S2, S8, S12, S13)."""
        wanted = blob_size(entry.spec.datatype, entry.shape)
        if wanted is not None and wanted != size:
            raise Rejected(
                f"input {entry.spec.name}: {SIZE} is {size}, but {entry.spec.datatype} "
                f"{list(entry.shape)} takes {wanted} bytes"
            )

    def slice_blob(self, entry: Entry, blobs: Blobs, offset: int, size: int) -> memoryview:
        """The `size` bytes at `offset`, which have to be there (S3)."""
        if offset + size > len(blobs.view):
            raise Rejected(
                f"input {entry.spec.name} takes {size} bytes, "
                f"but {max(len(blobs.view) - offset, 0)} are left"
            )
        return blobs.view[offset : offset + size]

    def next_offset(self, entry: Entry, offset: int, size: int) -> int:
        """Where the next blob starts: right behind this one, without padding (D14, M4)."""
        return offset + size

    def check_all_read(self, blobs: Blobs, offset: int) -> None:
        """No bytes are left behind the last blob (S4)."""
        left = len(blobs.view) - offset
        if left > 0:
            raise Rejected(f"{left} bytes follow the last input's data")

    # --- elements ----------------------------------------------------------------------------

    def json_blob(self, entry: Entry) -> Buffer:
        """The elements of an input given as JSON."""
        return from_json(entry.spec.datatype, entry.shape, entry.data)

    def binary_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        """The elements of an input given as binary data, as a correct blob."""
        kind = DATATYPES[entry.spec.datatype].kind
        if kind == "bytes":
            return self.bytes_blob(entry, blob)
        if kind == "bool":
            return self.bool_blob(entry, blob)
        return blob

    def bytes_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        """A BYTES blob whose prefixes and number of elements agree with it (B6, B7, B9)."""
        check_blob("BYTES", entry.shape, blob)
        return blob

    def bool_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        """A BOOL blob: bytes 0 and 1 (D7); others are free to be refused, and are."""
        if len(blob) and int(np.frombuffer(blob, "|u1").max()) > 1:
            raise ElementError(f"input {entry.spec.name}: a BOOL byte is neither 0 nor 1")
        return blob

    # --- requested outputs -------------------------------------------------------------------

    def wanted_outputs(self, model: ModelContract, document: dict[str, Any]) -> tuple[Wanted, ...]:
        """The outputs that the response carries: those asked for (O13), or all of the model's."""
        default = self.default_form(document)
        listed = document.get("outputs", [])
        if not isinstance(listed, list):
            raise Rejected("`outputs` is not an array")
        if not listed:
            return tuple(Wanted(spec.name, default) for spec in model.outputs)
        names = self.output_names(model, listed)
        parameters = [_parameters(item, "an output") for item in listed]
        forms = self.output_forms(parameters, default)
        return tuple(map(Wanted, names, forms))

    def output_names(self, model: ModelContract, listed: list[Any]) -> list[str]:
        """The names of the outputs asked for: the model's (O14), each once (O9)."""
        names = [self.output_name(model, item) for item in listed]
        if len(set(names)) != len(names):
            self.repeated_output(names)
        return names

    def output_name(self, model: ModelContract, item: object) -> str:
        """The name of one output asked for."""
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str):
            raise Rejected("a member of `outputs` is not an object with a name")
        if name not in {spec.name for spec in model.outputs}:
            raise Rejected(f"the model has no output {name!a}")
        return name

    def repeated_output(self, names: list[str]) -> None:
        """What asking twice for one output means: nothing (O9)."""
        raise Rejected("an output is asked for twice")

    def default_form(self, document: dict[str, Any]) -> bool:
        """Whether outputs are binary unless they say otherwise: `binary_data_output` (O4, O5)."""
        return self.flag(_parameters(document, "the request"), "binary_data_output", default=False)

    def output_forms(self, parameters: list[dict[str, Any]], default: bool) -> list[bool]:
        """Which of the listed outputs are binary, each by its own parameters (O3)."""
        return [self.output_form(of_one, default) for of_one in parameters]

    def output_form(self, parameters: dict[str, Any], default: bool) -> bool:
        """Whether an output is binary: a `binary_data` that is given overrides (O6, O7, O8)."""
        return self.flag(parameters, "binary_data", default=default)

    def flag(self, parameters: dict[str, Any], name: str, *, default: bool) -> bool:
        """A boolean parameter; only true and false will do (O16)."""
        value = parameters.get(name, default)
        if not isinstance(value, bool):
            raise Rejected(f"the parameter {name} is not a boolean")
        return value

    # --- raw requests ------------------------------------------------------------------------

    def read_raw(self, model: ModelContract, body: memoryview) -> Call:
        """A raw request (W1): the body is the only input, and all outputs are binary (W2)."""
        if len(model.inputs) != 1:
            raise Rejected(f"a raw request needs a model with one input, {model.model} has more")
        spec = model.inputs[0]
        dims = spec.dims[1:] if model.batching else spec.dims
        if spec.datatype == "BYTES":
            shape, blob = self.raw_bytes(dims, body)
        else:
            shape, blob = self.raw_shape(spec.datatype, dims, len(body)), body
        if model.batching:
            shape = (1, *shape)
        entry = Entry(spec, shape, {}, False, None)
        tensor = Tensor(spec.name, spec.datatype, shape, self.binary_blob(entry, blob))
        return Call({spec.name: tensor}, tuple(Wanted(out.name, True) for out in model.outputs))

    def raw_bytes(self, dims: Shape, body: memoryview) -> tuple[Shape, Buffer]:
        """A raw BYTES tensor is of shape [1] (W7); the body is its element, bare (W8)."""
        if dims != (1,):
            raise Rejected("a raw request for BYTES needs the shape [1]")
        return (1,), encode_bytes([bytes(body)])

    def raw_shape(self, datatype: str, dims: Shape, size: int) -> Shape:
        """The shape of a raw tensor of `size` bytes: at most one dimension is deduced (W3, W6)."""
        if dims.count(-1) > 1:
            raise Rejected("a raw request needs at most one variable dimension")
        step = DATATYPES[datatype].size or 1
        step *= element_count(wanted for wanted in dims if wanted != -1)
        if size % step or (-1 not in dims and size != step):
            raise Rejected(f"{size} bytes are not a {datatype} tensor of shape {list(dims)}")
        return tuple(size // step if wanted == -1 else wanted for wanted in dims)


def _parameters(item: dict[str, Any], owner: str) -> dict[str, Any]:
    parameters = item.get("parameters", {})
    if not isinstance(parameters, dict):
        raise Rejected(f"`parameters` of {owner} is not an object")
    return parameters
