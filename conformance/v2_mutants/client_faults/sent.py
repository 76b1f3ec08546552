"""Faults of what a client sends: blobs, elements, JSON and header fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import requests

from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.responses_read import Inference
from v2_clients.plain.task import Array, Call, CallerInput
from v2_conformance.protocol.names import HEADER_LENGTH, JSON_TYPE
from v2_mutants.changes import without
from v2_mutants.registry import Right, What, client_fault

client_fault("header-length-missing", "K1", PlainClient.header_length)(
    "A request with blobs has no header length.",
    lambda right, text, blobs: None,
)
client_fault("header-length-without-blobs", "K1", PlainClient.header_length)(
    "A request without blobs has a header length, too.",
    lambda right, text, blobs: str(len(text)),
)
client_fault("blobs-not-sent", "K2", PlainClient.body)(
    "The JSON declares blobs, and none follow it.",
    lambda right, text, blobs: text,
)
client_fault("data-beside-size", "K13", PlainClient.input_object)(
    "An input with a blob has its data, too.",
    lambda right, tensor, blob: {**right(), "data": right.client.json_data(tensor)},
)


@client_fault("size-beside-data", "K13", PlainClient.input_object)
def _(right: Right[JsonObject], tensor: CallerInput, blob: bytes | None) -> JsonObject:
    """An input that is JSON has the binary_data_size of a blob that is not sent."""
    entry = right()
    if blob is None:
        size = len(right.client.blob(tensor))
        entry["parameters"] = {**entry.get("parameters", {}), "binary_data_size": size}
    return entry


def _bits(array: Array) -> Array:
    return array.astype("<f4").view("<u4")


def _upper(bits: Array) -> Array:
    return (bits >> 16).astype("<u2")


client_fault("column-major-bytes-as-they-are", "K10", PlainClient.elements)(
    "The elements of a column-major array of BYTES are sent as they lie in memory.",
    lambda right, array: [bytes(element) for element in array.flatten(order="A")],
)
client_fault("bytes-trailing-nuls-dropped", "K12", PlainClient.elements)(
    "Trailing NULs of BYTES elements are dropped, as numpy's S type does.",
    lambda right, array: [element.rstrip(b"\0") for element in right()],
)
client_fault("bytes-as-their-repr", "K12", PlainClient.elements)(
    "BYTES elements are sent as Python prints them.",
    lambda right, array: [str(element).encode() for element in right()],
)
client_fault("bytes-not-utf-8-replaced", "K12", PlainClient.elements)(
    "What is not UTF-8 in a BYTES element is replaced before it is sent.",
    lambda right, array: [element.decode(errors="replace").encode() for element in right()],
)
client_fault("bytes-lengths-left-out", "K12", PlainClient.bytes_prefix)(
    "BYTES elements are sent one after another without lengths.",
    lambda right, element: b"",
)
client_fault("uint64-through-int64-max", "K14", PlainClient.number_bytes)(
    "A UINT64 above 2^63 is sent as 2^63 - 1.",
    lambda right, datatype, array: right(
        array=np.minimum(array, np.uint64(2**63 - 1)) if datatype == "UINT64" else array
    ),
)
client_fault("bf16-cut", "K15", PlainClient.bf16_bits)(
    "BF16 is FP32 without its lower half.",
    lambda right, array: _upper(_bits(array)),
)
client_fault("column-major-of-halves-as-it-is", "K10", PlainClient.number_bytes)(
    "A column-major array of FP16 is sent as it lies in memory.",
    lambda right, datatype, array: right(
        array=array.reshape(-1, order="A") if datatype == "FP16" else array
    ),
)
client_fault("json-integers-as-doubles", "K14", PlainClient.json_integer)(
    "Integers become doubles before they are JSON.",
    lambda right, value: int(float(value)),
)


@client_fault("json-fp32-in-eight-digits", "K14", PlainClient.json_float)
def _(right: Right[Any], value: float) -> Any:
    """FP32 is written as JSON with eight digits, one fewer than it can need."""
    with np.errstate(over="ignore"):
        is_fp32 = float(np.float32(right())) == value
    return float(f"{value:.8g}") if is_fp32 else value


client_fault("json-bool-as-text", "K14", PlainClient.json_bool)(
    "BOOL is sent as the strings true and false.",
    lambda right, value: "true" if value else "false",
)


@client_fault.several("json-nan", "K20")
class _Nan(PlainClient):
    """NaN is sent as the bare word NaN."""

    def json_float(self, value: float) -> Any:
        return value

    def dump(self, document: JsonObject) -> bytes:
        return json.dumps(document, ensure_ascii=False).encode()


client_fault("json-text-replaced", "K20", PlainClient.json_text)(
    "What is not UTF-8 is sent as the replacement character.",
    lambda right, element: element.decode(errors="replace"),
)
client_fault("json-shape-as-text", "K35", PlainClient.json_shape)(
    "The dimensions of a shape are strings of digits.",
    lambda right, tensor: [str(dimension) for dimension in tensor.shape],
)
client_fault("form-always-binary", "K16", PlainClient.output_parameters)(
    "Every output is asked for as a blob.",
    lambda right, output: {"binary_data": True},
)
client_fault("form-of-all-not-sent", "K16", PlainClient.request_parameters)(
    "binary_data_output is not sent.",
    lambda right, call: {},
)


def replaces(parameter: str) -> What[JsonObject]:
    """Return what loses the extension's parameter of that name if the caller has any."""

    def what(
        right: Right[JsonObject], own: Mapping[str, object], reserved: object, place: str
    ) -> JsonObject:
        merged = right()
        return dict(own) if own and place == parameter else merged

    return what


