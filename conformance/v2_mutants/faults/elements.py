"""Faults of element encoding, as blobs and as JSON (D)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from msgspec import structs

from v2_conformance.protocol.datatypes import DATATYPES, Buffer, from_values, leaves, to_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Blobs
from v2_conformance.reference.request_reader import RequestInput
from v2_conformance.suite.models import TensorSpec
from v2_mutants.faults.shared import (
    Bits,
    change_bits,
    column_major,
    resize,
    reversed_order,
    swap_bytes,
)
from v2_mutants.registry import Right, What, fault, only, refuses, then

_SIGNED = ("INT8", "INT16", "INT32", "INT64")
_UNSIGNED = ("UINT8", "UINT16", "UINT32", "UINT64")


def _changes_bits_of(names: tuple[str, ...], change: Callable[[str, Bits], Bits]) -> What[Tensor]:
    """A server whose models apply `change` to the elements of some datatypes."""

    def changed(made: Tensor) -> Tensor:
        name = made.datatype
        return structs.replace(
            made, blob=change_bits(name, made.blob, lambda bits: change(name, bits))
        )

    return only(names, lambda right, output, tensor: changed(right()))


for _kind, _requirement, _names in (
    ("signed", "D1", _SIGNED),
    ("unsigned", "D2", _UNSIGNED),
    ("fp32", "D3", ("FP32",)),
):
    fault(f"{_kind}-inputs-big-endian", _requirement, Behavior.binary_blob)(
        f"Binary inputs of {', '.join(_names)} are big-endian.",
        only(_names, lambda right, entry, blob: swap_bytes(entry.spec.datatype, right())),
    )
    fault(f"{_kind}-outputs-big-endian", _requirement, Behavior.output_blob)(
        f"Binary outputs of {', '.join(_names)} are big-endian.",
        only(_names, lambda right, tensor: swap_bytes(tensor.datatype, right())),
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


def _canonical_nan(name: str, bits: Bits) -> Bits:
    masks = _FLOATS[name]
    nan = masks.exponent | ((masks.fraction + 1) >> 1)
    is_nan = ((bits & masks.exponent) == masks.exponent) & ((bits & masks.fraction) != 0)
    return np.where(is_nan, bits.dtype.type(nan), bits)


for _name, _requirement in (("FP32", "D3"), ("BF16", "D9")):
    fault(f"{_name.lower()}-subnormals-flushed", _requirement, Behavior.output_tensor)(
        f"Subnormal {_name} elements are returned as zeros.",
        _changes_bits_of((_name,), _flush_subnormals),
    )

fault("nan-payloads-lost", "D4", Behavior.output_tensor)(
    "Every NaN is returned as the canonical quiet NaN.",
    _changes_bits_of(("FP16", "FP32", "FP64"), _canonical_nan),
)
fault("signaling-bf16-nans-are-infinite", "D4", Behavior.output_tensor)(
    "A signaling NaN of BF16 is returned as an infinity.",
    _changes_bits_of(("BF16",), lambda _, x: np.where(x & 0x7FC0 == 0x7F80, x & 0xFF80, x)),
)


def _tensor(entry: RequestInput, blob: Buffer) -> Tensor:
    return Tensor(entry.spec.name, entry.spec.datatype, entry.shape, blob)


def _read_column_major(entry: RequestInput, blob: Buffer) -> Buffer:
    return column_major(_tensor(entry, blob), back=True).blob


fault("bool-true-as-255", "D6", Behavior.output_blob)(
    "In binary BOOL outputs, true is the byte 255.",
    only(("BOOL",), lambda right, tensor: bytes(right()).replace(b"\1", b"\xff")),
)
fault("bool-one-as-false", "D7", Behavior.bool_blob)(
    "In binary BOOL inputs, only the byte 255 is true; 1 is read as false.",
    lambda right, entry, blob: bytes(byte == 255 for byte in bytes(blob)),
)
fault("fp16-takes-four-bytes", "D8", Behavior.check_size)(
    "Binary FP16 inputs are rejected, as if each element took four bytes.",
    only(("FP16",), refuses(lambda entry, size: size)),
)
fault("column-major-outputs", "D10", Behavior.output_blob)(
    "Binary outputs are written in column-major order.",
    lambda right, tensor: right(column_major(tensor)),
)


@fault.several("column-major", "D10")
class _ColumnMajor(Behavior):
    """Binary inputs and outputs are both column-major, which only JSON can reveal."""

    def binary_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        return _read_column_major(entry, super().binary_blob(entry, blob))

    def output_blob(self, tensor: Tensor) -> Buffer:
        return super().output_blob(column_major(tensor))


def _cut(tensor: Tensor) -> int:
    return 4 * (len(tensor.blob) // tensor.shape[0])


def _through_double(blob: Buffer) -> bytes:
    doubles = map(float, to_values("INT64", blob))
    return from_values("INT64", [min(int(double), 2**63 - 1) for double in doubles])


@fault.several("int64-json-through-double", "D15")
class _JsonThroughDouble(Behavior):
    """INT64 elements in JSON pass through a double, in inputs and outputs."""

    def json_blob(self, entry: RequestInput) -> Buffer:
        blob = super().json_blob(entry)
        return _through_double(blob) if entry.spec.datatype == "INT64" else blob

    def output_data(self, tensor: Tensor) -> Any:
        if tensor.datatype == "INT64":
            tensor = structs.replace(tensor, blob=_through_double(tensor.blob))
        return super().output_data(tensor)


fault("json-inputs-reversed", "D11", Behavior.json_blob)(
    "The elements of an input in JSON are read in reverse order.",
    lambda right, entry: reversed_order(_tensor(entry, right())).blob,
)
fault("half-json-inputs-cut", "D12", Behavior.json_blob)(
    "FP16 and BF16 inputs in JSON lose their last bit.",
    only(
        ("FP16", "BF16"),
        lambda right, entry: change_bits(entry.spec.datatype, right(), lambda bits: bits & 0xFFFE),
    ),
)


@fault("blobs-read-aligned", "D14", Behavior.slice_blob)
def _(
    right: Right[memoryview], entry: RequestInput, blobs: Blobs, offset: int, size: int
) -> memoryview:
    """Blobs of 8-byte elements are read from the next multiple of 8 bytes."""
    start = -(-offset // 8) * 8
    blob = right()
    aligned = DATATYPES[entry.spec.datatype].size == 8
    return memoryview(resize(blobs.view[start : start + size], size)) if aligned else blob


@fault("missing-bytes-of-the-request-before", "S3", Behavior.slice_blob)
def _(
    right: Right[memoryview], entry: RequestInput, blobs: Blobs, offset: int, size: int
) -> memoryview:
    """Bytes that a body lacks are those of the request before, if that was longer."""
    own = bytes(blobs.view)
    filled = own + (right.keep(own) or b"")[len(own) :]
    return memoryview(filled)[offset : offset + size] if len(filled) >= offset + size else right()


fault("unaligned-blobs-refused", "D14", Behavior.slice_blob)(
    "A blob at an offset that is not a multiple of its element size is rejected.",
    refuses(
        lambda entry, blobs, offset, size: (
            size and offset % (DATATYPES[entry.spec.datatype].size or 1)
        )
    ),
)


def _reads(datatype: str, read: Callable[[float], float]) -> What[Buffer]:
    """A server that reads each number in JSON for this datatype as `read` does."""

    def what(right: Right[Buffer], entry: RequestInput) -> Buffer:
        blob = right()
        data = entry.data
        if entry.spec.datatype != datatype or not isinstance(data, list):
            return blob
        if any(type(item) is not float for item in data):
            return blob
        return from_values(datatype, [read(item) for item in data])

    return what


def _as_fp32(value: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float32(value))


fault("fp64-decimals-read-as-fp32", "D11", Behavior.json_blob)(
    "FP64 inputs in JSON are read as FP32.", _reads("FP64", _as_fp32)
)
fault("long-lists-cut", "D11", Behavior.output_data)(
    "An output in JSON ends after 65,536 elements.", lambda right, tensor: right()[:65536]
)

_POINT = re.compile(rb"(?<=[\[,])(-?)([0-9]+)[.]([0-9]+)(?=[,\]])")


def _over_a_power(root: re.Match[bytes]) -> bytes:
    sign, whole, fraction = root.groups()
    return sign + repr(float(int(whole + fraction)) / 10.0 ** len(fraction)).encode()


fault("decimals-read-as-digits-over-a-power", "D11", Behavior.parse_document)(
    "A decimal is read as its digits over a power of ten, and rounded twice.",
    lambda right, text: right(memoryview(_POINT.sub(_over_a_power, bytes(text)))),
)


@fault("floats-written-as-the-first-is", "D11", Behavior.output_data)
def _(right: Right[Any], tensor: Tensor) -> Any:
    """If the first element of a float output is a whole number from 1 to 100, all are written as
    integers."""
    data = right()
    if DATATYPES[tensor.datatype].kind != "float" or data[:1] not in [[n] for n in range(1, 101)]:
        return data
    return [*map(int, data)]


@fault("integers-before-datatype-rounded", "D15", Behavior.request_input)
def _(right: Right[RequestInput], specs: dict[str, TensorSpec], item: Any) -> RequestInput:
    """`data` that comes before `datatype` is read as doubles."""
    entry = right()
    names = list(item)
    if not entry.has_data or names.index("data") > names.index("datatype"):
        return entry
    if entry.spec.datatype not in ("INT64", "UINT64"):
        return entry
    read = [int(float(one)) if type(one) is int else one for one in leaves(entry.data)]
    return replace(entry, data=read)


fault("smallest-int64-written-as-zero", "D15", Behavior.output_data)(
    "The smallest INT64 in JSON is 0.",
    only(("INT64",), lambda right, tensor: [0 if one == -(2**63) else one for one in right()]),
)
fault("integers-with-fraction-rounded", "D15", Behavior.json_blob)(
    "An INT64 that is written with a fraction or an exponent is read as a double.",
    lambda right, entry: (
        from_values("INT64", [int(float(str(one))) for one in leaves(entry.data)])
        if entry.spec.datatype == "INT64" and any(type(one) is float for one in leaves(entry.data))
        else right()
    ),
)
fault("dimensions-of-one-lost", "D16", Behavior.output_tensor)(
    "Tensors of numbers lose their dimensions of 1.",
    then(
        lambda made, output, tensor: (
            made
            if made.datatype == "BYTES" or len(made.shape) == 1
            else structs.replace(made, shape=tuple(one for one in made.shape if one != 1))
        )
    ),
)
fault("halves-of-a-batch-swapped", "D10", Behavior.output_tensor)(
    "Tensors of five to eight rows are split after four, and joined in the wrong order.",
    then(
        lambda made, output, tensor: (
            structs.replace(
                made, blob=bytes(made.blob[_cut(made) :]) + bytes(made.blob[: _cut(made)])
            )
            if len(made.shape) == 2 and 4 < made.shape[0] <= 8 and made.datatype != "BYTES"
            else made
        )
    ),
)
fault("json-floats-six-digits", "D11", Behavior.output_data)(
    "FP32 and FP64 outputs in JSON have six significant digits.",
    only(("FP32", "FP64"), lambda right, tensor: [float(f"{value:.6g}") for value in right()]),
)
fault("json-fp32-eight-digits", "D11", Behavior.output_data)(
    "FP32 in JSON has eight significant digits, one too few for some.",
    only(("FP32",), lambda right, tensor: [float(f"{value:.8g}") for value in right()]),
)
