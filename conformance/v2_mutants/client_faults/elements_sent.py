"""Faults of the elements in blobs that a client sends (K10, K12, K14, K15)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.task import Array
from v2_mutants.registry import Right, What, client_fault


def sends(datatype: str, change: Callable[[Array], Array]) -> What[bytes]:
    """Return what sends other elements of one datatype."""

    def what(right: Right[bytes], given: str, array: Array) -> bytes:
        with np.errstate(all="ignore"):
            return change(array).tobytes() if given == datatype else right()

    return what


def _bits(array: Array) -> Array:
    return array.astype("<f4").view("<u4")


def _upper(bits: Array) -> Array:
    return (bits >> 16).astype("<u2")


client_fault("column-major-bytes-as-they-are", "K10", PlainClient.elements)(
    "The elements of a column-major array of BYTES are sent as they lie in memory.",
    lambda right, array: [bytes(element) for element in array.flatten(order="A")],
)
client_fault("bytes-trailing-nuls-dropped", "K12", PlainClient.elements)(
    "Trailing NULs of BYTES elements are dropped, as numpy's S type does.",
    lambda right, array: [element.rstrip(b"\0") for element in right()],
)
client_fault("bytes-as-their-repr", "K12", PlainClient.elements)(
    "BYTES elements are sent as Python prints them.",
    lambda right, array: [str(element).encode() for element in right()],
)
client_fault("bytes-not-utf-8-replaced", "K12", PlainClient.elements)(
    "What is not UTF-8 in a BYTES element is replaced before it is sent.",
    lambda right, array: [element.decode(errors="replace").encode() for element in right()],
)
client_fault("bytes-lengths-left-out", "K12", PlainClient.bytes_prefix)(
    "BYTES elements are sent one after another without lengths.",
    lambda right, element: b"",
)
client_fault("bool-of-four-bytes", "K14", PlainClient.number_bytes)(
    "BOOL elements are sent as four bytes.",
    sends("BOOL", lambda array: array.astype("<i4")),
)
client_fault("uint64-through-int64-max", "K14", PlainClient.number_bytes)(
    "A UINT64 above 2^63 is sent as 2^63 - 1.",
    sends("UINT64", lambda array: np.minimum(array, np.uint64(2**63 - 1)).astype("<u8")),
)
client_fault("bf16-cut", "K15", PlainClient.bf16_bits)(
    "BF16 is FP32 without its lower half.",
    lambda right, array: _upper(_bits(array)),
)
client_fault("column-major-of-halves-as-it-is", "K10", PlainClient.number_bytes)(
    "A column-major array of FP16 is sent as it lies in memory.",
    lambda right, datatype, array: right(
        array=array.reshape(-1, order="A") if datatype == "FP16" else array
    ),
)