client_fault("callers-parameters-over-reserved", "K19", PlainClient.merged)(
    "A parameter of the caller's replaces the extension's of that name.",
    lambda right, own, reserved, place: {**reserved, **own},
)
client_fault("callers-parameters-of-inputs-replace-size", "K19", PlainClient.merged)(
    "An input's own parameters replace its binary_data_size, whatever their names.",
    replaces("binary_data_size"),
)
client_fault("callers-parameters-of-the-request-replace-forms", "K19", PlainClient.merged)(
    "The caller's request parameters replace binary_data_output, whatever their names.",
    replaces("binary_data_output"),
)


@client_fault("callers-headers-changed", "K9", PlainClient.with_callers)
def _(right: Right[JsonObject], call: Call, fields: JsonObject) -> JsonObject:
    """The client writes its own fields into the caller's dictionary."""
    merged = right()
    call.headers.update(fields)
    return merged


@client_fault("header-length-stays", "K9", PlainClient.fields)
def _(
    right: Right[JsonObject], call: Call, text: bytes, blobs: Sequence[bytes], body: bytes
) -> JsonObject:
    """The header length of a request is sent with the next one, which has no blobs."""
    length = right.state["length"] = right().get(HEADER_LENGTH) or right.state.get("length")
    return {**right(), HEADER_LENGTH: length} if length else right()


client_fault("content-type-missing-for-json", "K17", PlainClient.content_type)(
    "A request without blobs has no Content-Type.",
    lambda right, blobs: right() if blobs else None,
)


class _CallersWin(PlainClient):
    """A client in which one field of the caller's, if it is there, is sent as it is."""

    won = ""

    def with_callers(self, call: Call, fields: JsonObject) -> JsonObject:
        others = without(call.headers, *self._won(call))
        return super().with_callers(replace(call, headers=others), fields)

    def prepared(
        self, call: Call, fields: Mapping[str, str], body: bytes
    ) -> requests.PreparedRequest:
        prepared = super().prepared(call, fields, body)
        prepared.headers.update(self._won(call))
        return prepared

    def _won(self, call: Call) -> dict[str, str]:
        return {n: value for n, value in call.headers.items() if n.lower() == self.won.lower()}


@client_fault.several("callers-transfer-encoding-sent", "K19")
class _TransferEncodingSent(_CallersWin):
    """The caller's Transfer-Encoding is sent with a body that is not in chunks."""

    won = "Transfer-Encoding"


