"""Faults of element encoding (D)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace

from v2_conformance.protocol.datatypes import DATATYPES, Buffer, from_values, to_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.shared.blobs import (
    Bits,
    change_bits,
    column_major,
    resize,
    reversed_order,
    swap_bytes,
)
from v2_conformance.reference.http_messages import Blobs, Rejected
from v2_conformance.reference.request_reader import RequestInput
from v2_conformance.suite.models import TensorSpec

_SIGNED = ("INT8", "INT16", "INT32", "INT64")
_UNSIGNED = ("UINT8", "UINT16", "UINT32", "UINT64")


def _changes_bits_of(
    datatypes: tuple[str, ...], change: Callable[[str, Bits], Bits]
) -> type[Behaviour]:
    """A server whose models apply `change` to the elements of some datatypes."""

    class ChangesBits(Behaviour):
        def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
            made = super().output_tensor(output, tensor)
            name = made.datatype
            if name not in datatypes:
                return made
            return replace(made, blob=change_bits(name, made.blob, lambda bits: change(name, bits)))

    return ChangesBits


def _big_endian(datatypes: tuple[str, ...], *, inputs: bool) -> type[Behaviour]:
    """A server whose binary inputs (or else outputs) of some datatypes are big-endian."""

    class SwapsInputs(Behaviour):
        def binary_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
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
        for side in ("inputs", "outputs"):
            register = fault(
                f"{kind}-{side}-big-endian",
                breaks=requirement,
                text=f"Binary {side} of {', '.join(names)} are big-endian.",
            )
            register(_big_endian(names, inputs=side == "inputs"))


def _register_integers() -> None:
    fault(
        "signed-minimum-lost",
        breaks="D1",
        text="The smallest signed integer of each width is returned one too large.",
    )(
        _changes_bits_of(
            _SIGNED, lambda name, bits: np.where(bits == _top_bit(name), bits + 1, bits)
        )
    )
    fault(
        "unsigned-top-bit-lost",
        breaks="D2",
        text="The top bit of unsigned integers is cleared.",
    )(_changes_bits_of(_UNSIGNED, lambda name, bits: bits & (_top_bit(name) - 1)))


@dataclass(frozen=True)
class _FloatMasks:
    """The bits of a binary float that hold its sign, exponent and fraction."""

    sign: int
    exponent: int
    fraction: int


_FLOATS = {
    "FP16": _FloatMasks(0x8000, 0x7C00, 0x03FF),
    "BF16": _FloatMasks(0x8000, 0x7F80, 0x007F),
    "FP32": _FloatMasks(0x8000_0000, 0x7F80_0000, 0x007F_FFFF),
    "FP64": _FloatMasks(1 << 63, 0x7FF << 52, (1 << 52) - 1),
}


def _flush_subnormals(name: str, bits: Bits) -> Bits:
    masks = _FLOATS[name]
    return np.where((bits & masks.exponent) == 0, bits & masks.sign, bits)


def _clear_sign_of_zero(name: str, bits: Bits) -> Bits:
    return np.where(bits == _FLOATS[name].sign, bits - _FLOATS[name].sign, bits)


def _clamp_infinity(name: str, bits: Bits) -> Bits:
    masks = _FLOATS[name]
    return np.where((bits & ~bits.dtype.type(masks.sign)) == masks.exponent, bits - 1, bits)


def _overflow_largest(name: str, bits: Bits) -> Bits:
    masks = _FLOATS[name]
    largest = masks.exponent - 1
    return np.where((bits & ~bits.dtype.type(masks.sign)) == largest, bits + 1, bits)


def _canonical_nan(name: str, bits: Bits) -> Bits:
    masks = _FLOATS[name]
    nan = masks.exponent | ((masks.fraction + 1) >> 1)
    is_nan = ((bits & masks.exponent) == masks.exponent) & ((bits & masks.fraction) != 0)
    return np.where(is_nan, bits.dtype.type(nan), bits)


def _register_floats() -> None:
    changes: dict[str, tuple[str, Callable[[str, Bits], Bits]]] = {
        "subnormals-flushed": ("Subnormal {} elements are returned as zeros.", _flush_subnormals),
        "negative-zero-lost": ("{} elements of -0 are returned as 0.", _clear_sign_of_zero),
        "infinity-clamped": (
            "Infinite {} elements are returned as the largest finite ones.",
            _clamp_infinity,
        ),
        "largest-overflows": (
            "The largest finite {} elements are returned as infinite.",
            _overflow_largest,
        ),
    }
    for name, requirement in (("FP32", "D3"), ("FP64", "D5"), ("FP16", "D8"), ("BF16", "D9")):
        for slug, (text, change) in changes.items():
            register = fault(f"{name.lower()}-{slug}", breaks=requirement, text=text.format(name))
            register(_changes_bits_of((name,), change))
    fault(
        "nan-payloads-lost",
        breaks="D4",
        text="Every NaN is returned as the canonical quiet NaN.",
    )(_changes_bits_of(("FP16", "FP32", "FP64"), _canonical_nan))


_register_byte_order()


_register_integers()


_register_floats()


def _tensor(entry: RequestInput, blob: Buffer) -> Tensor:
    return Tensor(entry.spec.name, entry.spec.datatype, entry.shape, blob)


def _read_column_major(entry: RequestInput, blob: Buffer) -> Buffer:
    return column_major(_tensor(entry, blob), back=True).blob


def _json_rounded(datatypes: tuple[str, ...], *, digits: int) -> type[Behaviour]:
    """A server whose JSON outputs of some datatypes have so many significant digits."""

    class JsonRounded(Behaviour):
        def output_data(self, tensor: Tensor) -> Any:
            data = super().output_data(tensor)
            if tensor.datatype not in datatypes:
                return data
            return [float(f"{value:.{digits}g}") for value in data]

    return JsonRounded


def _json_through_double(datatype: str, *, largest: int) -> type[Behaviour]:
    """A server that converts JSON elements of an integer datatype to a double and back."""

    def through_double(blob: Buffer) -> bytes:
        doubles = [float(value) for value in to_values(datatype, blob)]
        return from_values(datatype, [min(int(double), largest) for double in doubles])

    class JsonThroughDouble(Behaviour):
        def json_blob(self, entry: RequestInput) -> Buffer:
            blob = super().json_blob(entry)
            return through_double(blob) if entry.spec.datatype == datatype else blob

        def output_data(self, tensor: Tensor) -> Any:
            if tensor.datatype == datatype:
                tensor = replace(tensor, blob=through_double(tensor.blob))
            return super().output_data(tensor)

    return JsonThroughDouble


@fault(
    "fp64-through-fp32",
    breaks="D5",
    text="FP64 elements are rounded to the precision of FP32.",
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
    "bool-true-as-255",
    breaks="D6",
    text="In binary BOOL outputs, true is the byte 255.",
)
class _BoolTrueAs255(Behaviour):
    def output_blob(self, tensor: Tensor) -> Buffer:
        blob = super().output_blob(tensor)
        return bytes(blob).replace(b"\1", b"\xff") if tensor.datatype == "BOOL" else blob


@fault(
    "bool-outputs-all-true",
    breaks="D6",
    text="In binary BOOL outputs, false is the byte 1.",
)
class _BoolOutputsAllTrue(Behaviour):
    def output_blob(self, tensor: Tensor) -> Buffer:
        blob = super().output_blob(tensor)
        return bytes(blob).replace(b"\0", b"\1") if tensor.datatype == "BOOL" else blob


@fault(
    "bool-one-as-false",
    breaks="D7",
    text="In binary BOOL inputs, only the byte 255 is true; 1 is read as false.",
)
class _BoolOneAsFalse(Behaviour):
    def bool_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        return bytes(byte == 255 for byte in bytes(blob))


@fault(
    "fp16-takes-four-bytes",
    breaks="D8",
    text="Binary FP16 inputs are rejected, as if each element took four bytes.",
)
class _Fp16TakesFourBytes(Behaviour):
    def check_size(self, entry: RequestInput, size: int) -> None:
        super().check_size(entry, size)
        if entry.spec.datatype == "FP16" and size:
            raise Rejected(
                f"input {entry.spec.name}: FP16 takes four bytes per element, got {size} in all"
            )


@fault(
    "column-major-inputs",
    breaks="D10",
    text="Binary inputs are read in column-major order.",
)
class _ColumnMajorInputs(Behaviour):
    def binary_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        return _read_column_major(entry, super().binary_blob(entry, blob))


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
    text="Binary inputs and outputs are both column-major, which only JSON can reveal.",
)
class _ColumnMajor(Behaviour):
    def binary_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        return _read_column_major(entry, super().binary_blob(entry, blob))

    def output_blob(self, tensor: Tensor) -> Buffer:
        return super().output_blob(column_major(tensor))


fault(
    "uint64-json-through-double",
    breaks="D15",
    text="UINT64 elements in JSON pass through a double, in inputs and outputs.",
)(_json_through_double("UINT64", largest=2**64 - 1))
fault(
    "int64-json-through-double",
    breaks="D15",
    text="INT64 elements in JSON pass through a double, in inputs and outputs.",
)(_json_through_double("INT64", largest=2**63 - 1))


fault(
    "json-floats-six-digits",
    breaks="D11",
    text="FP32 and FP64 outputs in JSON have six significant digits.",
)(_json_rounded(("FP32", "FP64"), digits=6))


@fault(
    "json-inputs-reversed",
    breaks="D11",
    text="The elements of an input in JSON are read in reverse order.",
)
class _JsonInputsReversed(Behaviour):
    def json_blob(self, entry: RequestInput) -> Buffer:
        blob = super().json_blob(entry)
        return reversed_order(_tensor(entry, blob)).blob


@fault(
    "json-outputs-reversed",
    breaks="D11",
    text="The elements of an output in JSON are written in reverse order.",
)
class _JsonOutputsReversed(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        return super().output_data(tensor)[::-1]


@fault(
    "half-json-inputs-cut",
    breaks="D12",
    text="FP16 and BF16 inputs in JSON lose their last bit.",
)
class _HalfJsonInputsCut(Behaviour):
    def json_blob(self, entry: RequestInput) -> Buffer:
        blob = super().json_blob(entry)
        if entry.spec.datatype not in ("FP16", "BF16"):
            return blob
        return change_bits(entry.spec.datatype, blob, lambda bits: bits & 0xFFFE)


fault(
    "half-json-outputs-rounded",
    breaks="D12",
    text="FP16 and BF16 outputs in JSON have two significant digits.",
)(_json_rounded(("FP16", "BF16"), digits=2))


@fault(
    "blobs-read-aligned",
    breaks="D14",
    text="Blobs of 8-byte elements are read from the next multiple of 8 bytes.",
)
class _BlobsReadAligned(Behaviour):
    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        blob = super().slice_blob(entry, blobs, offset, size)
        if DATATYPES[entry.spec.datatype].size != 8:
            return blob
        start = -(-offset // 8) * 8
        return memoryview(resize(blobs.view[start : start + size], size))


@fault(
    "unaligned-blobs-refused",
    breaks="D14",
    text="A blob at an offset that is not a multiple of its element size is rejected.",
)
class _UnalignedBlobsRefused(Behaviour):
    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        if size and offset % (DATATYPES[entry.spec.datatype].size or 1):
            raise Rejected(f"the data of input {entry.spec.name} is not aligned")
        return super().slice_blob(entry, blobs, offset, size)
