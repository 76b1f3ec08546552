"""Faults of element encoding (D)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from v2_conformance.protocol.datatypes import DATATYPES, Buffer, from_values, to_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.exchange import Blobs, Rejected
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.tools import (
    Bits,
    column_major,
    fill,
    on_bits,
    reversed_order,
    swap_bytes,
)
from v2_conformance.reference.reading import Entry
from v2_conformance.suite.models import TensorSpec

_SIGNED = ("INT8", "INT16", "INT32", "INT64")
_UNSIGNED = ("UINT8", "UINT16", "UINT32", "UINT64")


def _changes_bits(
    datatypes: tuple[str, ...], change: Callable[[str, Bits], Bits]
) -> type[Behaviour]:
    """A server whose models return elements of some datatypes changed."""

    class Changed(Behaviour):
        def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
            made = super().output_tensor(output, tensor)
            name = made.datatype
            if name not in datatypes:
                return made
            return replace(made, blob=on_bits(name, made.blob, lambda bits: change(name, bits)))

    return Changed


def _swaps(datatypes: tuple[str, ...], *, inputs: bool) -> type[Behaviour]:
    """A server that takes binary inputs, or gives binary outputs, of some datatypes big-endian."""

    class SwapsInputs(Behaviour):
        def binary_blob(self, entry: Entry, blob: Buffer) -> Buffer:
            blob = super().binary_blob(entry, blob)
            name = entry.spec.datatype
            return swap_bytes(name, blob) if name in datatypes else blob

    class SwapsOutputs(Behaviour):
        def output_blob(self, tensor: Tensor) -> Buffer:
            blob = super().output_blob(tensor)
            return swap_bytes(tensor.datatype, blob) if tensor.datatype in datatypes else blob

    return SwapsInputs if inputs else SwapsOutputs


def _top_bit(datatype: str) -> int:
    return 1 << (8 * (DATATYPES[datatype].size or 1) - 1)


def _register_byte_order() -> None:
    kinds = {
        "signed": ("D1", _SIGNED),
        "unsigned": ("D2", _UNSIGNED),
        "fp32": ("D3", ("FP32",)),
        "fp64": ("D5", ("FP64",)),
        "fp16": ("D8", ("FP16",)),
        "bf16": ("D9", ("BF16",)),
    }
    for kind, (requirement, names) in kinds.items():
        for way in ("inputs", "outputs"):
            register = fault(
                f"{kind}-{way}-big-endian",
                breaks=requirement,
                text=f"Binary {way} of {', '.join(names)} are big-endian.",
            )
            register(_swaps(names, inputs=way == "inputs"))


def _register_integers() -> None:
    fault(
        "signed-minimum-lost",
        breaks="D1",
        text="The smallest signed integer of each width comes back one larger.",
    )(_changes_bits(_SIGNED, lambda name, bits: np.where(bits == _top_bit(name), bits + 1, bits)))
    fault(
        "unsigned-top-bit-lost",
        breaks="D2",
        text="The top bit of unsigned integers is cleared.",
    )(_changes_bits(_UNSIGNED, lambda name, bits: bits & (_top_bit(name) - 1)))


@dataclass(frozen=True)
class _Layout:
    """A binary float: masks of its sign, exponent and fraction."""

    sign: int
    exponent: int
    fraction: int


_FLOATS = {
    "FP16": _Layout(0x8000, 0x7C00, 0x03FF),
    "BF16": _Layout(0x8000, 0x7F80, 0x007F),
    "FP32": _Layout(0x8000_0000, 0x7F80_0000, 0x007F_FFFF),
    "FP64": _Layout(1 << 63, 0x7FF << 52, (1 << 52) - 1),
}


def _flush(name: str, bits: Bits) -> Bits:
    layout = _FLOATS[name]
    return np.where((bits & layout.exponent) == 0, bits & layout.sign, bits)


def _unsign_zero(name: str, bits: Bits) -> Bits:
    return np.where(bits == _FLOATS[name].sign, bits - _FLOATS[name].sign, bits)


def _clamp_infinity(name: str, bits: Bits) -> Bits:
    layout = _FLOATS[name]
    return np.where((bits & ~bits.dtype.type(layout.sign)) == layout.exponent, bits - 1, bits)


def _overflow_largest(name: str, bits: Bits) -> Bits:
    layout = _FLOATS[name]
    largest = layout.exponent - 1
    return np.where((bits & ~bits.dtype.type(layout.sign)) == largest, bits + 1, bits)


def _canonical_nan(name: str, bits: Bits) -> Bits:
    layout = _FLOATS[name]
    nan = layout.exponent | ((layout.fraction + 1) >> 1)
    is_nan = ((bits & layout.exponent) == layout.exponent) & ((bits & layout.fraction) != 0)
    return np.where(is_nan, bits.dtype.type(nan), bits)


def _register_floats() -> None:
    changes: dict[str, tuple[str, Callable[[str, Bits], Bits]]] = {
        "subnormals-flushed": ("Subnormal {} elements come back as zeros.", _flush),
        "negative-zero-lost": ("A {} element of -0 comes back as 0.", _unsign_zero),
        "infinity-clamped": ("Infinite {} elements come back as the largest.", _clamp_infinity),
        "largest-overflows": ("The largest {} elements come back infinite.", _overflow_largest),
    }
    for name, requirement in (("FP32", "D3"), ("FP64", "D5"), ("FP16", "D8"), ("BF16", "D9")):
        for slug, (text, change) in changes.items():
            register = fault(f"{name.lower()}-{slug}", breaks=requirement, text=text.format(name))
            register(_changes_bits((name,), change))
    fault(
        "nan-payloads-lost",
        breaks="D4",
        text="Every NaN comes back as the canonical quiet one.",
    )(_changes_bits(("FP16", "FP32", "FP64"), _canonical_nan))


_register_byte_order()
_register_integers()
_register_floats()


@fault(
    "fp64-through-fp32",
    breaks="D5",
    text="FP64 elements lose the precision that FP32 does not have.",
)
class _Fp64ThroughFp32(Behaviour):
    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        made = super().output_tensor(output, tensor)
        if made.datatype != "FP64":
            return made
        with np.errstate(all="ignore"):
            narrow = np.frombuffer(made.blob, "<f8").astype("<f4")
            return replace(made, blob=narrow.astype("<f8").tobytes())


@fault(
    "fp16-takes-four-bytes",
    breaks="D8",
    text="Binary FP16 inputs have to have four bytes an element.",
)
class _Fp16TakesFourBytes(Behaviour):
    def check_size(self, entry: Entry, size: int) -> None:
        super().check_size(entry, size)
        if entry.spec.datatype == "FP16" and size:
            raise Rejected(f"FP16 takes four bytes an element, not {size} bytes in all")


@fault(
    "bool-true-as-255",
    breaks="D6",
    text="True is byte 255 in binary BOOL outputs.",
)
class _BoolTrueAs255(Behaviour):
    def output_blob(self, tensor: Tensor) -> Buffer:
        blob = super().output_blob(tensor)
        return bytes(blob).replace(b"\1", b"\xff") if tensor.datatype == "BOOL" else blob


@fault(
    "bool-outputs-all-true",
    breaks="D6",
    text="False is byte 1 in binary BOOL outputs.",
)
class _BoolOutputsAllTrue(Behaviour):
    def output_blob(self, tensor: Tensor) -> Buffer:
        blob = super().output_blob(tensor)
        return bytes(blob).replace(b"\0", b"\1") if tensor.datatype == "BOOL" else blob


@fault(
    "bool-one-as-false",
    breaks="D7",
    text="Only byte 255 is true in binary BOOL inputs; 1 is read as false.",
)
class _BoolOneAsFalse(Behaviour):
    def bool_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        return bytes(byte == 255 for byte in bytes(blob))


@fault(
    "column-major-inputs",
    breaks="D10",
    text="Binary inputs are read in column-major order.",
)
class _ColumnMajorInputs(Behaviour):
    def binary_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        return _column_blob(entry, super().binary_blob(entry, blob))


@fault(
    "column-major-outputs",
    breaks="D10",
    text="Binary outputs are written in column-major order.",
)
class _ColumnMajorOutputs(Behaviour):
    def output_blob(self, tensor: Tensor) -> Buffer:
        return super().output_blob(column_major(tensor))


@fault(
    "column-major",
    breaks="D10",
    text="Binary inputs and outputs are column-major, which only their JSON form reveals.",
)
class _ColumnMajor(Behaviour):
    def binary_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        return _column_blob(entry, super().binary_blob(entry, blob))

    def output_blob(self, tensor: Tensor) -> Buffer:
        return super().output_blob(column_major(tensor))


@fault(
    "uint64-json-through-double",
    breaks="D11",
    text="UINT64 elements in JSON go through a double, in and out.",
)
class _Uint64ThroughDouble(Behaviour):
    def json_blob(self, entry: Entry) -> Buffer:
        return _through_double("UINT64", entry.spec.datatype, super().json_blob(entry))

    def output_data(self, tensor: Tensor) -> Any:
        blob = _through_double("UINT64", tensor.datatype, tensor.blob)
        return super().output_data(replace(tensor, blob=blob))


@fault(
    "int64-json-through-double",
    breaks="D11",
    text="INT64 elements in JSON go through a double, in and out.",
)
class _Int64ThroughDouble(Behaviour):
    def json_blob(self, entry: Entry) -> Buffer:
        return _through_double("INT64", entry.spec.datatype, super().json_blob(entry))

    def output_data(self, tensor: Tensor) -> Any:
        blob = _through_double("INT64", tensor.datatype, tensor.blob)
        return super().output_data(replace(tensor, blob=blob))


@fault(
    "json-floats-six-digits",
    breaks="D11",
    text="FP32 and FP64 outputs in JSON have six significant digits.",
)
class _SixDigits(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        data = super().output_data(tensor)
        if tensor.datatype not in ("FP32", "FP64"):
            return data
        return [float(f"{value:.6g}") for value in data]


@fault(
    "json-inputs-reversed",
    breaks="D11",
    text="The elements of an input given as JSON arrive last first.",
)
class _JsonInputsReversed(Behaviour):
    def json_blob(self, entry: Entry) -> Buffer:
        blob = super().json_blob(entry)
        return reversed_order(_tensor(entry, blob)).blob


@fault(
    "json-outputs-reversed",
    breaks="D11",
    text="The elements of an output in JSON are last first.",
)
class _JsonOutputsReversed(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        return super().output_data(tensor)[::-1]


@fault(
    "half-json-inputs-cut",
    breaks="D12",
    text="FP16 and BF16 inputs given as JSON lose their last bit.",
)
class _HalfInputsCut(Behaviour):
    def json_blob(self, entry: Entry) -> Buffer:
        blob = super().json_blob(entry)
        if entry.spec.datatype not in ("FP16", "BF16"):
            return blob
        return on_bits(entry.spec.datatype, blob, lambda bits: bits & 0xFFFE)


@fault(
    "half-json-outputs-rounded",
    breaks="D12",
    text="FP16 and BF16 outputs in JSON have two significant digits.",
)
class _HalfOutputsRounded(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        data = super().output_data(tensor)
        if tensor.datatype not in ("FP16", "BF16"):
            return data
        return [float(f"{value:.2g}") for value in data]


@fault(
    "blobs-read-aligned",
    breaks="D14",
    text="Blobs of 8-byte elements are read from the next offset that 8 divides.",
)
class _BlobsReadAligned(Behaviour):
    def slice_blob(self, entry: Entry, blobs: Blobs, offset: int, size: int) -> memoryview:
        blob = super().slice_blob(entry, blobs, offset, size)
        if DATATYPES[entry.spec.datatype].size != 8:
            return blob
        start = -(-offset // 8) * 8
        return memoryview(fill(blobs.view[start : start + size], size))


@fault(
    "unaligned-blobs-refused",
    breaks="D14",
    text="A blob at an offset that its element size does not divide is refused.",
)
class _UnalignedRefused(Behaviour):
    def slice_blob(self, entry: Entry, blobs: Blobs, offset: int, size: int) -> memoryview:
        if size and offset % (DATATYPES[entry.spec.datatype].size or 1):
            raise Rejected(f"the data of {entry.spec.name} is not aligned")
        return super().slice_blob(entry, blobs, offset, size)


def _tensor(entry: Entry, blob: Buffer) -> Tensor:
    return Tensor(entry.spec.name, entry.spec.datatype, entry.shape, blob)


def _column_blob(entry: Entry, blob: Buffer) -> Buffer:
    return column_major(_tensor(entry, blob), back=True).blob


def _through_double(only: str, datatype: str, blob: Buffer) -> Buffer:
    if datatype != only:
        return blob
    high = 2**64 - 1 if only == "UINT64" else 2**63 - 1
    return from_values(only, [min(int(float(v)), high) for v in to_values(only, blob)])
