"""Faults of the elements that a client reads (K12, K14)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import numpy as np
from msgspec.structs import replace

from v2_clients.plain.connection import Answer
from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.responses_read import Blobs, Inference
from v2_clients.plain.task import Array, Call, CallerInput
from v2_conformance.protocol.datatypes import DATATYPES, Shape, decode_bytes, encode_bytes
from v2_conformance.protocol.message import Tensor
from v2_mutants.changes import byteswapped
from v2_mutants.registry import Right, What, client_fault


def _through_doubles(values: Array) -> Array:
    least, most = int(np.iinfo(values.dtype).min), int(np.iinfo(values.dtype).max)
    doubles = [int(float(value)) for value in values.tolist()]
    return np.array([min(max(value, least), most) for value in doubles], values.dtype)


def reads(change: Callable[[bytes], bytes]) -> What[Tensor]:
    """Return what changes every BYTES element of an output."""

    def what(right: Right[Tensor], entry: JsonObject, blobs: Blobs) -> Tensor:
        tensor = right()
        if tensor.datatype != "BYTES":
            return tensor
        return replace(tensor, blob=encode_bytes([*map(change, decode_bytes(tensor.blob))]))

    return what


def blobs_as(datatypes: Mapping[str, str]) -> What[Tensor]:
    """Return what gives blobs of some datatypes to the user as others."""

    def what(right: Right[Tensor], name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
        return replace(right(), datatype=datatypes.get(datatype, datatype))

    return what


def json_as(wide: str, *datatypes: str) -> What[Tensor]:
    """Return what gives JSON data of some datatypes to the user as `wide`."""

    def what(right: Right[Tensor], name: str, datatype: str, shape: Shape, _: object) -> Tensor:
        return right(datatype=wide if datatype in datatypes else datatype)

    return what


def json_values(change: Callable[[Array], Array], *datatypes: str) -> What[Tensor]:
    """Return what changes the values of JSON data of some datatypes."""

    def what(right: Right[Tensor], name: str, datatype: str, shape: Shape, _: object) -> Tensor:
        tensor = right()
        if datatype not in datatypes:
            return tensor
        values = np.frombuffer(tensor.blob, DATATYPES[datatype].numpy)
        return replace(tensor, blob=change(values).astype(values.dtype).tobytes())

    return what


client_fault("read-trailing-nuls-dropped", "K12", PlainClient.output)(
    "Trailing NULs of BYTES elements that are read are dropped, as numpy's S type does.",
    reads(lambda element: element.rstrip(b"\0")),
)
client_fault("read-bytes-end-at-nul", "K12", PlainClient.output)(
    "A BYTES element that is read ends at its first NUL.",
    reads(lambda element: element.partition(b"\0")[0]),
)
client_fault("read-bytes-as-text", "K12", PlainClient.output)(
    "What is not UTF-8 in a BYTES element is replaced.",
    reads(lambda element: element.decode(errors="replace").encode()),
)
client_fault("read-bytes-as-latin-1", "K12", PlainClient.output)(
    "BYTES elements that are read are taken for Latin-1.",
    reads(lambda element: element.decode("latin-1").encode()),
)
client_fault("read-bytes-stripped", "K12", PlainClient.output)(
    "White space around BYTES elements is taken away.",
    reads(lambda element: element.strip()),
)
client_fault("read-big-endian", "K14", PlainClient.binary_output)(
    "Blobs are read as big-endian, as Java does.",
    lambda right, name, datatype, shape, blob: right(blob=byteswapped(datatype, blob)),
)


@client_fault("read-blobs-as-text", "K14", PlainClient.binary_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
    """The body is decoded as text, and bytes from 0x80 come out as others."""
    text = blob.decode(errors="replace").encode("latin-1", errors="replace")
    return right() if datatype == "BYTES" else right(blob=text)


client_fault("read-unsigned-as-signed", "K14", PlainClient.binary_output)(
    "Unsigned integers are given as signed ones.",
    blobs_as({f"UINT{bits}": f"INT{bits}" for bits in (8, 16, 32, 64)}),
)
client_fault("read-bf16-as-fp16", "K14", PlainClient.binary_output)(
    "BF16 is given to the user as FP16.",
    blobs_as({"BF16": "FP16"}),
)
client_fault("read-bool-as-uint8", "K14", PlainClient.binary_output)(
    "BOOL is given to the user as UINT8.",
    blobs_as({"BOOL": "UINT8"}),
)


@client_fault("read-column-major", "K14", PlainClient.binary_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
    """Blobs are read in column-major order."""
    tensor, numpy = right(), DATATYPES[datatype].numpy
    if numpy is None:
        return tensor
    return replace(tensor, blob=np.frombuffer(blob, numpy).reshape(shape, order="F").tobytes())


@client_fault("read-shape-flattened", "K14", PlainClient.binary_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
    """Every output that is a blob has one dimension."""
    return replace(right(), shape=shape if datatype == "BYTES" else (prod(shape),))


def _as_sent(alike: Callable[[Tensor, CallerInput], Tensor]) -> What[Inference]:
    """Return what gives outputs a quality of the input that has as many elements."""

    def what(right: Right[Inference], call: Call, answer: Answer) -> Inference:
        read = right()
        sent = {prod(one.shape): one for one in reversed(call.inputs)}
        outputs = [
            alike(one, sent[prod(one.shape)]) if prod(one.shape) in sent else one
            for one in read.outputs
        ]
        return Inference(tuple(outputs), read.model_name, read.model_version, read.id)

    return what


client_fault("output-in-the-shape-sent", "K14", PlainClient.read)(
    "An output gets the shape of the input that has as many elements.",
    _as_sent(lambda output, sent: replace(output, shape=sent.shape)),
)
client_fault("output-in-the-datatype-sent", "K14", PlainClient.read)(
    "An output gets the datatype of the input that has as many elements.",
    _as_sent(lambda output, sent: replace(output, datatype=sent.datatype)),
)
client_fault("read-json-integers-as-doubles", "K14", PlainClient.json_output)(
    "JSON integers are read as doubles, which lose digits beyond 2^53, as JavaScript does.",
    json_values(_through_doubles, "INT64", "UINT64"),
)
client_fault("read-json-floats-as-fp64", "K14", PlainClient.json_output)(
    "JSON numbers of FP32 and FP16 are given to the user as FP64.",
    json_as("FP64", "FP16", "FP32"),
)
client_fault("read-json-integers-as-int64", "K14", PlainClient.json_output)(
    "JSON integers are given to the user as INT64, whatever their datatype.",
    json_as("INT64", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32"),
)
client_fault("read-json-integers-in-32-bits", "K14", PlainClient.json_output)(
    "JSON integers beyond 32 bits are read as the largest that has 32.",
    json_values(lambda values: np.minimum(values, 2**31 - 1), "INT64", "UINT64"),
)
client_fault("read-json-negative-zero-lost", "K14", PlainClient.json_output)(
    "A JSON number of -0.0 is read as 0.",
    json_values(lambda values: np.where(values == 0, 0, values), "FP32", "FP64"),
)
