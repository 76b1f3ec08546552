"""Faults of the elements in blobs that a client sends (K10, K12, K14, K15)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.reference.client.task import Array, CallerInput
from v2_conformance.reference.client_faults.registry import client_fault

# --- arrays that lie otherwise in memory ------------------------------------------------------


@client_fault(
    "column-major-as-it-is", breaks="K10", text="A column-major array is sent as it lies in memory."
)
class _ColumnMajor(PlainClient):
    def number_bytes(self, datatype: str, array: Array) -> bytes:
        return array.astype(DATATYPES[datatype].numpy, order="K").tobytes(order="A")


@client_fault(
    "column-major-bytes-as-they-are",
    breaks="K10",
    text="The elements of a column-major array of BYTES are sent as they lie in memory.",
)
class _ColumnMajorBytes(PlainClient):
    def elements(self, array: Array) -> list[bytes]:
        return [bytes(element) for element in array.flatten(order="A")]


@client_fault(
    "big-endian-as-it-is", breaks="K10", text="A big-endian array is sent as it lies in memory."
)
class _BigEndian(PlainClient):
    def number_bytes(self, datatype: str, array: Array) -> bytes:
        return array.tobytes(order="C")


@client_fault(
    "column-major-json", breaks="K10", text="A column-major array is sent as JSON in that order."
)
class _ColumnMajorJson(PlainClient):
    def json_data(self, tensor: CallerInput) -> list[object]:
        flat = tensor.array.flatten(order="A").reshape(tensor.shape)
        changed = CallerInput(
            tensor.name, tensor.datatype, tensor.shape, flat, tensor.binary, tensor.parameters
        )
        return super().json_data(changed)


# --- BYTES ------------------------------------------------------------------------------------


@client_fault(
    "bytes-trailing-nuls-dropped",
    breaks="K12",
    text="Trailing NULs of BYTES elements are dropped, as numpy's S type does.",
)
class _TrailingNuls(PlainClient):
    def elements(self, array: Array) -> list[bytes]:
        return [element.rstrip(b"\0") for element in super().elements(array)]


@client_fault(
    "bytes-end-at-nul", breaks="K12", text="A BYTES element that is sent ends at its first NUL."
)
class _EndAtNul(PlainClient):
    def elements(self, array: Array) -> list[bytes]:
        return [element.partition(b"\0")[0] for element in super().elements(array)]


@client_fault(
    "bytes-as-their-repr", breaks="K12", text="BYTES elements are sent as Python prints them."
)
class _AsTheirRepr(PlainClient):
    def elements(self, array: Array) -> list[bytes]:
        return [str(element).encode() for element in super().elements(array)]


@client_fault(
    "bytes-from-latin-1",
    breaks="K12",
    text="BYTES elements are taken for Latin-1 and sent as UTF-8.",
)
class _FromLatin1(PlainClient):
    def elements(self, array: Array) -> list[bytes]:
        return [element.decode("latin-1").encode() for element in super().elements(array)]


@client_fault(
    "bytes-not-utf-8-replaced",
    breaks="K12",
    text="What is not UTF-8 in a BYTES element is replaced before it is sent.",
)
class _NotUtf8Replaced(PlainClient):
    def elements(self, array: Array) -> list[bytes]:
        return [element.decode(errors="replace").encode() for element in super().elements(array)]


@client_fault(
    "bytes-lengths-in-characters",
    breaks="K12",
    text="The length of a BYTES element counts characters.",
)
class _LengthsInCharacters(PlainClient):
    def bytes_prefix(self, element: bytes) -> bytes:
        return len(element.decode(errors="replace")).to_bytes(4, "little")


@client_fault(
    "bytes-lengths-big-endian", breaks="K12", text="The length of a BYTES element is big-endian."
)
class _LengthsBigEndian(PlainClient):
    def bytes_prefix(self, element: bytes) -> bytes:
        return len(element).to_bytes(4, "big")


@client_fault(
    "bytes-lengths-of-two-bytes", breaks="K12", text="The length of a BYTES element has two bytes."
)
class _LengthsOfTwoBytes(PlainClient):
    def bytes_prefix(self, element: bytes) -> bytes:
        return len(element).to_bytes(2, "little")


@client_fault(
    "bytes-lengths-left-out",
    breaks="K12",
    text="BYTES elements are sent one after another without lengths.",
)
class _LengthsLeftOut(PlainClient):
    def bytes_prefix(self, element: bytes) -> bytes:
        return b""


@client_fault(
    "bytes-empty-elements-dropped",
    breaks="K12",
    text="BYTES elements of no bytes are not sent.",
)
class _EmptyElements(PlainClient):
    def bytes_blob(self, elements: Sequence[bytes]) -> bytes:
        return super().bytes_blob([element for element in elements if element])


# --- numbers ----------------------------------------------------------------------------------


@client_fault("blobs-in-network-order", breaks="K14", text="Blobs are sent big-endian.")
class _NetworkOrder(PlainClient):
    def number_bytes(self, datatype: str, array: Array) -> bytes:
        little = np.dtype(DATATYPES[datatype].numpy)
        return array.astype(little.newbyteorder(">")).tobytes(order="C")


@client_fault("bool-of-four-bytes", breaks="K14", text="BOOL elements are sent as four bytes.")
class _BoolOfFourBytes(PlainClient):
    def number_bytes(self, datatype: str, array: Array) -> bytes:
        if datatype == "BOOL":
            return array.astype("<i4").tobytes()
        return super().number_bytes(datatype, array)


@client_fault("bool-true-is-255", breaks="K14", text="True is sent as the byte 255.")
class _TrueIs255(PlainClient):
    def number_bytes(self, datatype: str, array: Array) -> bytes:
        if datatype == "BOOL":
            return np.where(array, 255, 0).astype("u1").tobytes()
        return super().number_bytes(datatype, array)


@client_fault("fp16-as-fp32", breaks="K14", text="FP16 is sent as four bytes an element.")
class _Fp16AsFp32(PlainClient):
    def number_bytes(self, datatype: str, array: Array) -> bytes:
        if datatype == "FP16":
            return array.astype("<f4").tobytes()
        return super().number_bytes(datatype, array)


@client_fault(
    "sent-fp64-through-fp32", breaks="K14", text="FP64 is rounded to FP32 on the way to its blob."
)
class _Fp64ThroughFp32(PlainClient):
    def number_bytes(self, datatype: str, array: Array) -> bytes:
        if datatype == "FP64":
            with np.errstate(over="ignore", invalid="ignore"):
                array = array.astype("<f4")
        return super().number_bytes(datatype, array)


@client_fault(
    "uint64-through-int64-max", breaks="K14", text="A UINT64 above 2^63 is sent as 2^63 - 1."
)
class _Uint64Clipped(PlainClient):
    def number_bytes(self, datatype: str, array: Array) -> bytes:
        if datatype == "UINT64":
            array = np.minimum(array, np.uint64(2**63 - 1))
        return super().number_bytes(datatype, array)


@client_fault("nan-made-canonical", breaks="K14", text="Every NaN is sent with the same bits.")
class _NanMadeCanonical(PlainClient):
    def number_bytes(self, datatype: str, array: Array) -> bytes:
        if array.dtype.kind == "f":
            array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
        return super().number_bytes(datatype, array)


@client_fault("negative-zero-lost", breaks="K14", text="A negative zero is sent as a positive one.")
class _NegativeZeroLost(PlainClient):
    def number_bytes(self, datatype: str, array: Array) -> bytes:
        if array.dtype.kind == "f":
            with np.errstate(invalid="ignore"):
                array = np.where(array == 0, np.array(0, array.dtype), array)
        return super().number_bytes(datatype, array)


# --- BF16 -------------------------------------------------------------------------------------


@client_fault("bf16-cut", breaks="K15", text="BF16 is FP32 without its lower half.")
class _Bf16Cut(PlainClient):
    def bf16_bits(self, array: Array) -> Array:
        return (array.astype("<f4").view("<u4") >> 16).astype("<u2")


@client_fault(
    "bf16-half-away-from-zero",
    breaks="K15",
    text="FP32 that lies between two BF16 is rounded away from zero, not to even.",
)
class _Bf16HalfAway(PlainClient):
    def bf16_bits(self, array: Array) -> Array:
        bits = array.astype("<f4").view("<u4").astype("<u8")
        rounded = (bits + 0x8000) >> 16
        return np.where(np.isnan(array), (bits >> 16) | 0x40, rounded).astype("<u2")


@client_fault(
    "bf16-nan-becomes-infinity",
    breaks="K15",
    text="A NaN whose bits are in the lower half becomes an infinity as BF16.",
)
class _Bf16NanInfinity(PlainClient):
    def bf16_bits(self, array: Array) -> Array:
        bits = array.astype("<f4").view("<u4").astype("<u8")
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        return np.where(np.isnan(array), bits >> 16, rounded).astype("<u2")
