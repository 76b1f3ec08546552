"""Legal ways to write the JSON of a request."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.responses_read import Inference
from v2_clients.plain.task import Call, CallerInput, CallerOutput, ClientError
from v2_mutants.changes import without
from v2_mutants.registry import Right, What, client_variant

_SPACE = "K1 K2 K18 K35; RFC 8259, section 2: white space around tokens is insignificant"
_STRINGS = "K1 K12 K35; RFC 8259, section 7: any character may be escaped"
_OPTIONAL = "K16 K35; base protocol, Inference Request JSON Object: parameters are optional"
_ROUNDED = "K14; RFC 8259, section 6: 1 and 1.0 are one number"


def _dumped(written: Callable[[Any], str]) -> What[bytes]:
    return lambda right, document: written(document).encode()


for _name, _sentence, _written in (
    (
        "json-indented",
        "JSON is indented.",
        lambda document: json.dumps(document, indent=3, ensure_ascii=False),
    ),
    (
        "json-compact",
        "JSON has no white space.",
        lambda document: json.dumps(document, separators=(",", ":"), ensure_ascii=False),
    ),
    (
        "json-padded-behind",
        "The JSON ends with white space, up to a multiple of 64 bytes.",
        lambda document: json.dumps(document) + " " * (-len(json.dumps(document)) % 64),
    ),
    (
        "json-padded-before",
        "The JSON begins with white space.",
        lambda document: "\r\n\t " + json.dumps(document),
    ),
):
    client_variant(_name, _SPACE, PlainClient.dump)(_sentence, _dumped(_written))

client_variant("json-in-ascii", _STRINGS, PlainClient.dump)(
    "Characters other than ASCII are escaped in JSON.",
    lambda right, document: json.dumps(document).encode(),
)
client_variant("json-letters-escaped", _STRINGS, PlainClient.dump)(
    "Each letter I is escaped in JSON.",
    lambda right, document: right().replace(b"I", rb"\u0049"),
)
client_variant(
    "json-members-reversed", "K2 K16 K35; RFC 8259, section 4: unordered", PlainClient.dump
)(
    "The members of every JSON object are in reverse order.",
    lambda right, document: right(_reversed(document)),
)


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _reversed(value[name]) for name in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


client_variant("empty-request-parameters", _OPTIONAL, PlainClient.document)(
    "A request without parameters has an empty object of them.",
    lambda right, call, blobs: {"parameters": {}, **right()},
)
client_variant("empty-input-parameters", _OPTIONAL, PlainClient.input_object)(
    "An input without parameters has an empty object of them.",
    lambda right, tensor, blob: {"parameters": {}, **right()},
)
client_variant("empty-output-parameters", _OPTIONAL, PlainClient.output_object)(
    "A requested output without parameters has an empty object of them.",
    lambda right, output: {"parameters": {}, **right()},
)
client_variant(
    "ids-made-up", "K9 K22 K35; base protocol: an id is the client's to choose", PlainClient.infer
)(
    "A request has an id if its caller gave none.",
    lambda right, call: right(call if call.id is not None else replace(call, id=str(uuid.uuid4()))),
)


@client_variant(
    "binary-by-default",
    "K3 K16; binary extension: a caller who says nothing leaves the form to the client",
    PlainClient.output_parameters,
)
def _(right: Right[JsonObject], output: CallerOutput) -> JsonObject:
    """A named output is asked for as a blob if the caller says nothing of its form."""
    return right() or {"binary_data": True}


def asks_for_all(binary: bool) -> What[JsonObject]:
    """Return what asks for all outputs in one form if the caller says nothing."""
    return lambda right, call: right() or {"binary_data_output": binary}


for _form, _words, _binary in (("binary", "as blobs", True), ("json", "in JSON", False)):
    client_variant(
        f"{_form}-outputs-by-default",
        "K7 K9 K16; binary extension: a caller who says nothing leaves the form to the client",
        PlainClient.request_parameters,
    )(f"All outputs are asked for {_words} if the caller says nothing.", asks_for_all(_binary))


@client_variant(
    "default-form-left-out",
    "K16; binary extension, Binary Tensor Request: binary_data is false by default",
    PlainClient.document,
)
def _(right: Right[JsonObject], call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
    """`binary_data` is not sent if it says what holds without it."""
    document = right()
    for output in () if call.binary_data_output else document.get("outputs", ()):
        if output.get("parameters", {}).get("binary_data") is False:
            output["parameters"] = without(output["parameters"], "binary_data")
    return document


@client_variant(
    "data-nested",
    "K14 K35; base protocol, Tensor Data: nested in the tensor's shape, or flat",
    PlainClient.json_data,
)
def _(right: Right[list[Any]], tensor: CallerInput) -> list[Any]:
    """JSON data are nested as their shape says."""
    flat = np.empty(int(np.prod(tensor.shape)), dtype=object)
    flat[:] = right()
    nested: list[Any] = flat.reshape(tensor.shape or (1,)).tolist()
    return nested


client_variant("whole-floats-as-integers", _ROUNDED, PlainClient.json_float)(
    "A float that is a whole number has no decimal point; the sign of zero is kept.",
    lambda right, value: (
        int(right()) if value.is_integer() and value and abs(value) < 1e6 else right()
    ),
)

client_variant(
    "negative-zero-as-integer",
    "K14; RFC 8259, section 6: -0 is a number; JavaScript libraries and C's %g write it",
    PlainClient.dump,
)(
    "The float -0.0 is written as -0.",
    lambda right, document: re.sub(rb"(?<=[\[, ])-0\.0(?=[\], ])", b"-0", right()),
)


@client_variant(
    "no-halves-in-json",
    "K2 K3 K8 K14 K16 K35; K14: no JSON library has a half, so a client may refuse FP16 there",
    PlainClient.json_data,
)
def _(right: Right[list[Any]], tensor: CallerInput) -> list[Any]:
    """FP16 is not sent as JSON."""
    if tensor.datatype == "FP16":
        raise ClientError("FP16 has no JSON form here")
    return right()


@client_variant(
    "blobs-instead",
    "K20; K20: the same tensor as a blob is as good as an error",
    PlainClient.infer,
)
def _(right: Right[Inference], call: Call) -> Inference:
    """An input that JSON cannot express is sent as a blob."""

    def expressed(tensor: CallerInput) -> CallerInput:
        try:
            if not tensor.binary:
                right.client.json_data(tensor)
        except ClientError:
            return replace(tensor, binary=True)
        return tensor

    return right(replace(call, inputs=tuple(map(expressed, call.inputs))))


def _refuses(name: str, sentence: str, order: str) -> None:
    @client_variant(name, "K10; K10: or refuse to send it", PlainClient.numbers)
    def _(right: Right[Any], tensor: CallerInput) -> Any:
        array = tensor.array
        if array.dtype.byteorder == ">" if order == ">" else not array.flags.c_contiguous:
            raise ClientError("this client takes other arrays")
        return right()

    client_variant[name] = replace(client_variant[name], text=sentence)


_refuses("column-major-refused", "An array in column-major order is refused.", "F")
_refuses("big-endian-refused", "An array with big-endian bytes is refused.", ">")

client_variant(
    "one-nan-of-bf16", "K15; K15: a NaN remains a NaN, whichever it is", PlainClient.bf16_bits
)(
    "Every NaN is rounded to the same one.",
    lambda right, array: np.where(np.isnan(array), 0x7FC0, right()).astype("<u2"),
)


@client_variant(
    "reserved-parameters-ignored",
    "K19; K19: the client sends the extension's own parameters, whatever the caller adds",
    PlainClient.merged,
)
def _(
    right: Right[JsonObject], own: Mapping[str, Any], reserved: Mapping[str, Any], place: str
) -> JsonObject:
    """A parameter of the extension's that the caller adds is dropped."""
    return right(without(own, "binary_data_output", place, *reserved))
