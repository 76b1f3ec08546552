"""Faults of the JSON that a client sends (K14 in JSON, K20, K35), and of parameters (K16, K19)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_mutants.registry import Right, What, client_fault

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
