"""Faults of how a client reads blobs, elements and JSON, and of what it does not check."""

from __future__ import annotations

import json
import re
from math import prod
from typing import Any

import numpy as np
from msgspec import structs

from v2_clients.plain.connection import Answer
from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.responses_read import Blobs, Inference
from v2_clients.plain.task import Call, ClientError
from v2_conformance.protocol.datatypes import (
    DATATYPES,
    Shape,
    decode_bytes,
    encode_bytes,
    from_values,
)
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_mutants.changes import byteswapped, fail
from v2_mutants.registry import Right, What, client_fault

client_fault("read-backwards", "K3", PlainClient.outputs)(
    "Blobs are taken from the last output to the first.",
    lambda right, call, entries, blobs: right(call, entries[::-1])[::-1],
)
client_fault("header-name-by-case", "K4", PlainClient.length_field)(
    "The header length is found only under its name in the documents' letter case.",
    lambda right, fields: dict(fields.items()).get(HEADER_LENGTH),
)


def _if_empty(tensor: Tensor, **changes: Any) -> Tensor:
    return tensor if tensor.blob else structs.replace(tensor, **changes)


client_fault("empty-output-dropped", "K8", PlainClient.outputs)(
    "An output without elements is left out of the result.",
    lambda right, call, entries, blobs: [tensor for tensor in right() if tensor.blob],
)
client_fault("empty-output-of-fp64", "K8", PlainClient.output)(
    "An output without elements becomes one of FP64.",
    lambda right, entry, blobs: _if_empty(right(), datatype="FP64"),
)
client_fault("size-zero-is-no-size", "K8", PlainClient.binary_size)(
    "A binary_data_size of 0 counts as none, and the output has to have data.",
    lambda right, entry: right() or None,
)

Split = tuple[bytes, Blobs]


def padded(byte: bytes) -> What[bytes]:
    """Return what fills up a blob that is too short."""

    def what(right: Right[bytes], blobs: Blobs, size: int, datatype: str, shape: Shape) -> bytes:
        blobs.data += byte * (blobs.position + size - len(blobs.data))
        return right()

    return what