def _stays(member: str, of: Callable[[Call], object] = lambda call: None) -> What[Inference]:
    """A client that sends what an earlier caller said if this one says nothing, for each `of`."""

    def what(right: Right[Inference], call: Call) -> Inference:
        reported = getattr(call, member)
        if reported not in (None, {}):
            right.state[of(call)] = reported
        return right(replace(call, **{member: right.state.get(of(call), reported)}))

    return what


for _name, _text, _member in (
    ("id-stays", "The id of a request is sent with those after it that have none.", "id"),
    ("version-stays", "A version is asked for again if the caller names none.", "version"),
    ("parameters-stay", "Request parameters are sent with later requests, too.", "parameters"),
    ("outputs-stay", "The outputs that were asked for are asked for again.", "outputs"),
    ("form-of-outputs-stays", "The form of all outputs is asked for again.", "binary_data_output"),
):
    client_fault(_name, "K9", PlainClient.inferred)(_text, _stays(_member))


def _sends(change: Callable[[Call], Call]) -> What[Inference]:
    """A client that sends less than its caller gave it."""
    return lambda right, call: right(change(call))


for _name, _requirement, _text, _less in (
    ("callers-fields-cut-at-64", "K19", "A field of the caller's is cut after 64 characters.",
     lambda call: replace(call, headers={name: v[:64] for name, v in call.headers.items()})),
    ("parameters-of-later-inputs-lost", "K19", "Only the first input's parameters are sent.",
     lambda call: replace(call, inputs=(
         *call.inputs[:1], *(replace(one, parameters={}) for one in call.inputs[1:])))),
    ("id-cut-at-64", "K35", "An id is cut after 64 characters.",
     lambda call: replace(call, id=call.id and call.id[:64])),
):  # fmt: skip
    client_fault(_name, _requirement, PlainClient.inferred)(_text, _sends(_less))

client_fault("parameters-without-signs", "K19", PlainClient.merged)(
    "Integers among the caller's parameters have no sign.",
    lambda right, own, reserved, place: right(
        {name: abs(value) if type(value) is int else value for name, value in own.items()}
    ),
)


def _written(escaped: bytes, raw: bytes) -> What[bytes]:
    """A client that writes something other than its escape into the JSON."""
    return lambda right, document: right().replace(escaped, raw)


for _name, _escaped, _raw in (("quotes", b'\\"', b'"'), ("tabs", b"\\t", b"\t")):
    client_fault(f"{_name}-not-escaped", "K35", PlainClient.dump)(
        f"{_name.capitalize()} in strings are written into the JSON as they are.",
        _written(_escaped, _raw),
    )
client_fault("blob-lost-from-coded-requests", "K2", PlainClient.in_order)(
    "A compressed request lacks its last blob.",
    lambda right, call, blobs: right()[:-1] if call.request_compression else right(),
)
client_fault("header-length-in-characters", "K1", PlainClient.header_length)(
    "The header length counts the characters of the JSON, not its bytes.",
    lambda right, text, blobs: str(len(text.decode())) if blobs else None,
)
client_fault("bytes-lengths-in-characters", "K12", PlainClient.bytes_prefix)(
    "The length of a BYTES element counts characters.",
    lambda right, element: len(element.decode(errors="replace")).to_bytes(4, "little"),
)
client_fault("content-type-json-with-blobs", "K17", PlainClient.content_type)(
    "A request with blobs is typed as JSON.",
    lambda right, blobs: JSON_TYPE,
)
client_fault("json-in-latin-1", "K35", PlainClient.dump)(
    "The JSON is sent in Latin-1.",
    lambda right, document: right().decode().encode("latin-1", errors="replace"),
)


@client_fault("json-id-as-number", "K35", PlainClient.document)
def _(right: Right[JsonObject], call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
    """An id of digits is sent as a number."""
    return {**right(), **({"id": int(call.id)} if call.id and call.id.isdigit() else {})}


@client_fault.several("callers-content-length-wins", "K19")
class _ContentLengthWins(_CallersWin):
    """The caller's Content-Length is sent in place of the true one."""

    won = "Content-Length"
