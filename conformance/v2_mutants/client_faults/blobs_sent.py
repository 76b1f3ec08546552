"""Faults of the header length (K1), the blobs and their sizes (K2, K13) that a client sends."""

from __future__ import annotations

import json
from collections.abc import Sequence

from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.task import Call, CallerInput
from v2_mutants.changes import without
from v2_mutants.registry import Right, client_fault


def _compact(text: bytes) -> bytes:
    document = json.loads(text)
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


client_fault("header-length-missing", "K1", PlainClient.header_length)(
    "A request with blobs has no header length.",
    lambda right, text, blobs: None,
)
client_fault("header-length-in-characters", "K1", PlainClient.header_length)(
    "The header length counts the characters of the JSON, not its bytes.",
    lambda right, text, blobs: str(len(text.decode())) if blobs else None,
)
client_fault("header-length-of-escaped-json", "K1", PlainClient.header_length)(
    "The header length is that of the JSON with escapes; the JSON that is sent has none.",
    lambda right, text, blobs: str(len(json.dumps(json.loads(text)))) if blobs else None,
)
client_fault("header-length-of-compact-json", "K1", PlainClient.header_length)(
    "The header length is that of the JSON without white space; the JSON that is sent has it.",
    lambda right, text, blobs: str(len(_compact(text))) if blobs else None,
)
client_fault("header-length-of-the-body", "K1", PlainClient.header_length)(
    "The header length is that of the whole body.",
    lambda right, text, blobs: str(len(text) + sum(map(len, blobs))) if blobs else None,
)
client_fault("header-length-of-the-blobs", "K1", PlainClient.header_length)(
    "The header length is that of the blobs.",
    lambda right, text, blobs: str(sum(map(len, blobs))) if blobs else None,
)
client_fault("header-length-one-more", "K1", PlainClient.header_length)(
    "The header length is one too large.",
    lambda right, text, blobs: str(len(text) + 1) if blobs else None,
)
client_fault("header-length-one-less", "K1", PlainClient.header_length)(
    "The header length is one too small.",
    lambda right, text, blobs: str(len(text) - 1) if blobs else None,
)
client_fault("header-length-in-hex", "K1", PlainClient.header_length)(
    "The header length is hexadecimal.",
    lambda right, text, blobs: hex(len(text)) if blobs else None,
)
client_fault("header-length-without-blobs", "K1", PlainClient.header_length)(
    "A request without blobs has a header length, too.",
    lambda right, text, blobs: str(len(text)),
)
client_fault("header-length-zero", "K1", PlainClient.header_length)(
    "The header length is 0, which says that there is no JSON, before JSON and blobs.",
    lambda right, text, blobs: "0" if blobs else None,
)
client_fault("header-length-of-the-first-request", "K1", PlainClient.header_length)(
    "The header length is computed for the first request and kept for the next ones.",
    lambda right, text, blobs: right.state.setdefault("first", right()) if blobs else None,
)


def _by_name(call: Call) -> list[int]:
    """The places of the inputs in the order of their names."""
    return sorted(range(len(call.inputs)), key=lambda n: call.inputs[n].name)


client_fault("blobs-backwards", "K2", PlainClient.in_order)(
    "The blobs are sent from the last to the first.",
    lambda right, call, blobs: right()[::-1],
)
client_fault("blobs-by-name", "K2", PlainClient.in_order)(
    "The blobs are sent in the order of the inputs' names, the JSON is not.",
    lambda right, call, blobs: right(blobs=[blobs[n] for n in _by_name(call)]),
)
client_fault("blobs-smallest-first", "K2", PlainClient.in_order)(
    "The blobs are sent in order of their size.",
    lambda right, call, blobs: sorted(right(), key=len),
)
client_fault("blobs-not-sent", "K2", PlainClient.body)(
    "The JSON declares blobs, and none follow it.",
    lambda right, text, blobs: text,
)
client_fault("blobs-only-first", "K2", PlainClient.body)(
    "Only the first of several blobs is sent.",
    lambda right, text, blobs: right(blobs=blobs[:1]),
)
client_fault("blobs-aligned", "K2", PlainClient.body)(
    "Each blob is padded to a multiple of 8 bytes.",
    lambda right, text, blobs: right(blobs=[blob + bytes(-len(blob) % 8) for blob in blobs]),
)
client_fault("line-end-before-blobs", "K2", PlainClient.body)(
    "A line end stands between the JSON and the blobs.",
    lambda right, text, blobs: b"\n".join([text, b"".join(blobs)]) if blobs else text,
)
client_fault("line-end-behind-blobs", "K2", PlainClient.body)(
    "A line ends behind the blobs.",
    lambda right, text, blobs: right() + (b"\n" if blobs else b""),
)
client_fault("size-in-elements", "K2", PlainClient.size)(
    "binary_data_size is the number of elements.",
    lambda right, tensor, blob: tensor.array.size,
)
client_fault("size-without-prefixes", "K2", PlainClient.size)(
    "The binary_data_size of BYTES leaves out the lengths in front of the elements.",
    lambda right, tensor, blob: len(blob) - 4 * tensor.array.size * (tensor.datatype == "BYTES"),
)
client_fault("size-as-text", "K2", PlainClient.size)(
    "binary_data_size is a string of digits.",
    lambda right, tensor, blob: str(len(blob)),
)


@client_fault("size-of-all-blobs", "K2", PlainClient.document)
def _(right: Right[JsonObject], call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
    """binary_data_size is the size of all blobs."""
    document = right()
    for entry, blob in zip(document["inputs"], blobs, strict=True):
        if blob is not None:
            entry["parameters"]["binary_data_size"] = sum(len(blob or b"") for blob in blobs)
    return document


@client_fault("size-up-to-the-end", "K2", PlainClient.document)
def _(right: Right[JsonObject], call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
    """binary_data_size counts from the first blob's start."""
    document = right()
    total = 0
    for entry, blob in zip(document["inputs"], blobs, strict=True):
        if blob is not None:
            total += len(blob)
            entry["parameters"]["binary_data_size"] = total
    return document


@client_fault("size-beside-not-in-parameters", "K2", PlainClient.input_object)
def _(right: Right[JsonObject], tensor: CallerInput, blob: bytes | None) -> JsonObject:
    """binary_data_size is a member of the input, not of its parameters."""
    entry = right()
    if blob is not None:
        entry["binary_data_size"] = entry.pop("parameters")["binary_data_size"]
    return entry


client_fault("empty-size-left-out", "K2", PlainClient.input_object)(
    "An input without elements has no binary_data_size, because 0 counts as none.",
    lambda right, tensor, blob: without(right(), "parameters") if blob == b"" else right(),
)
client_fault("data-beside-size", "K13", PlainClient.input_object)(
    "An input with a blob has its data, too.",
    lambda right, tensor, blob: {**right(), "data": right.client.json_data(tensor)},
)


@client_fault("size-beside-data", "K13", PlainClient.input_object)
def _(right: Right[JsonObject], tensor: CallerInput, blob: bytes | None) -> JsonObject:
    """An input that is JSON has the binary_data_size of a blob that is not sent."""
    entry = right()
    if blob is None:
        size = len(right.client.blob(tensor))
        entry["parameters"] = {**entry.get("parameters", {}), "binary_data_size": size}
    return entry
