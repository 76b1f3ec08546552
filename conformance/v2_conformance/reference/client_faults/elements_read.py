"""Faults of the elements that a client reads (K12, K14)."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from v2_conformance.protocol.datatypes import DATATYPES, Shape, decode_bytes, encode_bytes
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.reference.client.requests_made import JsonObject
from v2_conformance.reference.client_faults.registry import client_fault

_MOST_IN_32_BITS = 2**31 - 1


class _Elements(PlainClient):
    """A client that does something to each BYTES element that it reads."""

    def element(self, element: bytes) -> bytes:
        raise NotImplementedError

    def changed(self, tensor: Tensor) -> Tensor:
        if tensor.datatype != "BYTES":
            return tensor
        elements = [self.element(element) for element in decode_bytes(tensor.blob)]
        return replace(tensor, blob=encode_bytes(elements))

    def binary_output(self, name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
        return self.changed(super().binary_output(name, datatype, shape, blob))

    def json_output(self, name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
        return self.changed(super().json_output(name, datatype, shape, entry))


@client_fault(
    "read-trailing-nuls-dropped",
    breaks="K12",
    text="Trailing NULs of BYTES elements that are read are dropped, as numpy's S type does.",
)
class _TrailingNuls(_Elements):
    def element(self, element: bytes) -> bytes:
        return element.rstrip(b"\0")


@client_fault(
    "read-bytes-end-at-nul",
    breaks="K12",
    text="A BYTES element that is read ends at its first NUL.",
)
class _EndAtNul(_Elements):
    def element(self, element: bytes) -> bytes:
        return element.partition(b"\0")[0]


@client_fault(
    "read-bytes-as-text", breaks="K12", text="What is not UTF-8 in a BYTES element is replaced."
)
class _AsText(_Elements):
    def element(self, element: bytes) -> bytes:
        return element.decode(errors="replace").encode()


@client_fault(
    "read-bytes-as-latin-1",
    breaks="K12",
    text="BYTES elements that are read are taken for Latin-1.",
)
class _AsLatin1(_Elements):
    def element(self, element: bytes) -> bytes:
        return element.decode("latin-1").encode()


@client_fault(
    "read-bytes-stripped", breaks="K12", text="White space around BYTES elements is taken away."
)
class _Stripped(_Elements):
    def element(self, element: bytes) -> bytes:
        return element.strip()


# --- numbers ----------------------------------------------------------------------------------


@client_fault("read-big-endian", breaks="K14", text="Blobs are read as big-endian, as Java does.")
class _BigEndian(PlainClient):
    def binary_output(self, name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
        tensor = super().binary_output(name, datatype, shape, blob)
        numpy = DATATYPES[datatype].numpy
        if numpy is None:
            return tensor
        swapped = np.frombuffer(blob, numpy).byteswap().tobytes()
        return replace(tensor, blob=swapped)


@client_fault(
    "read-blobs-as-text",
    breaks="K14",
    text="The body is decoded as text, and bytes from 0x80 come out as others.",
)
class _BlobsAsText(PlainClient):
    def binary_output(self, name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
        text = blob.decode(errors="replace").encode("latin-1", errors="replace")
        if datatype == "BYTES":
            return super().binary_output(name, datatype, shape, blob)
        return super().binary_output(name, datatype, shape, text)


@client_fault(
    "read-unsigned-as-signed", breaks="K14", text="Unsigned integers are given as signed ones."
)
class _UnsignedAsSigned(PlainClient):
    def binary_output(self, name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
        tensor = super().binary_output(name, datatype, shape, blob)
        return replace(tensor, datatype=datatype.removeprefix("U"))


@client_fault("read-bf16-as-fp16", breaks="K14", text="BF16 is given to the user as FP16.")
class _Bf16AsFp16(PlainClient):
    def binary_output(self, name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
        tensor = super().binary_output(name, datatype, shape, blob)
        return replace(tensor, datatype="FP16") if datatype == "BF16" else tensor


@client_fault("read-bool-as-uint8", breaks="K14", text="BOOL is given to the user as UINT8.")
class _BoolAsUint8(PlainClient):
    def binary_output(self, name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
        tensor = super().binary_output(name, datatype, shape, blob)
        return replace(tensor, datatype="UINT8") if datatype == "BOOL" else tensor


@client_fault("read-column-major", breaks="K14", text="Blobs are read in column-major order.")
class _ColumnMajor(PlainClient):
    def binary_output(self, name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
        tensor = super().binary_output(name, datatype, shape, blob)
        numpy = DATATYPES[datatype].numpy
        if numpy is None:
            return tensor
        turned = np.frombuffer(blob, numpy).reshape(shape, order="F").tobytes(order="C")
        return replace(tensor, blob=turned)


@client_fault(
    "read-shape-flattened", breaks="K14", text="Every output that is a blob has one dimension."
)
class _Flattened(PlainClient):
    def binary_output(self, name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
        tensor = super().binary_output(name, datatype, shape, blob)
        size = DATATYPES[datatype].size
        return tensor if size is None else replace(tensor, shape=(len(blob) // size,))


# --- JSON -------------------------------------------------------------------------------------


@client_fault(
    "read-json-integers-as-doubles",
    breaks="K14",
    text="JSON integers are read as doubles, which lose digits beyond 2^53, as JavaScript does.",
)
class _IntegersAsDoubles(PlainClient):
    def json_output(self, name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
        tensor = super().json_output(name, datatype, shape, entry)
        if datatype not in ("INT64", "UINT64"):
            return tensor
        values = np.frombuffer(tensor.blob, DATATYPES[datatype].numpy)
        doubles = [int(float(value)) for value in values.tolist()]
        limits = np.iinfo(values.dtype)
        held = [min(max(value, int(limits.min)), int(limits.max)) for value in doubles]
        return replace(tensor, blob=np.array(held, values.dtype).tobytes())


@client_fault(
    "read-json-floats-as-fp64",
    breaks="K14",
    text="JSON numbers of FP32 and FP16 are given to the user as FP64.",
)
class _FloatsAsFp64(PlainClient):
    def json_output(self, name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
        wide = "FP64" if datatype in ("FP16", "FP32") else datatype
        return super().json_output(name, wide, shape, entry)


@client_fault(
    "read-json-integers-as-int64",
    breaks="K14",
    text="JSON integers are given to the user as INT64, whatever their datatype.",
)
class _IntegersAsInt64(PlainClient):
    def json_output(self, name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
        small = datatype.startswith(("INT", "UINT")) and datatype != "UINT64"
        return super().json_output(name, "INT64" if small else datatype, shape, entry)


@client_fault(
    "read-json-integers-in-32-bits",
    breaks="K14",
    text="JSON integers beyond 32 bits are read as the largest that has 32.",
)
class _IntegersIn32Bits(PlainClient):
    def json_output(self, name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
        tensor = super().json_output(name, datatype, shape, entry)
        if datatype not in ("INT64", "UINT64"):
            return tensor
        values = np.frombuffer(tensor.blob, DATATYPES[datatype].numpy)
        return replace(tensor, blob=np.minimum(values, _MOST_IN_32_BITS).tobytes())


@client_fault(
    "read-json-negative-zero-lost",
    breaks="K14",
    text="A JSON number of -0.0 is read as 0.",
)
class _NegativeZeroLost(PlainClient):
    def json_output(self, name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
        tensor = super().json_output(name, datatype, shape, entry)
        if datatype not in ("FP32", "FP64"):
            return tensor
        values = np.frombuffer(tensor.blob, DATATYPES[datatype].numpy)
        return replace(tensor, blob=np.where(values == 0, 0, values).astype(values.dtype).tobytes())
