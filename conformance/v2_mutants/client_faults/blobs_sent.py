"""Faults of the header length (K1), the blobs and their sizes (K2, K13) that a client sends."""

from __future__ import annotations

from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.task import CallerInput
from v2_mutants.registry import Right, client_fault

client_fault("header-length-missing", "K1", PlainClient.header_length)(
    "A request with blobs has no header length.",
    lambda right, text, blobs: None,
)
client_fault("header-length-without-blobs", "K1", PlainClient.header_length)(
    "A request without blobs has a header length, too.",
    lambda right, text, blobs: str(len(text)),
)


client_fault("blobs-not-sent", "K2", PlainClient.body)(
    "The JSON declares blobs, and none follow it.",
    lambda right, text, blobs: text,
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
