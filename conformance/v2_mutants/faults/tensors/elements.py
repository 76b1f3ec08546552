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
from v2_conformance.reference.http_messages import Blobs
from v2_conformance.reference.request_reader import RequestInput
from v2_mutants.faults.shared.blobs import (
    Bits,
    change_bits,
    column_major,
    resize,
    reversed_order,
    swap_bytes,
    through_fp32,
)
from v2_mutants.registry import Right, What, fault, only, refuses, then

_SIGNED = ("INT8", "INT16", "INT32", "INT64")
_UNSIGNED = ("UINT8", "UINT16", "UINT32", "UINT64")


def _changes_bits_of(names: tuple[str, ...], change: Callable[[str, Bits], Bits]) -> What[Tensor]:
    """A server whose models apply `change` to the elements of some datatypes."""

    def changed(made: Tensor) -> Tensor:
        name = made.datatype
        return replace(made, blob=change_bits(name, made.blob, lambda bits: change(name, bits)))

    return only(names, lambda right, output, tensor: changed(right()))


def _json_rounded(names: tuple[str, ...], *, digits: int) -> What[Any]:
    """A server whose JSON outputs of some datatypes have so many significant digits."""
    return only(names, lambda right, tensor: [float(f"{value:.{digits}g}") for value in right()])


def _top_bit(datatype: str) -> int:
    return 1 << (8 * (DATATYPES[datatype].size or 1) - 1)


for _kind, _requirement, _names in (
    ("signed", "D1", _SIGNED),
    ("unsigned", "D2", _UNSIGNED),
    ("fp32", "D3", ("FP32",)),
    ("fp64", "D5", ("FP64",)),
    ("fp16", "D8", ("FP16",)),
    ("bf16", "D9", ("BF16",)),
):
    fault(f"{_kind}-inputs-big-endian", _requirement, Behaviour.binary_blob)(
        f"Binary inputs of {', '.join(_names)} are big-endian.",
        only(_names, lambda right, entry, blob: swap_bytes(entry.spec.datatype, right())),
    )
    fault(f"{_kind}-outputs-big-endian", _requirement, Behaviour.output_blob)(
        f"Binary outputs of {', '.join(_names)} are big-endian.",
        only(_names, lambda right, tensor: swap_bytes(tensor.datatype, right())),
    )

fault("signed-minimum-lost", "D1", Behaviour.output_tensor)(
    "The smallest signed integer of each width is returned one too large.",
    _changes_bits_of(_SIGNED, lambda name, bits: np.where(bits == _top_bit(name), bits + 1, bits)),
)
fault("unsigned-top-bit-lost", "D2", Behaviour.output_tensor)(
    "The top bit of unsigned integers is cleared.",
    _changes_bits_of(_UNSIGNED, lambda name, bits: bits & (_top_bit(name) - 1)),
)


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


for _slug, _text, _change in (
    ("subnormals-flushed", "Subnormal {} elements are returned as zeros.", _flush_subnormals),
    ("negative-zero-lost", "{} elements of -0 are returned as 0.", _clear_sign_of_zero),
    ("infinity-clamped", "Infinite {} elements are returned as the largest finite ones.",
     _clamp_infinity),
    ("largest-overflows", "The largest finite {} elements are returned as infinite.",
     _overflow_largest),
):  # fmt: skip
    for _name, _requirement in (("FP32", "D3"), ("FP64", "D5"), ("FP16", "D8"), ("BF16", "D9")):
        fault(f"{_name.lower()}-{_slug}", _requirement, Behaviour.output_tensor)(
            _text.format(_name), _changes_bits_of((_name,), _change)
        )

fault("nan-payloads-lost", "D4", Behaviour.output_tensor)(
    "Every NaN is returned as the canonical quiet NaN.",
    _changes_bits_of(("FP16", "FP32", "FP64"), _canonical_nan),
)
fault("bf16-nan-payloads-lost", "D4", Behaviour.output_tensor)(
    "Every NaN of BF16 is returned as the canonical quiet NaN.",
    _changes_bits_of(("BF16",), _canonical_nan),
)


def _tensor(entry: RequestInput, blob: Buffer) -> Tensor:
    return Tensor(entry.spec.name, entry.spec.datatype, entry.shape, blob)


def _read_column_major(entry: RequestInput, blob: Buffer) -> Buffer:
    return column_major(_tensor(entry, blob), back=True).blob


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


