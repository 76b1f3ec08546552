"""Faults of reading: whose bytes the blobs are, and where the header length is (K3, K4, K8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.reference.client.requests_made import JsonObject
from v2_conformance.reference.client.responses_read import Blobs
from v2_conformance.reference.client.task import Call
from v2_conformance.reference.client_faults.registry import client_fault


class _Reordered(PlainClient):
    """Reads the blobs in an order of its own, and returns the outputs in that of the response."""

    def order(self, call: Call, entries: Sequence[JsonObject]) -> list[JsonObject]:
        raise NotImplementedError

    def outputs(self, call: Call, entries: Sequence[JsonObject], blobs: Blobs) -> list[Tensor]:
        read = {
            str(entry.get("name")): self.output(entry, blobs) for entry in self.order(call, entries)
        }
        return [read[str(entry.get("name"))] for entry in entries]


@client_fault(
    "read-in-the-order-asked",
    breaks="K3",
    text="Blobs are taken in the order in which the outputs were asked for.",
)
class _OrderAsked(_Reordered):
    def order(self, call: Call, entries: Sequence[JsonObject]) -> list[JsonObject]:
        asked = [output.name for output in call.outputs or ()]
        return sorted(
            entries,
            key=lambda entry: asked.index(entry["name"]) if entry["name"] in asked else len(asked),
        )


@client_fault(
    "read-in-the-order-of-names",
    breaks="K3",
    text="Blobs are taken in the order of the outputs' names.",
)
class _OrderOfNames(_Reordered):
    def order(self, call: Call, entries: Sequence[JsonObject]) -> list[JsonObject]:
        return sorted(entries, key=lambda entry: str(entry["name"]))


@client_fault(
    "read-backwards", breaks="K3", text="Blobs are taken from the last output to the first."
)
class _Backwards(_Reordered):
    def order(self, call: Call, entries: Sequence[JsonObject]) -> list[JsonObject]:
        return list(reversed(entries))


@client_fault(
    "read-from-the-first-blob",
    breaks="K3",
    text="Every output is read from the first blob's start.",
)
class _FromTheFirst(PlainClient):
    def outputs(self, call: Call, entries: Sequence[JsonObject], blobs: Blobs) -> list[Tensor]:
        read = []
        for entry in entries:
            blobs.position = 0
            read.append(self.output(entry, blobs))
        blobs.position = len(blobs.data)
        return read


@client_fault(
    "read-json-as-a-blob",
    breaks="K3",
    text="An output that is JSON takes the bytes of its size from the blobs of others.",
)
class _JsonAsABlob(PlainClient):
    def output(self, entry: JsonObject, blobs: Blobs) -> Tensor:
        tensor = super().output(entry, blobs)
        if self.binary_size(entry) is None and blobs.data:
            blobs.position += len(tensor.blob)
        return tensor


@client_fault(
    "read-names-as-asked",
    breaks="K3",
    text="The outputs of a response get the names that were asked for, one after the other.",
)
class _NamesAsAsked(PlainClient):
    def outputs(self, call: Call, entries: Sequence[JsonObject], blobs: Blobs) -> list[Tensor]:
        read = super().outputs(call, entries, blobs)
        if call.outputs is None or len(call.outputs) != len(read):
            return read
        return [
            replace(tensor, name=asked.name)
            for tensor, asked in zip(read, call.outputs, strict=True)
        ]


# --- the header length ------------------------------------------------------------------------


class _OneSpelling(PlainClient):
    """Knows the header length by one spelling of its name."""

    name = HEADER_LENGTH

    def length_field(self, fields: Mapping[str, str]) -> str | None:
        return next((value for name, value in fields.items() if name == self.name), None)


@client_fault(
    "header-name-by-case",
    breaks="K4",
    text="The header length is found only under its name in the documents' letter case.",
)
class _NameByCase(_OneSpelling):
    pass


@client_fault(
    "header-name-in-lowercase",
    breaks="K4",
    text="The header length is found only under its name in lowercase.",
)
class _NameInLowercase(_OneSpelling):
    name = HEADER_LENGTH.lower()


# --- no elements ------------------------------------------------------------------------------


@client_fault(
    "empty-output-dropped",
    breaks="K8",
    text="An output without elements is left out of the result.",
)
class _Dropped(PlainClient):
    def outputs(self, call: Call, entries: Sequence[JsonObject], blobs: Blobs) -> list[Tensor]:
        return [tensor for tensor in super().outputs(call, entries, blobs) if tensor.blob]


@client_fault(
    "empty-output-of-fp64", breaks="K8", text="An output without elements becomes one of FP64."
)
class _OfFp64(PlainClient):
    def outputs(self, call: Call, entries: Sequence[JsonObject], blobs: Blobs) -> list[Tensor]:
        read = super().outputs(call, entries, blobs)
        return [tensor if tensor.blob else replace(tensor, datatype="FP64") for tensor in read]


@client_fault(
    "empty-output-without-shape",
    breaks="K8",
    text="An output without elements gets the shape [0].",
)
class _WithoutShape(PlainClient):
    def outputs(self, call: Call, entries: Sequence[JsonObject], blobs: Blobs) -> list[Tensor]:
        read = super().outputs(call, entries, blobs)
        return [tensor if tensor.blob else replace(tensor, shape=(0,)) for tensor in read]


@client_fault(
    "size-zero-is-no-size",
    breaks="K8",
    text="A binary_data_size of 0 counts as none, and the output has to have data.",
)
class _NoSize(PlainClient):
    def binary_size(self, entry: JsonObject) -> int | None:
        return super().binary_size(entry) or None


@client_fault(
    "empty-data-is-no-data",
    breaks="K8",
    text="JSON data of no elements counts as missing.",
)
class _NoData(PlainClient):
    def output(self, entry: JsonObject, blobs: Blobs) -> Tensor:
        if self.binary_size(entry) is None and not entry.get("data"):
            raise KeyError("data")
        return super().output(entry, blobs)