def _whole(datatype: str, blob: bytes) -> bytes:
    """The elements of a blob that are whole."""
    size = DATATYPES[datatype].size or 1
    return blob[: len(blob) // size * size]


def _row(datatype: str, shape: Shape, blob: bytes) -> Shape:
    """A shape that fits the blob, whatever was declared."""
    size = DATATYPES[datatype].size
    return shape if size is None else (len(blob) // size,)


client_fault("short-blob-from-stale-memory", "K5", PlainClient.take)(
    "What is missing of a blob is what lay in the buffer from before.",
    padded(b"\xaa"),
)
client_fault("excess-ignored", "K6", PlainClient.check_all_read)(
    "Bytes after the last blob are ignored.",
    lambda right, blobs: None,
)


@client_fault.several("json-end-searched-for", "K24")
class _JsonEndSearchedFor(PlainClient):
    """The JSON ends where a parser finds its end, and blobs begin there, whatever is left over."""

    def split(self, answer: Answer) -> Split:
        _, length = json.JSONDecoder().raw_decode(answer.body.decode("latin-1"))
        return answer.body[:length], Blobs(answer.body[length:])

    def check_all_read(self, blobs: Blobs) -> None:
        return None


@client_fault("blobs-misplaced-read-as-zeros", "K24", PlainClient.split)
def _(right: Right[Split], answer: Answer) -> Split:
    """If the header length is not that of the JSON, blobs are zeros behind the JSON's end."""
    _, length = json.JSONDecoder().raw_decode(answer.body.decode("latin-1"))
    if length == len(answer.body) or right.client.length_field(answer.fields) == str(length):
        return right()
    return answer.body[:length], Blobs(bytes(len(answer.body) - length))


@client_fault.several("shape-trusted-over-size", "K25")
class _ShapeOverSize(PlainClient):
    """A blob is as long as its shape says; its binary_data_size is only a flag."""

    def take(self, blobs: Blobs, size: int, datatype: str, shape: Shape) -> bytes:
        element = DATATYPES[datatype].size
        own = size if element is None else element * prod(shape)
        return super().take(blobs, own, datatype, shape)

    def check_all_read(self, blobs: Blobs) -> None:
        return None


@client_fault("size-not-a-multiple-cut", "K25", PlainClient.binary_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
    """A blob that ends inside an element is cut to the elements that are whole."""
    whole = _whole(datatype, blob)
    return right() if whole == blob else right(shape=_row(datatype, shape, whole), blob=whole)


client_fault("empty-shape-not-compared", "K25", PlainClient.binary_output)(
    "An output of the shape [] has as many elements as came.",
    lambda right, name, datatype, shape, blob: right(
        shape=shape or _row(datatype, shape, blob)
        if len(blob) != DATATYPES[datatype].size
        else shape
    ),
)
client_fault("json-not-utf-8-replaced", "K25", PlainClient.parse)(
    "What is not UTF-8 in a response's JSON is read as the replacement character.",
    lambda right, text: right(text.decode(errors="replace").encode()),
)
client_fault("json-exponents-cut-at-38", "K25", PlainClient.parse)(
    "A JSON number beyond FP32 becomes one that FP32 can hold.",
    lambda right, text: right(re.sub(rb"e(39|[4-9][0-9])\b", b"e38", text)),
)


@client_fault("unreadable-output-is-empty", "K25", PlainClient.output)
def _(right: Right[Tensor], entry: JsonObject, blobs: Blobs) -> Tensor:
    """An output whose shape or size is none has no elements, and its blob is not looked at."""
    try:
        return right()
    except ClientError:
        name, datatype = entry.get("name"), entry.get("datatype")
        if not isinstance(name, str) or datatype not in DATATYPES:
            raise
        blobs.position = len(blobs.data)
        return Tensor(name, datatype, (0,), b"")


@client_fault("unknown-datatype-as-bytes", "K25", PlainClient.output)
def _(right: Right[Tensor], entry: JsonObject, blobs: Blobs) -> Tensor:
    """An output of an unknown datatype is given to the user as UINT8."""
    size = right.client.binary_size(entry)
    known = entry.get("datatype") in DATATYPES or size is None
    return right() if known else right({**entry, "datatype": "UINT8", "shape": [size]})


@client_fault("json-integers-out-of-range-wrap", "K25", PlainClient.json_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
    """A JSON integer beyond its datatype is cut to the bits that fit."""
    data, bits = entry.get("data"), 8 * (DATATYPES[datatype].size or 0)
    if DATATYPES[datatype].kind != "int" or not isinstance(data, list):
        return right()
    cut = [int(value) % 2**bits for value in data]
    return Tensor(name, datatype, shape, from_values(f"UINT{bits}", cut))


@client_fault("bytes-lengths-beyond-the-blob-cut", "K25", PlainClient.binary_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
    """A BYTES element whose length goes beyond the blob ends with the blob."""
    if datatype != "BYTES":
        return right()
    elements, position = [], 0
    while position < len(blob):
        length = int.from_bytes(blob[position : position + 4], "little")
        elements.append(blob[position + 4 : position + 4 + length])
        position += 4 + length
    return Tensor(name, datatype, shape, from_values("BYTES", elements))


@client_fault("json-bool-of-any-truth", "K25", PlainClient.json_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
    """JSON data of any type becomes BOOL by Python's truth."""
    data = entry.get("data")
    if datatype == "BOOL" and isinstance(data, list):
        entry = {**entry, "data": [bool(value) for value in data]}
    return right(entry=entry)


@client_fault("read-trailing-nuls-dropped", "K12", PlainClient.output)
def _(right: Right[Tensor], entry: JsonObject, blobs: Blobs) -> Tensor:
    """Trailing NULs of BYTES elements that are read are dropped, as numpy's S type does."""
    tensor = right()
    if tensor.datatype != "BYTES":
        return tensor
    elements = [element.rstrip(b"\0") for element in decode_bytes(tensor.blob)]
    return structs.replace(tensor, blob=encode_bytes(elements))


client_fault("read-big-endian", "K14", PlainClient.binary_output)(
    "Blobs are read as big-endian, as Java does.",
    lambda right, name, datatype, shape, blob: right(blob=byteswapped(datatype, blob)),
)


@client_fault("signaling-nans-read-as-quiet", "K14", PlainClient.binary_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
    """FP32 is read by way of a double, which makes signaling NaNs quiet."""
    with np.errstate(invalid="ignore"):
        doubles = np.frombuffer(blob, "<f4").astype("<f8") if datatype == "FP32" else None
        return right() if doubles is None else right(blob=doubles.astype("<f4").tobytes())


@client_fault("read-blobs-as-text", "K14", PlainClient.binary_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
    """The body is decoded as text, and bytes from 0x80 come out as others."""
    text = blob.decode(errors="replace").encode("latin-1", errors="replace")
    return right() if datatype == "BYTES" else right(blob=text)


@client_fault("output-in-the-shape-sent", "K14", PlainClient.read)
def _(right: Right[Inference], call: Call, answer: Answer) -> Inference:
    """An output gets the shape of the input that has as many elements."""
    read = right()
    sent = {prod(one.shape): one.shape for one in reversed(call.inputs)}
    outputs = (
        structs.replace(one, shape=sent.get(prod(one.shape), one.shape)) for one in read.outputs
    )
    return Inference(tuple(outputs), read.model_name, read.model_version, read.id)


@client_fault("read-json-negative-zero-lost", "K14", PlainClient.json_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
    """A JSON number of -0.0 is read as 0."""
    tensor = right()
    if datatype not in ("FP32", "FP64"):
        return tensor
    values = np.frombuffer(tensor.blob, DATATYPES[datatype].numpy)
    return structs.replace(tensor, blob=(values + 0.0).astype(values.dtype).tobytes())


_NO_SIZE, _UNKNOWN = "an output has no binary_data_size", "the response has an unknown member"
_MEMBERS = {"model_name", "model_version", "id", "parameters", "outputs", "error"}


def refused_if_it_has(pattern: bytes) -> What[JsonObject]:
    """Return what does not read a response's JSON that has this."""
    return lambda right, text: fail("not JSON") if re.search(pattern, text) else right()


client_fault("parameters-mean-binary", "K11", PlainClient.binary_size)(
    "An output with parameters has to have a binary_data_size among them.",
    lambda right, entry: fail(_NO_SIZE) if entry.get("parameters") and right() is None else right(),
)
client_fault("empty-parameters-mean-binary", "K11", PlainClient.binary_size)(
    "An output whose parameters are empty has to have a binary_data_size.",
    lambda right, entry: fail(_NO_SIZE) if entry.get("parameters") == {} else right(),
)


def requires(member: str) -> What[None]:
    """Return what raises KeyError for a response without a member."""

    def what(right: Right[None], answer: Answer, document: JsonObject) -> None:
        right()
        document[member]

    return what


client_fault("model-name-required", "K22", PlainClient.check_document)(
    "A response without model_name raises KeyError.",
    requires("model_name"),
)
client_fault("id-required", "K22", PlainClient.check_document)(
    "A response without id raises KeyError.",
    requires("id"),
)
client_fault("unknown-members-refused", "K23", PlainClient.check_document)(
    "A member of the response that the client does not know is an error.",
    lambda right, answer, document: fail(_UNKNOWN) if set(document) - _MEMBERS else right(),
)
client_fault("json-with-white-space-refused", "K23", PlainClient.parse)(
    "The JSON is searched for text that has no white space in it.",
    lambda right, text: right() if b'"outputs":[' in text else fail("no outputs"),
)
client_fault("json-escapes-not-read", "K23", PlainClient.parse)(
    "Escapes in the JSON's strings are left as they are.",
    lambda right, text: right(re.sub(rb"\\u", rb"\\\\u", text)),
)
for _name, _what, _escape in (
    ("of-pairs", "of characters beyond U+FFFF", rb"\\u[dD][89abAB]"),
    ("of-slashes", "of a slash", rb"\\/"),
):
    client_fault(f"json-escapes-{_name}-refused", "K23", PlainClient.parse)(
        f"An escape {_what} in a JSON string is an error.", refused_if_it_has(_escape)
    )
client_fault("json-read-as-latin-1", "K23", PlainClient.parse)(
    "The JSON is read as Latin-1.",
    lambda right, text: right(json.dumps(json.loads(text.decode("latin-1"))).encode()),
)
client_fault("json-members-in-order", "K23", PlainClient.output)(
    "An output has to begin with its name, as those of one server do.",
    lambda right, entry, blobs: right() if next(iter(entry), "") == "name" else fail("no name"),
)


@client_fault("json-numbers-by-their-spelling", "K23", PlainClient.json_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
    """A float that is written without a point is an error."""
    whole = DATATYPES[datatype].kind == "float" and type(entry["data"][0]) is int
    return fail("expected a float") if whole else right()


@client_fault("json-nested-data-refused", "K23", PlainClient.json_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
    """JSON data has to be flat, not nested as the shape."""
    nested = any(isinstance(item, list) for item in entry["data"])
    return fail("expected flat data") if nested else right()
