"""Faults of elements in JSON: decimals, and tensors of three dimensions (D)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from v2_conformance.protocol.datatypes import DATATYPES, Buffer, from_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared.blobs import column_major
from v2_mutants.registry import Right, What, fault, then


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


def _writes(datatypes: tuple[str, ...], write: Callable[[float], float]) -> What[Any]:
    """A server that writes `write` of each finite float of these datatypes in JSON."""

    def what(right: Right[Any], tensor: Tensor) -> Any:
        data = right()
        return list(map(write, data)) if tensor.datatype in datatypes else data

    return what


def _cut_off(value: float) -> float:
    """The FP32 next to `value`, or `value` itself, in the direction of zero."""
    nearest = np.float32(value)
    if abs(float(nearest)) <= abs(value):
        return float(nearest)
    return float(np.nextafter(nearest, np.float32(0)))


def _as_fp32(value: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float32(value))


fault("fp32-decimals-cut-off", "D11", Behaviour.json_blob)(
    "A decimal in JSON that is no FP32 is cut off instead of rounded.", _reads("FP32", _cut_off)
)
fault("fp64-decimals-read-as-fp32", "D11", Behaviour.json_blob)(
    "FP64 inputs in JSON are read as FP32.", _reads("FP64", _as_fp32)
)
fault("fp64-decimals-written-as-fp32", "D11", Behaviour.output_data)(
    "FP64 outputs in JSON are written as FP32.",
    _writes(("FP64",), lambda value: value if abs(value) > 1e38 else _as_fp32(value)),
)
fault("floats-with-six-places", "D11", Behaviour.output_data)(
    "Small floats in JSON outputs have six places behind the point.",
    _writes(
        ("FP32", "FP64"), lambda value: float(f"{value:.6f}") if 1e-7 < abs(value) < 1e9 else value
    ),
)
fault("long-lists-cut", "D11", Behaviour.output_data)(
    "An output in JSON ends after 65,536 elements.", lambda right, tensor: right()[:65536]
)


_POINT = re.compile(rb"(?<=[\[,])(-?)([0-9]+)[.]([0-9]+)(?=[,\]])")
_WORD = 2**64


def _rewrites_decimals(write: Callable[[str, str], str]) -> What[JsonObject]:
    """A server that reads each decimal without an exponent as `write` makes it of its digits before
    and behind the point."""

    def rewritten(found: re.Match[bytes]) -> bytes:
        sign, whole, fraction = (part.decode() for part in found.groups())
        return (sign + write(whole, fraction)).encode()

    return lambda right, text: right(memoryview(_POINT.sub(rewritten, bytes(text))))


def _in_a_word(whole: str, fraction: str) -> str:
    """Decimals whose digits are counted in a word of 64 bits, which wraps around."""
    if len(fraction) < 20:
        return f"{whole}.{fraction}"
    return f"{int(whole + fraction) % _WORD}e-{len(fraction)}"


def _over_a_power(whole: str, fraction: str) -> str:
    """Decimals as their digits over a power of ten, each of them a double."""
    return repr(float(int(whole + fraction)) / 10.0 ** len(fraction))


for _name, _text, _write in (
    ("twenty-digits-wrap-around",
     "Digits of a decimal with twenty places or more are counted in 64 bits, which wrap around.",
     _in_a_word),
    ("decimals-read-as-digits-over-a-power",
     "A decimal is read as its digits over a power of ten, and rounded twice.", _over_a_power),
):  # fmt: skip
    fault(_name, "D11", Behaviour.parse_document)(_text, _rewrites_decimals(_write))


def _reads_floats(read: Callable[[list[Any]], list[Any]]) -> What[Buffer]:
    """A server that reads the numbers for a float input as `read` does."""

    def what(right: Right[Buffer], entry: RequestInput) -> Buffer:
        data = entry.data
        if DATATYPES[entry.spec.datatype].kind != "float" or not isinstance(data, list):
            return right()
        if not data or any(type(item) not in (int, float) for item in data):
            return right()
        return right(replace(entry, data=read(data)))

    return what


fault("floats-read-as-the-first-is-written", "D11", Behaviour.json_blob)(
    "If the first number for a float input has no fraction, all are read as integers.",
    _reads_floats(lambda data: [*map(int, data)] if type(data[0]) is int else data),
)
fault("integers-for-floats-in-64-bits", "D11", Behaviour.json_blob)(
    "An integer for a float input is read in 64 bits, which wrap around.",
    _reads_floats(
        lambda data: [
            (item + 2**63) % _WORD - 2**63 if type(item) is int else item for item in data
        ]
    ),
)


@fault("floats-written-as-the-first-is", "D11", Behaviour.output_data)
def _(right: Right[Any], tensor: Tensor) -> Any:
    """If the first element of a float output is a whole number from 1 to 100, all are written as
    integers."""
    data = right()
    if DATATYPES[tensor.datatype].kind != "float" or data[:1] not in [[n] for n in range(1, 101)]:
        return data
    return [*map(int, data)]


def _axes_of_three(tensor: Tensor, order: tuple[int, int, int]) -> Tensor:
    """A tensor of three dimensions with its elements in the order of other axes."""
    size = DATATYPES[tensor.datatype].size
    if len(tensor.shape) != 3 or size is None or 0 in tensor.shape:
        return tensor
    values = np.frombuffer(tensor.blob, f"<u{size}").reshape(tensor.shape)
    blob = values.transpose(order).tobytes()
    return Tensor(tensor.name, tensor.datatype, tensor.shape, blob)


fault("inner-axes-swapped", "D10", Behaviour.json_blob)(
    "Of three dimensions, the last two are swapped when JSON is read.",
    then(
        lambda blob, entry: (
            _axes_of_three(
                Tensor(entry.spec.name, entry.spec.datatype, entry.shape, blob), (0, 2, 1)
            ).blob
        )
    ),
)
fault("three-dimensions-written-column-major", "D10", Behaviour.output_data)(
    "Outputs of three dimensions are written to JSON in column-major order.",
    lambda right, tensor: right(column_major(tensor) if len(tensor.shape) == 3 else tensor),
)


def _through_double(data: Any) -> Any:
    """The integers of a flat array as a double has them, none of them out of range."""
    if not isinstance(data, list) or any(type(item) is not int for item in data):
        return data
    return [int(float(item)) if abs(item) < 2**63 - 2**10 else item for item in data]


fault("integers-beside-blobs-read-as-doubles", "D15", Behaviour.request_inputs)(
    "64-bit integers in JSON pass through a double if other inputs are blobs.",
    then(
        lambda entries, model, document: (
            entries
            if all(entry.has_data for entry in entries)
            else [
                replace(entry, data=_through_double(entry.data))
                if entry.spec.datatype in ("INT64", "UINT64")
                else entry
                for entry in entries
            ]
        )
    ),
)


@fault("integers-beside-blobs-written-as-doubles", "D15", Behaviour.response_document)
def _(
    right: Right[JsonObject],
    model: ModelContract,
    inference: InferenceRequest,
    entries: list[JsonObject],
) -> JsonObject:
    """64-bit integers in JSON pass through a double if other outputs are blobs."""
    if any("data" not in entry for entry in entries):
        entries = [
            entry | {"data": _through_double(entry["data"])}
            if entry["datatype"] in ("INT64", "UINT64") and "data" in entry
            else entry
            for entry in entries
        ]
    return right(entries=entries)
