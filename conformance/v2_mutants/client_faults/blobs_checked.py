"""Faults of what a client does not check: sizes, shapes, the header length (K5, K6, K24, K25)."""

from __future__ import annotations

import json
from math import prod

from v2_clients.plain.connection import Answer
from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.responses_read import Blobs
from v2_clients.plain.task import ClientError
from v2_conformance.protocol.datatypes import DATATYPES, Shape, from_values
from v2_conformance.protocol.message import Tensor
from v2_mutants.registry import Right, What, client_fault

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
