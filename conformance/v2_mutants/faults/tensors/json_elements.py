"""Faults of elements in JSON: decimals, and tensors of three dimensions (D)."""

from __future__ import annotations

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
