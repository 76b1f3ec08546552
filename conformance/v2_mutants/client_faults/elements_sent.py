"""Faults of the elements in blobs that a client sends (K10, K12, K14, K15)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.task import Array
from v2_mutants.changes import byteswapped
from v2_mutants.registry import Right, What, client_fault


def sends(datatype: str, change: Callable[[Array], Array]) -> What[bytes]:
    """Return what sends other elements of one datatype."""

    def what(right: Right[bytes], given: str, array: Array) -> bytes:
        with np.errstate(all="ignore"):
            return change(array).tobytes() if given == datatype else right()

    return what


def floats(change: Callable[[Array], Array]) -> What[bytes]:
    """Return what sends other elements of FP16, FP32 and FP64."""

    def what(right: Right[bytes], datatype: str, array: Array) -> bytes:
        with np.errstate(all="ignore"):
            return right(array=change(array)) if array.dtype.kind == "f" else right()

    return what


def _bits(array: Array) -> Array:
    return array.astype("<f4").view("<u4")


def _upper(bits: Array) -> Array:
    return (bits >> 16).astype("<u2")


client_fault("column-major-as-it-is", "K10", PlainClient.number_bytes)(
    "A column-major array is sent as it lies in memory.",
    lambda right, datatype, array: right(array=array.reshape(-1, order="A")),
)
client_fault("column-major-bytes-as-they-are", "K10", PlainClient.elements)(
    "The elements of a column-major array of BYTES are sent as they lie in memory.",
    lambda right, array: [bytes(element) for element in array.flatten(order="A")],
)
client_fault("big-endian-as-it-is", "K10", PlainClient.number_bytes)(
    "A big-endian array is sent as it lies in memory.",
    lambda right, datatype, array: array.tobytes(order="C"),
)
client_fault("column-major-json", "K10", PlainClient.json_data)(
    "A column-major array is sent as JSON in that order.",
    lambda right, tensor: right(replace(tensor, array=tensor.array.flatten(order="A"))),
)
client_fault("bytes-trailing-nuls-dropped", "K12", PlainClient.elements)(
    "Trailing NULs of BYTES elements are dropped, as numpy's S type does.",
    lambda right, array: [element.rstrip(b"\0") for element in right()],
)
client_fault("bytes-end-at-nul", "K12", PlainClient.elements)(
    "A BYTES element that is sent ends at its first NUL.",
    lambda right, array: [element.partition(b"\0")[0] for element in right()],
)
client_fault("bytes-as-their-repr", "K12", PlainClient.elements)(
    "BYTES elements are sent as Python prints them.",
    lambda right, array: [str(element).encode() for element in right()],
)
client_fault("bytes-from-latin-1", "K12", PlainClient.elements)(
    "BYTES elements are taken for Latin-1 and sent as UTF-8.",
    lambda right, array: [element.decode("latin-1").encode() for element in right()],
)
client_fault("bytes-not-utf-8-replaced", "K12", PlainClient.elements)(
    "What is not UTF-8 in a BYTES element is replaced before it is sent.",
    lambda right, array: [element.decode(errors="replace").encode() for element in right()],
)
client_fault("bytes-lengths-in-characters", "K12", PlainClient.bytes_prefix)(
    "The length of a BYTES element counts characters.",
    lambda right, element: len(element.decode(errors="replace")).to_bytes(4, "little"),
)
client_fault("bytes-lengths-big-endian", "K12", PlainClient.bytes_prefix)(
    "The length of a BYTES element is big-endian.",
    lambda right, element: len(element).to_bytes(4, "big"),
)
client_fault("bytes-lengths-of-two-bytes", "K12", PlainClient.bytes_prefix)(
    "The length of a BYTES element has two bytes.",
    lambda right, element: len(element).to_bytes(2, "little"),
)
client_fault("bytes-lengths-left-out", "K12", PlainClient.bytes_prefix)(
    "BYTES elements are sent one after another without lengths.",
    lambda right, element: b"",
)
client_fault("bytes-empty-elements-dropped", "K12", PlainClient.bytes_blob)(
    "BYTES elements of no bytes are not sent.",
    lambda right, elements: right([element for element in elements if element]),
)
client_fault("blobs-in-network-order", "K14", PlainClient.number_bytes)(
    "Blobs are sent big-endian.",
    lambda right, datatype, array: byteswapped(datatype, right()),
)
client_fault("bool-of-four-bytes", "K14", PlainClient.number_bytes)(
    "BOOL elements are sent as four bytes.",
    sends("BOOL", lambda array: array.astype("<i4")),
)
client_fault("bool-true-is-255", "K14", PlainClient.number_bytes)(
    "True is sent as the byte 255.",
    sends("BOOL", lambda array: np.where(array, 255, 0).astype("u1")),
)
client_fault("fp16-as-fp32", "K14", PlainClient.number_bytes)(
    "FP16 is sent as four bytes an element.",
    sends("FP16", lambda array: array.astype("<f4")),
)
client_fault("sent-fp64-through-fp32", "K14", PlainClient.number_bytes)(
    "FP64 is rounded to FP32 on the way to its blob.",
    sends("FP64", lambda array: array.astype("<f4").astype("<f8")),
)
client_fault("uint64-through-int64-max", "K14", PlainClient.number_bytes)(
    "A UINT64 above 2^63 is sent as 2^63 - 1.",
    sends("UINT64", lambda array: np.minimum(array, np.uint64(2**63 - 1)).astype("<u8")),
)
client_fault("nan-made-canonical", "K14", PlainClient.number_bytes)(
    "Every NaN is sent with the same bits.",
    floats(lambda array: np.where(np.isnan(array), array.dtype.type(np.nan), array)),
)
client_fault("negative-zero-lost", "K14", PlainClient.number_bytes)(
    "A negative zero is sent as a positive one.",
    floats(lambda array: np.where(array == 0, array.dtype.type(0), array)),
)
client_fault("bf16-cut", "K15", PlainClient.bf16_bits)(
    "BF16 is FP32 without its lower half.",
    lambda right, array: _upper(_bits(array)),
)
client_fault("bf16-half-away-from-zero", "K15", PlainClient.bf16_bits)(
    "FP32 that lies between two BF16 is rounded away from zero, not to even.",
    lambda right, array: np.where(np.isnan(array), right(), _upper(_bits(array) + 0x8000)),
)
client_fault("bf16-nan-becomes-infinity", "K15", PlainClient.bf16_bits)(
    "A NaN whose bits are in the lower half becomes an infinity as BF16.",
    lambda right, array: np.where(np.isnan(array), _upper(_bits(array)), right()),
)
client_fault("column-major-of-cubes-as-it-is", "K10", PlainClient.number_bytes)(
    "A column-major array of three dimensions is sent as it lies in memory.",
    lambda right, datatype, array: right(
        array=array.reshape(-1, order="A") if array.ndim == 3 else array
    ),
)
client_fault("column-major-of-halves-as-it-is", "K10", PlainClient.number_bytes)(
    "A column-major array of FP16 is sent as it lies in memory.",
    lambda right, datatype, array: right(
        array=array.reshape(-1, order="A") if datatype == "FP16" else array
    ),
)
client_fault("bytes-lengths-with-a-sign", "K12", PlainClient.bytes_blob)(
    "BYTES elements of 128 to 255 bytes are sent as empty ones: their lengths are negative.",
    lambda right, elements: right([b"" if 127 < len(one) < 256 else one for one in elements]),
)
client_fault("many-bytes-elements-sent-empty", "K12", PlainClient.elements)(
    "BYTES elements behind the first 65,536 are sent as empty ones.",
    lambda right, array: [one if place < 1 << 16 else b"" for place, one in enumerate(right())],
)
client_fault("bytes-line-ends-replaced", "K12", PlainClient.json_text)(
    "Characters that end a line in Unicode are sent as line feeds.",
    lambda right, element: right().translate({0x2028: "\n", 0x85: "\n"}),
)
