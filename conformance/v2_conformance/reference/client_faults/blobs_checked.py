"""Faults of what a client does not check: sizes, shapes, the header length (K5, K6, K24, K25)."""

from __future__ import annotations

import json
from math import prod

from v2_conformance.protocol.datatypes import DATATYPES, Shape, from_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.client.connection import Answer
from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.reference.client.requests_made import JsonObject
from v2_conformance.reference.client.responses_read import Blobs
from v2_conformance.reference.client_faults.registry import client_fault


def _rows(datatype: str, shape: Shape, blob: bytes) -> Shape:
    """A shape that fits the blob, whatever was declared."""
    size = DATATYPES[datatype].size
    return shape if size is None else (len(blob) // size,)


@client_fault(
    "short-blob-padded", breaks="K5", text="A blob that is too short is filled up with zeros."
)
class _ShortPadded(PlainClient):
    def take(self, blobs: Blobs, size: int, datatype: str, shape: Shape) -> bytes:
        missing = blobs.position + size - len(blobs.data)
        blobs.data += bytes(max(missing, 0))
        return super().take(blobs, size, datatype, shape)


@client_fault(
    "short-blob-as-it-is",
    breaks="K5",
    text="A blob that is too short becomes a tensor of the elements that came.",
)
class _ShortAsItIs(PlainClient):
    def take(self, blobs: Blobs, size: int, datatype: str, shape: Shape) -> bytes:
        start, blobs.position = blobs.position, blobs.position + size
        return blobs.data[start : start + size]

    def binary_output(self, name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
        size = DATATYPES[datatype].size or 1
        if len(blob) == size * prod(shape):
            return super().binary_output(name, datatype, shape, blob)
        whole = blob[: len(blob) // size * size]
        return Tensor(name, datatype, _rows(datatype, shape, whole), whole)

    def check_all_read(self, blobs: Blobs) -> None:
        return None


@client_fault(
    "short-blob-from-stale-memory",
    breaks="K5",
    text="What is missing of a blob is what lay in the buffer from before.",
)
class _FromStaleMemory(PlainClient):
    def take(self, blobs: Blobs, size: int, datatype: str, shape: Shape) -> bytes:
        missing = max(blobs.position + size - len(blobs.data), 0)
        blobs.data += b"\xaa" * missing
        return super().take(blobs, size, datatype, shape)


@client_fault("excess-ignored", breaks="K6", text="Bytes after the last blob are ignored.")
class _ExcessIgnored(PlainClient):
    def check_all_read(self, blobs: Blobs) -> None:
        return None


@client_fault(
    "last-blob-takes-the-rest",
    breaks="K6",
    text="The last blob is whatever the body has left, cut to its shape.",
)
class _TakesTheRest(PlainClient):
    def check_all_read(self, blobs: Blobs) -> None:
        blobs.position = len(blobs.data)


# --- the header length ------------------------------------------------------------------------


@client_fault(
    "header-length-beyond-the-body-cut",
    breaks="K24",
    text="A header length beyond the end of the body is cut to the body.",
)
class _BeyondCut(PlainClient):
    def length_read(self, text: str, body: bytes) -> int:
        return super().length_read(str(min(int(text), len(body))), body)


@client_fault(
    "header-length-not-a-number-ignored",
    breaks="K24",
    text="A header length that is no number is ignored.",
)
class _NotANumberIgnored(PlainClient):
    def split(self, answer: Answer) -> tuple[bytes, Blobs]:
        field = self.length_field(answer.fields)
        if field is not None and not field.isdigit():
            return answer.body, Blobs(b"")
        return super().split(answer)


@client_fault(
    "header-length-negative-from-the-end",
    breaks="K24",
    text="A negative header length counts from the end of the body, as Python's slices do.",
)
class _FromTheEnd(PlainClient):
    def length_read(self, text: str, body: bytes) -> int:
        return int(text) if text.startswith("-") else super().length_read(text, body)


@client_fault(
    "header-length-as-far-as-it-is-a-number",
    breaks="K24",
    text="The digits at the start of a header length are taken for it, as atoi does.",
)
class _AsAtoi(PlainClient):
    def length_read(self, text: str, body: bytes) -> int:
        digits = len(text) - len(text.lstrip("0123456789"))
        return super().length_read(text[:digits] or "0", body)


@client_fault(
    "json-end-searched-for",
    breaks="K24",
    text="The JSON ends where a parser finds its end, whatever the header length is.",
)
class _SearchedFor(PlainClient):
    def split(self, answer: Answer) -> tuple[bytes, Blobs]:
        text = answer.body.decode("latin-1")
        length = json.JSONDecoder().raw_decode(text)[1]
        return answer.body[:length], Blobs(answer.body[length:])


@client_fault(
    "header-length-zero-is-absent",
    breaks="K24",
    text="A header length of 0 counts as none, and the whole body as JSON.",
)
class _ZeroIsAbsent(PlainClient):
    def split(self, answer: Answer) -> tuple[bytes, Blobs]:
        if self.length_field(answer.fields) == "0":
            return answer.body, Blobs(b"")
        return super().split(answer)


# --- size, shape and datatype -----------------------------------------------------------------


@client_fault(
    "shape-trusted-over-size",
    breaks="K25",
    text="A blob is as long as its shape says; its binary_data_size is only a flag.",
)
class _ShapeOverSize(PlainClient):
    def take(self, blobs: Blobs, size: int, datatype: str, shape: Shape) -> bytes:
        element = DATATYPES[datatype].size
        own = size if element is None else element * prod(shape)
        return super().take(blobs, own, datatype, shape)

    def check_all_read(self, blobs: Blobs) -> None:
        return None


@client_fault(
    "size-trusted-over-shape",
    breaks="K25",
    text="A blob becomes as many elements as it has room for, whatever the shape says.",
)
class _SizeOverShape(PlainClient):
    def binary_output(self, name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
        element = DATATYPES[datatype].size
        if element is not None and len(blob) % element == 0 and len(blob) != element * prod(shape):
            return Tensor(name, datatype, _rows(datatype, shape, blob), blob)
        return super().binary_output(name, datatype, shape, blob)


@client_fault(
    "size-not-a-multiple-cut",
    breaks="K25",
    text="A blob that ends inside an element is cut to the elements that are whole.",
)
class _NotAMultiple(PlainClient):
    def binary_output(self, name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
        element = DATATYPES[datatype].size
        if element is not None and len(blob) % element:
            blob = blob[: len(blob) // element * element]
            return Tensor(name, datatype, _rows(datatype, shape, blob), blob)
        return super().binary_output(name, datatype, shape, blob)


@client_fault(
    "negative-dimension-inferred",
    breaks="K25",
    text="A dimension of -1 is inferred from the size, as numpy does.",
)
class _Inferred(PlainClient):
    def output(self, entry: JsonObject, blobs: Blobs) -> Tensor:
        shape, size = entry.get("shape"), self.binary_size(entry)
        element = DATATYPES[entry["datatype"]].size
        if isinstance(shape, list) and -1 in shape and size is not None and element:
            others = -prod(shape)
            inferred = [size // element // others if n == -1 else n for n in shape]
            return super().output({**entry, "shape": inferred}, blobs)
        return super().output(entry, blobs)


@client_fault(
    "unknown-datatype-as-bytes",
    breaks="K25",
    text="An output of an unknown datatype is given to the user as UINT8.",
)
class _UnknownDatatype(PlainClient):
    def output(self, entry: JsonObject, blobs: Blobs) -> Tensor:
        size = self.binary_size(entry)
        if entry.get("datatype") not in DATATYPES and size is not None:
            blob = blobs.data[blobs.position : blobs.position + size]
            blobs.position += size
            return Tensor(str(entry.get("name")), "UINT8", (len(blob),), blob)
        return super().output(entry, blobs)


@client_fault(
    "json-elements-not-counted",
    breaks="K25",
    text="JSON data with another number of elements than the shape becomes a tensor of its own.",
)
class _NotCounted(PlainClient):
    def json_output(self, name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
        data = entry.get("data")
        if isinstance(data, list) and not any(isinstance(item, list) for item in data):
            shape = (len(data),)
        return super().json_output(name, datatype, shape, entry)


@client_fault(
    "json-integers-out-of-range-wrap",
    breaks="K25",
    text="A JSON integer beyond its datatype is cut to the bits that fit.",
)
class _OutOfRange(PlainClient):
    def json_output(self, name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
        kind, size = DATATYPES[datatype].kind, DATATYPES[datatype].size
        data = entry.get("data")
        if kind != "int" or not size or not isinstance(data, list):
            return super().json_output(name, datatype, shape, entry)
        bits = 8 * size
        cut = [int(value) % 2**bits for value in data]
        return Tensor(name, datatype, shape, from_values(f"UINT{bits}", cut))


@client_fault("size-converted", breaks="K25", text="A size of any type is converted to an integer.")
class _SizeConverted(PlainClient):
    def binary_size(self, entry: JsonObject) -> int | None:
        size = (entry.get("parameters") or {}).get("binary_data_size")
        return None if size is None else int(size)


@client_fault(
    "output-without-data-is-empty",
    breaks="K25",
    text="An output without data and size is a tensor without elements.",
)
class _WithoutData(PlainClient):
    def json_output(self, name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
        if "data" not in entry:
            return Tensor(name, datatype, (0,), b"")
        return super().json_output(name, datatype, shape, entry)


@client_fault(
    "bytes-lengths-beyond-the-blob-cut",
    breaks="K25",
    text="A BYTES element whose length goes beyond the blob ends with the blob.",
)
class _BeyondTheBlob(PlainClient):
    def binary_output(self, name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
        if datatype != "BYTES":
            return super().binary_output(name, datatype, shape, blob)
        elements, position = [], 0
        while position < len(blob):
            length = int.from_bytes(blob[position : position + 4], "little")
            elements.append(blob[position + 4 : position + 4 + length])
            position += 4 + length
        return Tensor(name, datatype, shape, from_values("BYTES", elements))


@client_fault(
    "json-bool-of-any-truth",
    breaks="K25",
    text="JSON data of any type becomes BOOL by Python's truth.",
)
class _AnyTruth(PlainClient):
    def json_output(self, name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
        data = entry.get("data")
        if datatype == "BOOL" and isinstance(data, list):
            entry = {**entry, "data": [bool(value) for value in data]}
        return super().json_output(name, datatype, shape, entry)
