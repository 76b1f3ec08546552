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
from v2_conformance.protocol.message import Tensor, parse_json
from v2_conformance.protocol.names import (
    BINARY_DATA,
    BINARY_DATA_OUTPUT,
    BINARY_DATA_SIZE,
    HEADER_LENGTH,
)
from v2_conformance.reference.http_messages import Blobs, Rejected, Request
from v2_conformance.suite.models import ModelContract, TensorSpec

JsonObject = dict[str, Any]

INT64_MAX = 2**63 - 1

_DIGITS = re.compile("[0-9]+")


@dataclass(frozen=True)
class RequestInput:
    """One entry of the request's `inputs`, checked against the model. `data` counts only if
    `has_data`: an entry with `data` null has it, as None."""

    spec: TensorSpec
    shape: Shape
    parameters: JsonObject
    has_data: bool
    data: object


@dataclass(frozen=True)
class RequestOutput:
    """An output that the response must contain, in binary or JSON form."""

    name: str
    binary: bool


@dataclass(frozen=True)
class InferenceRequest:
    """An inference request as understood: inputs by name, outputs in response order."""

    inputs: dict[str, Tensor]
    outputs: tuple[RequestOutput, ...]
    id: str | None = None


class RequestReader:
    """Reads requests. Every method makes one decision, so that a fault can replace just that. All
    of them raise Rejected, MessageError or ElementError for what they refuse."""

    # --- the header length -------------------------------------------------------------------

    def header_length(self, request: Request) -> int | None:
        """The header length that the client sent, None if there is none."""
        values = self.header_length_values(request)
        if len(set(values)) > 1:
            return self.conflicting_lengths(values)
        return self.parse_header_length(values[0]) if values else None

    def header_length_values(self, request: Request) -> list[str]:
        """Every value of the header, whatever the case of its name (H2), stripped (H13)."""
        return request.values(HEADER_LENGTH)

    def conflicting_lengths(self, values: Sequence[str]) -> int:
        """Several different values are rejected (H12)."""
        raise Rejected(f"{HEADER_LENGTH} has conflicting values: {', '.join(values)}")

    def parse_header_length(self, text: str) -> int:
        """The number that a value stands for: only ASCII digits (H4, H6, H8), up to int64 (H7)."""
        if not _DIGITS.fullmatch(text):
            raise Rejected(f"{HEADER_LENGTH} must be a number of bytes, got {text!a:.60}")
        digits = text.lstrip("0") or "0"
        if len(digits) > 19 or int(digits) > INT64_MAX:
            raise Rejected(f"{HEADER_LENGTH} {digits[:40]} is larger than any body")
        return int(digits)

    # --- the body ----------------------------------------------------------------------------

    def split_body(self, request: Request, length: int | None) -> tuple[memoryview, Blobs]:
        """The body's JSON and what follows it (P2). Without a header length, all of it is JSON."""
        body = request.body
        end = len(body) if length is None else self.json_end(body, length)
        return body[:end], Blobs(
            body[end:],
            tuple(cut - end for cut in request.chunk_cuts if cut > end),
            tuple(cut - end for cut in request.segment_cuts if cut > end),
        )

    def json_end(self, body: memoryview, length: int) -> int:
        """Where the JSON ends: after `length` bytes (P10), if the body has that many (H5)."""
        if length > len(body):
            raise Rejected(f"{HEADER_LENGTH} is {length}, but the body has {len(body)} bytes")
        return length

    def parse_document(self, text: memoryview) -> JsonObject:
        """The JSON object, parsed strictly. White space around it counts as JSON (P11)."""
        return parse_json(text)

    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        """A request whose body is JSON, or JSON and blobs."""
        text, blobs = self.split_body(request, length)
        document = self.parse_document(text)
        identifier = document.get("id")
        if identifier is not None and not isinstance(identifier, str):
            raise Rejected("`id` must be a string")
        if identifier is not None and any("\ud800" <= char <= "\udfff" for char in identifier):
            raise Rejected("`id` contains an unpaired surrogate")
        _parameters(document, "the request")
        outputs = self.request_outputs(model, document)
        inputs = self.read_inputs(model, document, blobs)
        return InferenceRequest(inputs, outputs, identifier)

    # --- inputs ------------------------------------------------------------------------------

    def read_inputs(
        self, model: ModelContract, document: JsonObject, blobs: Blobs
    ) -> dict[str, Tensor]:
        """Every input by name. Blobs are taken in the order of the request's JSON (M2)."""
        entries = self.request_inputs(model, document)
        tensors: dict[str, Tensor] = {}
        offset = 0
        for entry in self.blob_order(model, entries):
            blob, offset = self.input_blob(entry, blobs, offset)
            spec = entry.spec
            tensors[spec.name] = Tensor(spec.name, spec.datatype, entry.shape, blob)
        self.check_all_read(blobs, offset)
        return tensors

    def blob_order(self, model: ModelContract, entries: list[RequestInput]) -> list[RequestInput]:
        """The order in which inputs take their blobs: that of the JSON (M2)."""
        return entries

    def request_inputs(self, model: ModelContract, document: JsonObject) -> list[RequestInput]:
        """The request's `inputs`: each input of the model exactly once."""
        listed = document.get("inputs")
        if not isinstance(listed, list):
            raise Rejected("`inputs` must be an array")
        specs = {spec.name: spec for spec in model.inputs}
        entries = [self.request_input(specs, item) for item in listed]
        names = [entry.spec.name for entry in entries]
        if len(set(names)) != len(names):
            raise Rejected("an input is listed twice")
        missing = [name for name in specs if name not in names]
        if missing:
            raise Rejected(f"missing inputs: {', '.join(missing)}")
        return entries

    def request_input(self, specs: dict[str, TensorSpec], item: object) -> RequestInput:
        """One entry of `inputs`. Its name, datatype and shape must be those of the model."""
        if not isinstance(item, dict):
            raise Rejected("every entry of `inputs` must be an object")
        name = item.get("name")
        spec = specs.get(name) if isinstance(name, str) else None
        if spec is None:
            raise Rejected(f"the model has no input {name!a:.60}")
        if item.get("datatype") != spec.datatype:
            raise Rejected(f"input {name} has the datatype {spec.datatype}")
        shape = self.input_shape(spec, item.get("shape"))
        parameters = _parameters(item, f"input {name}")
        return RequestInput(spec, shape, parameters, "data" in item, item.get("data"))

    def input_shape(self, spec: TensorSpec, shape: object) -> Shape:
        """The shape of an input: non-negative integers that fit the model's dimensions."""
        if not isinstance(shape, list) or any(type(size) is not int for size in shape):
            raise Rejected(f"the shape of input {spec.name} must be an array of integers")
        if any(not 0 <= size <= INT64_MAX for size in shape):
            raise Rejected(f"the shape of input {spec.name} has a dimension out of range")
        fits = len(shape) == len(spec.dims) and all(
            dimension in (-1, size) for dimension, size in zip(spec.dims, shape, strict=True)
        )
        if not fits:
            raise Rejected(f"input {spec.name}: the shape does not fit {list(spec.dims)}")
        return tuple(shape)

    def input_blob(self, entry: RequestInput, blobs: Blobs, offset: int) -> tuple[Buffer, int]:
        """An input's elements as a blob, and the offset at which the next input's blob starts."""
        size = self.declared_size(entry)
        self.check_one_source(entry, size)
        if size is None:
            return self.json_blob(entry), offset
        self.check_size(entry, size)
        blob = self.slice_blob(entry, blobs, offset, size)
        return self.binary_blob(entry, blob), self.next_offset(entry, offset, size)

    def declared_size(self, entry: RequestInput) -> int | None:
        """The input's `binary_data_size`, None if it has none (S1, S6, S9, S10)."""
        if BINARY_DATA_SIZE not in entry.parameters:
            return None
        size = entry.parameters[BINARY_DATA_SIZE]
        if isinstance(size, float) and size.is_integer():
            size = int(size)
        if type(size) is not int:
            raise Rejected(f"input {entry.spec.name}: {BINARY_DATA_SIZE} must be an integer")
        if size < 0:
            return self.negative_size(entry, size)
        return size

    def negative_size(self, entry: RequestInput, size: int) -> int:
        """A negative size is rejected (S6)."""
        raise Rejected(f"input {entry.spec.name}: {BINARY_DATA_SIZE} is negative")

    def check_one_source(self, entry: RequestInput, size: int | None) -> None:
        """An input has `data` or a size, never both (S5), never neither (S11)."""
        if entry.has_data and size is not None:
            raise Rejected(f"input {entry.spec.name} has both `data` and {BINARY_DATA_SIZE}")
        if not entry.has_data and size is None:
            raise Rejected(f"input {entry.spec.name} has neither `data` nor {BINARY_DATA_SIZE}")

    def check_size(self, entry: RequestInput, size: int) -> None:
        """The declared size must be shape × element size (S2, S8, S12, S13)."""
        expected = blob_size(entry.spec.datatype, entry.shape)
        if expected is not None and expected != size:
            raise Rejected(
                f"input {entry.spec.name}: {entry.spec.datatype} {list(entry.shape)} takes "
                f"{expected} bytes, but {BINARY_DATA_SIZE} is {size}"
            )

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        """The `size` bytes at `offset`, if the body has them (S3)."""
        if offset + size > len(blobs.view):
            raise Rejected(
                f"input {entry.spec.name} takes {size} bytes, "
                f"but only {max(len(blobs.view) - offset, 0)} are left"
            )
        return blobs.view[offset : offset + size]

    def next_offset(self, entry: RequestInput, offset: int, size: int) -> int:
        """Where the next blob starts: right after this one, without padding (D14, M4)."""
        return offset + size

    def check_all_read(self, blobs: Blobs, offset: int) -> None:
        """No bytes may be left after the last blob (S4)."""
        left = len(blobs.view) - offset
        if left > 0:
            raise Rejected(f"{left} bytes follow the data of the last input")

    # --- elements ----------------------------------------------------------------------------

    def json_blob(self, entry: RequestInput) -> Buffer:
        """The elements of an input sent as JSON."""
        return from_json(entry.spec.datatype, entry.shape, entry.data)

    def binary_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        """The elements of an input sent as binary data, as a correct blob."""
        kind = DATATYPES[entry.spec.datatype].kind
        if kind == "bytes":
            return self.bytes_blob(entry, blob)
        if kind == "bool":
            return self.bool_blob(entry, blob)
        return blob

    def bytes_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        """A BYTES blob with fitting prefixes and as many elements as its shape (B6, B7, B9)."""
        check_blob("BYTES", entry.shape, blob)
        return blob

    def bool_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        """A BOOL blob: bytes 0 and 1 (D7). A server may refuse all others, and this one does."""
        if len(blob) and int(np.frombuffer(blob, "|u1").max()) > 1:
            raise ElementError(f"input {entry.spec.name}: a BOOL byte is neither 0 nor 1")
        return blob

    # --- requested outputs -------------------------------------------------------------------

    def request_outputs(
        self, model: ModelContract, document: JsonObject
    ) -> tuple[RequestOutput, ...]:
        """The outputs to respond with: those the request lists (O13), or all of the model's."""
        default = self.binary_by_default(document)
        listed = document.get("outputs", [])
        if not isinstance(listed, list):
            raise Rejected("`outputs` must be an array")
        if not listed:
            return tuple(RequestOutput(spec.name, default) for spec in model.outputs)
        names = [self.output_name(model, item) for item in listed]
        if len(set(names)) != len(names):
            self.repeated_output(names)
        parameters = [_parameters(item, "an output") for item in listed]
        return tuple(map(RequestOutput, names, self.binary_flags(parameters, default)))

    def output_name(self, model: ModelContract, item: object) -> str:
        """The name of one listed output, which the model must have (O14)."""
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str):
            raise Rejected("every entry of `outputs` must be an object with a name")
        if name not in {spec.name for spec in model.outputs}:
            raise Rejected(f"the model has no output {name!a:.60}")
        return name

    def repeated_output(self, names: list[str]) -> None:
        """An output that is listed twice is rejected (O9)."""
        raise Rejected("an output is listed twice")

    def binary_by_default(self, document: JsonObject) -> bool:
        """The default of `binary_data`, for outputs without it: `binary_data_output` (O4, O5)."""
        parameters = _parameters(document, "the request")
        return self.boolean_parameter(parameters, BINARY_DATA_OUTPUT, default=False)

    def binary_flags(self, parameters: list[JsonObject], default: bool) -> list[bool]:
        """Return which of the listed outputs are binary, each by its own parameters (O3)."""
        return [self.binary_flag(of_output, default) for of_output in parameters]

    def binary_flag(self, parameters: JsonObject, default: bool) -> bool:
        """The form of an output: its `binary_data` overrides the default (O6, O7, O8)."""
        return self.boolean_parameter(parameters, BINARY_DATA, default=default)

    def boolean_parameter(self, parameters: JsonObject, name: str, *, default: bool) -> bool:
        """A boolean parameter. Only true and false are accepted (O16)."""
        value = parameters.get(name, default)
        if not isinstance(value, bool):
            raise Rejected(f"the parameter {name} must be a boolean")
        return value

    # --- raw requests ------------------------------------------------------------------------

    def read_raw(self, model: ModelContract, body: memoryview) -> InferenceRequest:
        """A raw request (W1): the body is the only input, and all outputs are binary (W2)."""
        if len(model.inputs) != 1:
            raise Rejected(f"a raw request needs a model with one input; {model.model} has more")
        spec = model.inputs[0]
        dims = spec.dims[1:] if model.batching else spec.dims
        if spec.datatype == "BYTES":
            shape, blob = self.raw_bytes_tensor(dims, body)
        else:
            shape, blob = self.raw_shape(spec.datatype, dims, len(body)), body
        if model.batching:
            shape = (1, *shape)
        entry = RequestInput(spec, shape, {}, False, None)
        tensor = Tensor(spec.name, spec.datatype, shape, self.binary_blob(entry, blob))
        outputs = tuple(RequestOutput(output.name, True) for output in model.outputs)
        return InferenceRequest({spec.name: tensor}, outputs)

    def raw_bytes_tensor(self, dims: Shape, body: memoryview) -> tuple[Shape, Buffer]:
        """A raw BYTES tensor has the shape [1] (W7); the body is its element, bare (W8)."""
        if dims != (1,):
            raise Rejected("a raw request for BYTES needs the shape [1]")
        return (1,), encode_bytes([bytes(body)])

    def raw_shape(self, datatype: str, dims: Shape, size: int) -> Shape:
        """The shape of a raw tensor of `size` bytes: at most one dimension is deduced (W3, W6)."""
        if dims.count(-1) > 1:
            raise Rejected("a raw request allows at most one variable dimension")
        step = DATATYPES[datatype].size or 1
        step *= element_count(dimension for dimension in dims if dimension != -1)
        if size % step or (-1 not in dims and size != step):
            raise Rejected(f"{size} bytes do not make a {datatype} tensor of shape {list(dims)}")
        return tuple(size // step if dimension == -1 else dimension for dimension in dims)


def _parameters(item: JsonObject, owner: str) -> JsonObject:
    parameters = item.get("parameters", {})
    if not isinstance(parameters, dict):
        raise Rejected(f"`parameters` of {owner} must be an object")
    return parameters
