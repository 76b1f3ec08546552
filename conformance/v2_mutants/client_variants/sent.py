"""Legal ways to write the JSON of a request, its header fields, codings and path."""

from __future__ import annotations

import gzip
import json
import re
import uuid
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import requests

from v2_clients.plain.connection import Answer
from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.responses_read import Inference
from v2_clients.plain.task import Call, CallerInput, CallerOutput, ClientError
from v2_conformance.protocol.names import HEADER_LENGTH, JSON_TYPE, OCTET_STREAM
from v2_mutants.changes import without
from v2_mutants.registry import Right, What, client_variant

_SPACE = "K1 K2 K18 K35; RFC 8259, section 2: white space around tokens is insignificant"
_STRINGS = "K1 K12 K35; RFC 8259, section 7: any character may be escaped"
_OPTIONAL = "K16 K35; base protocol, Inference Request JSON Object: parameters are optional"
_ROUNDED = "K14; RFC 8259, section 6: 1 and 1.0 are one number"


def _dumped(written: Callable[[Any], str]) -> What[bytes]:
    return lambda right, document: written(document).encode()


for _name, _sentence, _written in (
    ("json-indented", "JSON is indented.",
     lambda document: json.dumps(document, indent=3, ensure_ascii=False)),
    ("json-compact", "JSON has no white space.",
     lambda document: json.dumps(document, separators=(",", ":"), ensure_ascii=False)),
    ("json-padded-behind", "The JSON ends with white space, up to a multiple of 64 bytes.",
     lambda document: json.dumps(document) + " " * (-len(json.dumps(document)) % 64)),
    ("json-padded-before", "The JSON begins with white space.",
     lambda document: "\r\n\t " + json.dumps(document)),
):  # fmt: skip
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
    "K14; RFC 8259, section 6: -0 is a number; Go and C's %g write it",
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


_TYPES = "K17; RFC 9110, section 8.3.1: types are case-insensitive and may have parameters"
_OFFERS = "K9 K21; RFC 9110, section 12.5.3: a client offers what it can undo"
_GZIP = "K18; RFC 1952: what it decodes to counts, not how it was packed"
_FIELDS = "K1 K17 K18 K33; RFC 9110, section 5"
_OWN = "K9 K19 K33; RFC 9110, section 5.1: a client may send further fields"


def _typed(json: str, binary: str) -> What[str]:
    return lambda right, blobs: binary if blobs else json


def _offering(value: str) -> What[str]:
    return lambda right, call: call.response_compression or value


def _packed(pack: Callable[[bytes], bytes]) -> What[bytes]:
    return lambda right, coding, body: pack(body) if coding == "gzip" else right()


def _with_fields(more: Mapping[str, str]) -> What[Answer]:
    return lambda right, call, fields, body: right(fields={**more, **fields})


for _name, _sentence, _json, _blobs in (
    ("json-type-with-charset", "The type of JSON has a charset.",
     f"{JSON_TYPE}; charset=utf-8", OCTET_STREAM),
    ("types-in-capitals", "Types are written in capitals.",
     JSON_TYPE.upper(), OCTET_STREAM.upper()),
):  # fmt: skip
    client_variant(_name, _TYPES, PlainClient.content_type)(
        _sentence,
        _typed(_json, _blobs),
    )

for _name, _sentence, _value in (
    ("offers-all-codings", "Every coding that the client can undo is offered.", "gzip, deflate"),
    ("offers-codings-with-weights", "Codings have weights.",
     "deflate;q=0.5, gzip;q=1.0, identity; q=0.1"),
    ("offers-nothing-else", "All other codings are excluded.", "identity, *;q=0"),
):  # fmt: skip
    client_variant(_name, _OFFERS, PlainClient.accept_encoding)(_sentence, _offering(_value))
client_variant("offers-nothing", _OFFERS, PlainClient.fields)(
    "Accept-Encoding is left to the library, which undoes what it offers.",
    lambda right, call, text, blobs, body: (
        right() if call.response_compression else without(right(), "Accept-Encoding")
    ),
)

for _name, _sentence, _pack in (
    ("gzip-stored", "A gzip body is stored, not deflated.", lambda body: gzip.compress(body, 0)),
    ("gzip-in-two-members", "A gzip body is a series of two members.",
     lambda body: gzip.compress(body[:9]) + gzip.compress(body[9:])),
):  # fmt: skip
    client_variant(_name, _GZIP, PlainClient.coded)(_sentence, _packed(_pack))
