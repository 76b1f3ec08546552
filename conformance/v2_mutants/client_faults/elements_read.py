"""Faults of the elements that a client reads (K12, K14)."""

from __future__ import annotations

from collections.abc import Callable
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


def reads(change: Callable[[bytes], bytes]) -> What[Tensor]:
    """Return what changes every BYTES element of an output."""

    def what(right: Right[Tensor], entry: JsonObject, blobs: Blobs) -> Tensor:
        tensor = right()
        if tensor.datatype != "BYTES":
            return tensor
        return replace(tensor, blob=encode_bytes([*map(change, decode_bytes(tensor.blob))]))

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
client_fault("read-big-endian", "K14", PlainClient.binary_output)(
    "Blobs are read as big-endian, as Java does.",
    lambda right, name, datatype, shape, blob: right(blob=byteswapped(datatype, blob)),
)


@client_fault("read-blobs-as-text", "K14", PlainClient.binary_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
    """The body is decoded as text, and bytes from 0x80 come out as others."""
    text = blob.decode(errors="replace").encode("latin-1", errors="replace")
    return right() if datatype == "BYTES" else right(blob=text)


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
client_fault("read-json-negative-zero-lost", "K14", PlainClient.json_output)(
    "A JSON number of -0.0 is read as 0.",
    json_values(lambda values: np.where(values == 0, 0, values), "FP32", "FP64"),
)
