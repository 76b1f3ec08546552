"""Faults of the JSON that a client sends (K14 in JSON, K20, K35), and of parameters (K16, K19)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.task import Call
from v2_conformance.protocol.datatypes import DATATYPES
from v2_mutants.changes import without
from v2_mutants.registry import Right, What, client_fault

client_fault("json-integers-as-doubles", "K14", PlainClient.json_integer)(
    "Integers become doubles before they are JSON.",
    lambda right, value: int(float(value)),
)
client_fault("json-integers-in-32-bits", "K14", PlainClient.json_integer)(
    "Integers are cut to 32 bits before they are JSON.",
    lambda right, value: int(np.array([value % 2**32], "<u4").view("<i4")[0]),
)
client_fault("json-floats-in-six-digits", "K14", PlainClient.json_float)(
    "Floats are written as JSON with six digits.",
    lambda right, value: float(f"{right():g}"),
)


@client_fault("json-fp32-in-eight-digits", "K14", PlainClient.json_float)
def _(right: Right[Any], value: float) -> Any:
    """FP32 is written as JSON with eight digits, one fewer than it can need."""
    with np.errstate(over="ignore"):
        is_fp32 = float(np.float32(right())) == value
    return float(f"{value:.8g}") if is_fp32 else value


@client_fault("json-fp32-through-fp16", "K14", PlainClient.json_float)
def _(right: Right[Any], value: float) -> Any:
    """FP32 is rounded to FP16 on the way to JSON."""
    with np.errstate(over="ignore"):
        rounded = float(np.float16(right()))
    return rounded if np.isfinite(rounded) else value


client_fault("json-bool-as-text", "K14", PlainClient.json_bool)(
    "BOOL is sent as the strings true and false.",
    lambda right, value: "true" if value else "false",
)
client_fault("json-bool-as-number", "K14", PlainClient.json_bool)(
    "BOOL is sent in JSON as 1 and 0.",
    lambda right, value: int(value),
)


@client_fault.several("json-nan", "K20")
class _Nan(PlainClient):
    """NaN is sent as the bare word NaN."""

    def json_float(self, value: float) -> Any:
        return value

    def dump(self, document: JsonObject) -> bytes:
        return json.dumps(document, ensure_ascii=False).encode()


client_fault("json-nan-as-null", "K20", PlainClient.json_float)(
    "What JSON cannot say is sent as null.",
    lambda right, value: value if np.isfinite(value) else None,
)
client_fault("json-infinity-as-largest", "K20", PlainClient.json_float)(
    "Infinity is sent as 1e308.",
    lambda right, value: float(np.nan_to_num(value)),
)


def _is_utf8(element: bytes) -> bool:
    return element.decode(errors="replace").encode() == element


client_fault("json-text-replaced", "K20", PlainClient.json_text)(
    "What is not UTF-8 is sent as the replacement character.",
    lambda right, element: element.decode(errors="replace"),
)
client_fault("json-text-latin-1", "K20", PlainClient.json_text)(
    "What is not UTF-8 is sent as Latin-1's text.",
    lambda right, element: right() if _is_utf8(element) else element.decode("latin-1"),
)
client_fault("json-text-as-numbers", "K20", PlainClient.json_text)(
    "What is not UTF-8 is sent as a list of bytes.",
    lambda right, element: right() if _is_utf8(element) else list(element),
)
client_fault("json-shape-as-text", "K35", PlainClient.json_shape)(
    "The dimensions of a shape are strings of digits.",
    lambda right, tensor: [str(dimension) for dimension in tensor.shape],
)
client_fault("json-shape-missing", "K35", PlainClient.input_object)(
    "An input has no shape.",
    lambda right, tensor, blob: without(right(), "shape"),
)
client_fault("json-datatype-of-numpy", "K35", PlainClient.json_datatype)(
    "A datatype has the name that numpy gives it.",
    lambda right, tensor: np.dtype(DATATYPES[tensor.datatype].numpy or object).name,
)
client_fault("json-datatype-missing", "K35", PlainClient.input_object)(
    "An input has no datatype.",
    lambda right, tensor, blob: without(right(), "datatype"),
)


@client_fault("json-inputs-by-name", "K35", PlainClient.document)
def _(right: Right[JsonObject], call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
    """`inputs` is an object with names as keys."""
    document = right()
    return {**document, "inputs": {entry.pop("name"): entry for entry in document["inputs"]}}


client_fault("json-outputs-as-names", "K35", PlainClient.output_object)(
    "`outputs` is a list of names.",
    lambda right, output: output.name,
)


@client_fault("json-id-as-number", "K35", PlainClient.document)
def _(right: Right[JsonObject], call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
    """An id of digits is sent as a number."""
    return {**right(), **({"id": int(call.id)} if call.id and call.id.isdigit() else {})}


client_fault("json-in-latin-1", "K35", PlainClient.dump)(
    "The JSON is sent in Latin-1.",
    lambda right, document: right().decode().encode("latin-1", errors="replace"),
)
client_fault("json-with-byte-order-mark", "K35", PlainClient.dump)(
    "The JSON begins with a BOM.",
    lambda right, document: b"\xef\xbb\xbf" + right(),
)
client_fault("json-of-python", "K35", PlainClient.dump)(
    "The JSON is a dictionary as Python prints it.",
    lambda right, document: str(document).encode(),
)
client_fault("json-with-trailing-comma", "K35", PlainClient.dump)(
    "The JSON ends with a comma too many.",
    lambda right, document: right()[:-1] + b",}",
)
client_fault("json-data-nested-wrongly", "K14", PlainClient.json_data)(
    "JSON data is nested one level too deep.",
    lambda right, tensor: [right()],
)
client_fault("form-false-left-out", "K16", PlainClient.output_parameters)(
    "binary_data false is left out, so that binary_data_output decides.",
    lambda right, output: {"binary_data": True} if output.binary else {},
)
client_fault("form-always-binary", "K16", PlainClient.output_parameters)(
    "Every output is asked for as a blob.",
    lambda right, output: {"binary_data": True},
)
client_fault("form-turned-around", "K16", PlainClient.output_parameters)(
    "binary_data is the opposite of what it is.",
    lambda right, output: {name: not value for name, value in right().items()},
)
client_fault("form-as-text", "K16", PlainClient.output_parameters)(
    'binary_data is the string "true" or "false".',
    lambda right, output: {name: str(value).lower() for name, value in right().items()},
)
client_fault("form-of-all-not-sent", "K16", PlainClient.request_parameters)(
    "binary_data_output is not sent.",
    lambda right, call: {},
)
client_fault("form-of-all-as-number", "K16", PlainClient.request_parameters)(
    "binary_data_output is 1 or 0, not a boolean.",
    lambda right, call: {name: int(value) for name, value in right().items()},
)


@client_fault("form-of-all-at-the-outputs", "K16", PlainClient.document)
def _(right: Right[JsonObject], call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
    """binary_data_output is a parameter of each output, where nobody looks for it."""
    document = right()
    moved = right.client.request_parameters(call)
    for entry in document.get("outputs", ()):
        entry["parameters"] = {**entry.get("parameters", {}), **moved}
    return {**document, "parameters": without(document.get("parameters", {}), *moved)}


@client_fault("forms-only-of-the-request", "K16", PlainClient.document)
def _(right: Right[JsonObject], call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
    """With binary_data_output, the outputs' own binary_data is not sent."""
    document = right()
    if call.binary_data_output is not None and "outputs" in document:
        document["outputs"] = [without(entry, "parameters") for entry in document["outputs"]]
    return document


client_fault("outputs-not-named", "K16", PlainClient.document)(
    "The outputs that the caller names are not sent.",
    lambda right, call, blobs: without(right(), "outputs"),
)
client_fault("outputs-only-first", "K16", PlainClient.document)(
    "Only the first named output is asked for.",
    lambda right, call, blobs: right(replace(call, outputs=call.outputs and call.outputs[:1])),
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
client_fault("callers-parameters-of-outputs-replace-form", "K19", PlainClient.merged)(
    "An output's own parameters replace its binary_data, whatever their names.",
    replaces("binary_data"),
)
client_fault("callers-parameters-of-the-request-replace-forms", "K19", PlainClient.merged)(
    "The caller's request parameters replace binary_data_output, whatever their names.",
    replaces("binary_data_output"),
)
client_fault("callers-parameters-lost", "K19", PlainClient.merged)(
    "The caller's own parameters are not sent.",
    lambda right, own, reserved, place: dict(right() and reserved),
)
client_fault("callers-parameters-as-text", "K19", PlainClient.merged)(
    "The caller's parameters become strings.",
    lambda right, own, reserved, place: right({name: str(value) for name, value in own.items()}),
)
