"""The plain client's requests: blobs, JSON and header fields."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from v2_clients.plain.task import Array, Call, CallerInput, CallerOutput, ClientError
from v2_conformance.protocol import content_codings
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.protocol.names import (
    BINARY_DATA,
    BINARY_DATA_OUTPUT,
    BINARY_DATA_SIZE,
    HEADER_LENGTH,
    JSON_TYPE,
    OCTET_STREAM,
)

JsonObject = dict[str, Any]
# The fields that say how the message is read: a value of the caller's could only be a wrong one.
_RESERVED = frozenset(
    name.lower()
    for name in (
        HEADER_LENGTH,
        "Content-Length",
        "Content-Type",
        "Content-Encoding",
        "Transfer-Encoding",
        "Accept-Encoding",
    )
)


class RequestMaker:
    """The half of the plain client that writes. Every method is one decision."""

    # --- tensors as blobs --------------------------------------------------------------------

    def blob(self, tensor: CallerInput) -> bytes:
        """The tensor's elements, row-major and little-endian."""
        if tensor.datatype == "BYTES":
            return self.bytes_blob(self.elements(tensor.array))
        return self.number_bytes(tensor.datatype, self.numbers(tensor))

    def numbers(self, tensor: CallerInput) -> Array:
        """The tensor's elements as its datatype has them; BF16 as bit patterns."""
        if tensor.datatype == "BF16" and tensor.array.dtype.kind == "f":
            return self.bf16_bits(tensor.array)
        return tensor.array

    def number_bytes(self, datatype: str, array: Array) -> bytes:
        """The bytes of an array, however it lies in memory."""
        return array.astype(DATATYPES[datatype].numpy).tobytes(order="C")

    def bf16_bits(self, array: Array) -> Array:
        """FP32 rounded to the nearest BF16, ties to even; a NaN remains one."""
        bits = array.astype("<f4").view("<u4")
        rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16
        quiet = (bits >> 16) | 0x40
        return np.where(np.isnan(array), quiet, rounded).astype("<u2")

    def elements(self, array: Array) -> list[bytes]:
        """The elements of a BYTES array, row-major."""
        return [bytes(element) for element in array.flatten(order="C")]

    def bytes_blob(self, elements: Sequence[bytes]) -> bytes:
        """BYTES elements, each after its length."""
        return b"".join(self.bytes_prefix(element) + element for element in elements)

    def bytes_prefix(self, element: bytes) -> bytes:
        """The length of a BYTES element: four bytes, unsigned, little-endian."""
        return len(element).to_bytes(4, "little")

    # --- tensors as JSON ---------------------------------------------------------------------

    def json_data(self, tensor: CallerInput) -> list[Any]:
        """The tensor as JSON, flat. Raises ClientError for what JSON cannot say."""
        kind = DATATYPES[tensor.datatype].kind
        if kind == "bytes":
            return [self.json_text(element) for element in self.elements(tensor.array)]
        flat = self.numbers(tensor).flatten(order="C")
        if kind == "bool":
            return [self.json_bool(bool(value)) for value in flat]
        if kind == "int":
            return [self.json_integer(int(value)) for value in flat]
        if tensor.datatype == "BF16":
            flat = (flat.astype("<u4") << 16).view("<f4")
        return [self.json_float(float(value)) for value in flat]

    def json_text(self, element: bytes) -> Any:
        """A BYTES element as a string."""
        try:
            return element.decode()
        except UnicodeDecodeError as error:
            raise ClientError(f"BYTES that are not UTF-8 have no JSON form: {error}") from error

    def json_bool(self, value: bool) -> Any:
        """A BOOL element as JSON has it."""
        return value

    def json_integer(self, value: int) -> Any:
        """An integer, every digit of it."""
        return value

    def json_float(self, value: float) -> Any:
        """A float as a number that reads back to the same bits."""
        if not np.isfinite(value):
            raise ClientError(f"{value} has no JSON form")
        return value

    # --- the JSON object ---------------------------------------------------------------------

    def document(self, call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
        """The inference request object. `blobs` has None for each input that is JSON."""
        document: JsonObject = {}
        if call.id is not None:
            document["id"] = call.id
        reserved = self.request_parameters(call)
        parameters = self.merged(call.parameters, reserved, BINARY_DATA_OUTPUT)
        if parameters:
            document["parameters"] = parameters
        document["inputs"] = [
            self.input_object(tensor, blob) for tensor, blob in zip(call.inputs, blobs, strict=True)
        ]
        if call.outputs is not None:
            document["outputs"] = [self.output_object(output) for output in call.outputs]
        return document

    def request_parameters(self, call: Call) -> JsonObject:
        """The extension's parameters of the request."""
        if call.binary_data_output is None:
            return {}
        return {BINARY_DATA_OUTPUT: call.binary_data_output}

    def input_object(self, tensor: CallerInput, blob: bytes | None) -> JsonObject:
        """One input; its data are in the JSON if it has no blob."""
        entry: JsonObject = {
            "name": tensor.name,
            "shape": self.json_shape(tensor),
            "datatype": self.json_datatype(tensor),
        }
        reserved = {} if blob is None else {BINARY_DATA_SIZE: self.size(tensor, blob)}
        parameters = self.merged(tensor.parameters, reserved, BINARY_DATA_SIZE)
        if parameters:
            entry["parameters"] = parameters
        if blob is None:
            entry["data"] = self.json_data(tensor)
        return entry

    def json_shape(self, tensor: CallerInput) -> Any:
        """The shape as the JSON has it."""
        return list(tensor.shape)

    def json_datatype(self, tensor: CallerInput) -> Any:
        """The datatype as the JSON has it."""
        return tensor.datatype

    def size(self, tensor: CallerInput, blob: bytes) -> Any:
        """The input's binary_data_size."""
        return len(blob)

    def output_object(self, output: CallerOutput) -> Any:
        """One requested output."""
        entry: JsonObject = {"name": output.name}
        parameters = self.merged(output.parameters, self.output_parameters(output), BINARY_DATA)
        if parameters:
            entry["parameters"] = parameters
        return entry

    def output_parameters(self, output: CallerOutput) -> JsonObject:
        """The extension's parameters of a requested output."""
        return {} if output.binary is None else {BINARY_DATA: output.binary}

    def merged(
        self, own: Mapping[str, object], reserved: Mapping[str, object], place: str
    ) -> JsonObject:
        """The caller's parameters beside the extension's, which the caller cannot give.

        `place` is the extension's parameter of the request, of inputs or of outputs.
        """
        for name in own:
            if name in {BINARY_DATA_OUTPUT, *reserved, place}:
                raise ClientError(f"the parameter {name} is the extension's: use the argument")
        return {**own, **reserved}

    def dump(self, document: JsonObject) -> bytes:
        """The JSON object in UTF-8, with non-ASCII characters as they are."""
        return json.dumps(document, ensure_ascii=False, allow_nan=False).encode()

    # --- the message -------------------------------------------------------------------------

    def in_order(self, call: Call, blobs: Sequence[bytes | None]) -> list[bytes]:
        """The blobs in the order in which they are sent: that of the inputs."""
        return [blob for blob in blobs if blob is not None]

    def body(self, text: bytes, blobs: Sequence[bytes]) -> bytes:
        """The JSON, then the blobs, with nothing in between."""
        return b"".join([text, *blobs])

    def header_length(self, text: bytes, blobs: Sequence[bytes]) -> str | None:
        """The length of the JSON in bytes, if there are blobs."""
        return str(len(text)) if blobs else None

    def content_type(self, blobs: Sequence[bytes]) -> str | None:
        """The Content-Type of the request."""
        return OCTET_STREAM if blobs else JSON_TYPE

    def coded(self, coding: str, body: bytes) -> bytes:
        """The body in a content coding."""
        return content_codings.encode(coding, body)

    def content_encoding(self, call: Call) -> str | None:
        """The Content-Encoding of the request."""
        return call.request_compression

    def accept_encoding(self, call: Call) -> str:
        """Return what the client can undo and the caller asked for; otherwise no coding at all."""
        return call.response_compression or "identity"

    def fields(self, call: Call, text: bytes, blobs: Sequence[bytes], body: bytes) -> JsonObject:
        """The header fields that the client sends of its own. `body` is the encoded one."""
        fields = {
            "Content-Type": self.content_type(blobs),
            HEADER_LENGTH: self.header_length(text, blobs),
            "Content-Encoding": self.content_encoding(call),
            "Accept-Encoding": self.accept_encoding(call),
        }
        return {name: value for name, value in fields.items() if value is not None}

    def with_callers(self, call: Call, fields: JsonObject) -> JsonObject:
        """The client's fields beside the caller's, which cannot change how the body is read."""
        for name in call.headers:
            if name.strip().lower() in _RESERVED:
                raise ClientError(f"the header field {name} is the client's own")
        return {**call.headers, **fields}