fault("fp64-through-fp32", "D5", Behaviour.output_tensor)(
    "FP64 elements are rounded to the precision of FP32.",
    only(
        ("FP64",),
        then(lambda made, output, tensor: replace(made, blob=through_fp32(made.blob))),
    ),
)


fault("bool-true-as-255", "D6", Behaviour.output_blob)(
    "In binary BOOL outputs, true is the byte 255.",
    only(("BOOL",), lambda right, tensor: bytes(right()).replace(b"\1", b"\xff")),
)
fault("bool-outputs-all-true", "D6", Behaviour.output_blob)(
    "In binary BOOL outputs, false is the byte 1.",
    only(("BOOL",), lambda right, tensor: bytes(right()).replace(b"\0", b"\1")),
)
fault("bool-one-as-false", "D7", Behaviour.bool_blob)(
    "In binary BOOL inputs, only the byte 255 is true; 1 is read as false.",
    lambda right, entry, blob: bytes(byte == 255 for byte in bytes(blob)),
)


fault("fp16-takes-four-bytes", "D8", Behaviour.check_size)(
    "Binary FP16 inputs are rejected, as if each element took four bytes.",
    only(("FP16",), refuses(lambda entry, size: size)),
)


fault("column-major-inputs", "D10", Behaviour.binary_blob)(
    "Binary inputs are read in column-major order.",
    lambda right, entry, blob: _read_column_major(entry, right()),
)
fault("column-major-outputs", "D10", Behaviour.output_blob)(
    "Binary outputs are written in column-major order.",
    lambda right, tensor: right(column_major(tensor)),
)


@fault.several("column-major", "D10")
class _ColumnMajor(Behaviour):
    """Binary inputs and outputs are both column-major, which only JSON can reveal."""

    def binary_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        return _read_column_major(entry, super().binary_blob(entry, blob))

    def output_blob(self, tensor: Tensor) -> Buffer:
        return super().output_blob(column_major(tensor))


fault.several(
    "uint64-json-through-double",
    "D15",
    "UINT64 elements in JSON pass through a double, in inputs and outputs.",
)(_json_through_double("UINT64", largest=2**64 - 1))
fault.several(
    "int64-json-through-double",
    "D15",
    "INT64 elements in JSON pass through a double, in inputs and outputs.",
)(_json_through_double("INT64", largest=2**63 - 1))
fault("json-floats-six-digits", "D11", Behaviour.output_data)(
    "FP32 and FP64 outputs in JSON have six significant digits.",
    _json_rounded(("FP32", "FP64"), digits=6),
)
fault("json-inputs-reversed", "D11", Behaviour.json_blob)(
    "The elements of an input in JSON are read in reverse order.",
    lambda right, entry: reversed_order(_tensor(entry, right())).blob,
)
fault("json-outputs-reversed", "D11", Behaviour.output_data)(
    "The elements of an output in JSON are written in reverse order.",
    lambda right, tensor: right()[::-1],
)


fault("half-json-inputs-cut", "D12", Behaviour.json_blob)(
    "FP16 and BF16 inputs in JSON lose their last bit.",
    only(
        ("FP16", "BF16"),
        lambda right, entry: change_bits(entry.spec.datatype, right(), lambda bits: bits & 0xFFFE),
    ),
)


fault("half-json-outputs-rounded", "D12", Behaviour.output_data)(
    "FP16 and BF16 outputs in JSON have two significant digits.",
    _json_rounded(("FP16", "BF16"), digits=2),
)


@fault("blobs-read-aligned", "D14", Behaviour.slice_blob)
def _(
    right: Right[memoryview], entry: RequestInput, blobs: Blobs, offset: int, size: int
) -> memoryview:
    """Blobs of 8-byte elements are read from the next multiple of 8 bytes."""
    start = -(-offset // 8) * 8
    blob = right()
    aligned = DATATYPES[entry.spec.datatype].size == 8
    return memoryview(resize(blobs.view[start : start + size], size)) if aligned else blob


fault("unaligned-blobs-refused", "D14", Behaviour.slice_blob)(
    "A blob at an offset that is not a multiple of its element size is rejected.",
    refuses(
        lambda entry, blobs, offset, size: (
            size and offset % (DATATYPES[entry.spec.datatype].size or 1)
        )
    ),
)
