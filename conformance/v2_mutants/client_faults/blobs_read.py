"""Faults of reading: whose bytes the blobs are, and where the header length is (K3, K4, K8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.responses_read import Blobs
from v2_clients.plain.task import Call
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_mutants.changes import fail
from v2_mutants.registry import Right, What, client_fault


def reads(
    order: Callable[[Call, Sequence[JsonObject]], Iterable[JsonObject]],
) -> What[list[Tensor]]:
    """Return what reads the blobs in another order than that of the response's outputs."""

    def what(
        right: Right[list[Tensor]], call: Call, entries: Sequence[JsonObject], blobs: Blobs
    ) -> list[Tensor]:
        read = {
            str(entry.get("name")): right.client.output(entry, blobs)
            for entry in order(call, entries)
        }
        return [read[str(entry.get("name"))] for entry in entries]

    return what


def _as_asked(call: Call, entries: Sequence[JsonObject]) -> Iterable[JsonObject]:
    places = {output.name: place for place, output in enumerate(call.outputs or ())}
    return sorted(entries, key=lambda entry: places.get(entry["name"], len(places)))


client_fault("read-in-the-order-asked", "K3", PlainClient.outputs)(
    "Blobs are taken in the order in which the outputs were asked for.",
    reads(_as_asked),
)
client_fault("read-in-the-order-of-names", "K3", PlainClient.outputs)(
    "Blobs are taken in the order of the outputs' names.",
    reads(lambda call, entries: sorted(entries, key=lambda entry: str(entry["name"]))),
)
client_fault("read-backwards", "K3", PlainClient.outputs)(
    "Blobs are taken from the last output to the first.",
    reads(lambda call, entries: reversed(entries)),
)


@client_fault("read-from-the-first-blob", "K3", PlainClient.outputs)
def _(
    right: Right[list[Tensor]], call: Call, entries: Sequence[JsonObject], blobs: Blobs
) -> list[Tensor]:
    """Every output is read from the first blob's start."""
    read = []
    for entry in entries:
        blobs.position = 0
        read.append(right.client.output(entry, blobs))
    blobs.position = len(blobs.data)
    return read


@client_fault("read-json-as-a-blob", "K3", PlainClient.output)
def _(right: Right[Tensor], entry: JsonObject, blobs: Blobs) -> Tensor:
    """An output that is JSON takes the bytes of its size from the blobs of others."""
    tensor = right()
    if right.client.binary_size(entry) is None and blobs.data:
        blobs.position += len(tensor.blob)
    return tensor


@client_fault("read-names-as-asked", "K3", PlainClient.outputs)
def _(
    right: Right[list[Tensor]], call: Call, entries: Sequence[JsonObject], blobs: Blobs
) -> list[Tensor]:
    """The outputs of a response get the names that were asked for, one after the other."""
    read, asked = right(), call.outputs or ()
    if len(asked) != len(read):
        return read
    return [replace(tensor, name=one.name) for tensor, one in zip(read, asked, strict=True)]


client_fault("header-name-by-case", "K4", PlainClient.length_field)(
    "The header length is found only under its name in the documents' letter case.",
    lambda right, fields: dict(fields.items()).get(HEADER_LENGTH),
)
client_fault("header-name-in-lowercase", "K4", PlainClient.length_field)(
    "The header length is found only under its name in lowercase.",
    lambda right, fields: dict(fields.items()).get(HEADER_LENGTH.lower()),
)


def _if_empty(tensor: Tensor, **changes: Any) -> Tensor:
    return tensor if tensor.blob else replace(tensor, **changes)


client_fault("empty-output-dropped", "K8", PlainClient.outputs)(
    "An output without elements is left out of the result.",
    lambda right, call, entries, blobs: [tensor for tensor in right() if tensor.blob],
)
client_fault("empty-output-of-fp64", "K8", PlainClient.output)(
    "An output without elements becomes one of FP64.",
    lambda right, entry, blobs: _if_empty(right(), datatype="FP64"),
)
client_fault("empty-output-without-shape", "K8", PlainClient.output)(
    "An output without elements gets the shape [0].",
    lambda right, entry, blobs: _if_empty(right(), shape=(0,)),
)
client_fault("size-zero-is-no-size", "K8", PlainClient.binary_size)(
    "A binary_data_size of 0 counts as none, and the output has to have data.",
    lambda right, entry: right() or None,
)
client_fault("empty-data-is-no-data", "K8", PlainClient.json_output)(
    "JSON data of no elements counts as missing.",
    lambda right, name, datatype, shape, entry: right() if entry.get("data") else fail("no data"),
)
