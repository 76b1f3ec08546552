"""Faults of reading: whose bytes the blobs are, and where the header length is (K3, K4, K8)."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from v2_clients.plain.plain_client import PlainClient
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_mutants.registry import client_fault

client_fault("read-backwards", "K3", PlainClient.outputs)(
    "Blobs are taken from the last output to the first.",
    lambda right, call, entries, blobs: right(call, entries[::-1])[::-1],
)
client_fault("header-name-by-case", "K4", PlainClient.length_field)(
    "The header length is found only under its name in the documents' letter case.",
    lambda right, fields: dict(fields.items()).get(HEADER_LENGTH),
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
client_fault("size-zero-is-no-size", "K8", PlainClient.binary_size)(
    "A binary_data_size of 0 counts as none, and the output has to have data.",
    lambda right, entry: right() or None,
)
