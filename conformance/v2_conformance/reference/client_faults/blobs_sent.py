"""Faults of the blobs that a client sends: their order and sizes (K2), data beside them (K13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.reference.client.requests_made import JsonObject
from v2_conformance.reference.client.task import Call, CallerInput
from v2_conformance.reference.client_faults.registry import client_fault

_ALIGNMENT = 8


@client_fault("blobs-backwards", breaks="K2", text="The blobs are sent from the last to the first.")
class _Backwards(PlainClient):
    def in_order(self, call: Call, blobs: Sequence[bytes | None]) -> list[bytes]:
        return super().in_order(call, blobs)[::-1]


@client_fault(
    "blobs-by-name",
    breaks="K2",
    text="The blobs are sent in the order of the inputs' names, the JSON is not.",
)
class _ByName(PlainClient):
    def in_order(self, call: Call, blobs: Sequence[bytes | None]) -> list[bytes]:
        named = sorted(
            (tensor.name, blob)
            for tensor, blob in zip(call.inputs, blobs, strict=True)
            if blob is not None
        )
        return [blob for _, blob in named]


@client_fault(
    "blobs-smallest-first", breaks="K2", text="The blobs are sent in order of their size."
)
class _SmallestFirst(PlainClient):
    def in_order(self, call: Call, blobs: Sequence[bytes | None]) -> list[bytes]:
        return sorted(super().in_order(call, blobs), key=len)


@client_fault("blobs-not-sent", breaks="K2", text="The JSON declares blobs, and none follow it.")
class _NotSent(PlainClient):
    def body(self, text: bytes, blobs: Sequence[bytes]) -> bytes:
        return text


@client_fault("blobs-only-first", breaks="K2", text="Only the first of several blobs is sent.")
class _OnlyFirst(PlainClient):
    def body(self, text: bytes, blobs: Sequence[bytes]) -> bytes:
        return super().body(text, blobs[:1])


@client_fault("blobs-aligned", breaks="K2", text="Each blob is padded to a multiple of 8 bytes.")
class _Aligned(PlainClient):
    def body(self, text: bytes, blobs: Sequence[bytes]) -> bytes:
        return text + b"".join(blob + bytes(-len(blob) % _ALIGNMENT) for blob in blobs)


@client_fault(
    "line-end-before-blobs", breaks="K2", text="A line end stands between the JSON and the blobs."
)
class _LineEnd(PlainClient):
    def body(self, text: bytes, blobs: Sequence[bytes]) -> bytes:
        return b"\n".join([text, b"".join(blobs)]) if blobs else text


@client_fault("size-in-elements", breaks="K2", text="binary_data_size is the number of elements.")
class _InElements(PlainClient):
    def size(self, tensor: CallerInput, blob: bytes) -> Any:
        return tensor.array.size


@client_fault(
    "size-without-prefixes",
    breaks="K2",
    text="The binary_data_size of BYTES leaves out the lengths in front of the elements.",
)
class _WithoutPrefixes(PlainClient):
    def size(self, tensor: CallerInput, blob: bytes) -> Any:
        prefixes = 4 * tensor.array.size if tensor.datatype == "BYTES" else 0
        return len(blob) - prefixes


@client_fault("size-as-text", breaks="K2", text="binary_data_size is a string of digits.")
class _AsText(PlainClient):
    def size(self, tensor: CallerInput, blob: bytes) -> Any:
        return str(len(blob))


@client_fault("size-of-all-blobs", breaks="K2", text="binary_data_size is the size of all blobs.")
class _OfAllBlobs(PlainClient):
    def document(self, call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
        document = super().document(call, blobs)
        for entry in document["inputs"]:
            if "binary_data_size" in entry.get("parameters", {}):
                entry["parameters"]["binary_data_size"] = sum(len(blob or b"") for blob in blobs)
        return document


@client_fault(
    "size-up-to-the-end", breaks="K2", text="binary_data_size counts from the first blob's start."
)
class _UpToTheEnd(PlainClient):
    def document(self, call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
        document = super().document(call, blobs)
        total = 0
        for entry, blob in zip(document["inputs"], blobs, strict=True):
            if blob is not None:
                total += len(blob)
                entry["parameters"]["binary_data_size"] = total
        return document


@client_fault(
    "size-beside-not-in-parameters",
    breaks="K2",
    text="binary_data_size is a member of the input, not of its parameters.",
)
class _NotInParameters(PlainClient):
    def input_object(self, tensor: CallerInput, blob: bytes | None) -> JsonObject:
        entry = super().input_object(tensor, blob)
        if blob is not None:
            entry["binary_data_size"] = entry.pop("parameters")["binary_data_size"]
        return entry


@client_fault(
    "empty-size-left-out",
    breaks="K2",
    text="An input without elements has no binary_data_size, because 0 counts as none.",
)
class _EmptySizeLeftOut(PlainClient):
    def input_object(self, tensor: CallerInput, blob: bytes | None) -> JsonObject:
        entry = super().input_object(tensor, blob)
        if blob == b"":
            del entry["parameters"]
        return entry


@client_fault("data-beside-size", breaks="K13", text="An input with a blob has its data, too.")
class _DataBesideSize(PlainClient):
    def input_object(self, tensor: CallerInput, blob: bytes | None) -> JsonObject:
        entry = super().input_object(tensor, blob)
        if blob is not None:
            entry["data"] = self.json_data(tensor)
        return entry


@client_fault(
    "size-beside-data",
    breaks="K13",
    text="An input that is JSON has the binary_data_size of a blob that is not sent.",
)
class _SizeBesideData(PlainClient):
    def input_object(self, tensor: CallerInput, blob: bytes | None) -> JsonObject:
        entry = super().input_object(tensor, blob)
        if blob is None:
            size = len(self.blob(tensor))
            entry["parameters"] = {**entry.get("parameters", {}), "binary_data_size": size}
        return entry