client_variant("deflate-stored", "K18; RFC 1950: any level", PlainClient.coded)(
    "A deflate body is stored.",
    lambda right, coding, body: zlib.compress(body, 0) if coding == "deflate" else right(),
)
client_variant(
    "field-names-in-small-letters", f"{_FIELDS}.1: names have any case", PlainClient.exchange
)(
    "Names of header fields are in lower case.",
    lambda right, call, fields, body: right(
        fields={name.lower(): value for name, value in fields.items()}
    ),
)
client_variant("fields-reversed", f"{_FIELDS}.3: order is not significant", PlainClient.exchange)(
    "Header fields are in reverse order.",
    lambda right, call, fields, body: right(fields=dict(reversed(list(fields.items())))),
)
for _name, _sentence, _more in (
    ("says-who-it-is", "A request says whose it is.",
     {"User-Agent": "c/1 (x; y)", "X-Client": "c"}),
    ("accepts-types", "A request has Accept.",
     {"Accept": "application/json, application/octet-stream;q=0.9"}),
    ("accepts-trailers", "A request offers to read trailers.",
     {"TE": "trailers", "Connection": "TE"}),
    ("expects-continue", "A request expects 100 Continue.", {"Expect": "100-continue"}),
):  # fmt: skip
    client_variant(_name, _OWN, PlainClient.exchange)(_sentence, _with_fields(_more))


@client_variant(
    "always-says-the-length",
    "K1 K9; binary extension: without blobs it is the length of the whole body",
    PlainClient.exchange,
)
def _(right: Right[Answer], call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
    """A request without blobs has a header length, too."""
    return right(fields={HEADER_LENGTH: str(len(body)), **fields})


@client_variant(
    "encodes-as-the-caller-says",
    "K19; K19: the true coding is sent",
    PlainClient.infer,
)
def _(right: Right[Inference], call: Call) -> Inference:
    """A caller who passes a Content-Encoding gets a body in that coding."""
    coding = call.headers.get("Content-Encoding", call.request_compression)
    others = without(call.headers, "Content-Encoding")
    return right(replace(call, headers=others, request_compression=coding))


@client_variant(
    "framing-fields-ignored",
    "K19; K19: the client sends the true lengths, whatever the caller adds",
    PlainClient.with_callers,
)
def _(right: Right[JsonObject], call: Call, fields: JsonObject) -> JsonObject:
    """A framing field that the caller adds is dropped."""
    own = {"content-length", "content-encoding", "transfer-encoding", HEADER_LENGTH.lower()}
    others = {name: value for name, value in call.headers.items() if name.lower() not in own}
    return right(replace(call, headers=others))


@client_variant(
    "names-percent-encoded",
    "K16 K33 K35; RFC 3986, section 6.2.2.2: %69 is i",
    PlainClient.prepared,
)
def _(
    right: Right[requests.PreparedRequest], call: Call, fields: Mapping[str, str], body: bytes
) -> requests.PreparedRequest:
    """The first letter of the model's name is percent-encoded in the path."""
    request = right()
    start, models, name = (request.url or "").partition("/v2/models/")
    if name[:1].isalnum():
        request.url = f"{start}{models}%{ord(name[0]):02x}{name[1:]}"
    return request


@client_variant(
    "metadata-read-first",
    "K1 K2 K3 K14 K16 K22 K33 K35; base protocol, Model Metadata: all outputs have names there",
    PlainClient.document,
)
def _(right: Right[JsonObject], call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
    """What the metadata lacks is refused, and all of its outputs are listed if none is named."""
    client = right.client
    url = client.url + client.path(call).removesuffix("/infer")
    answer = client.session.get(url, timeout=client.time_limit())
    if answer.status_code != 200:
        raise ClientError(answer.text, answer.status_code)
    metadata = answer.json()
    inputs = {entry["name"]: entry for entry in metadata["inputs"]}
    outputs = [entry["name"] for entry in metadata["outputs"]]
    for tensor in call.inputs:
        declared = inputs.get(tensor.name, {"datatype": None, "shape": []})
        if (declared["datatype"], len(declared["shape"])) != (tensor.datatype, len(tensor.shape)):
            raise ClientError(f"the model has no such input: {tensor.name}")
    if any(output.name not in outputs for output in call.outputs or ()):
        raise ClientError("the model has no such output")
    return {"outputs": [{"name": name} for name in outputs], **right()}
