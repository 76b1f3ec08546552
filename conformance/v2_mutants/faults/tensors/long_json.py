"""Faults of numbers in JSON on ways of their own: long arrays, among blobs, before the datatype."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from v2_conformance.protocol.datatypes import (
    Buffer,
    ElementError,
    element_count,
    from_json,
)
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request
from v2_conformance.reference.request_reader import InferenceRequest, RequestInput
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.registry import Right, fault

_LONG = 1000


def _each(data: Any, change: Callable[[Any], Any]) -> Any:
    return [_each(one, change) for one in data] if isinstance(data, list) else change(data)


def _narrowed(blob: Buffer, start: int = 0) -> bytes:
    """Return FP64 elements that went through FP32 from the element `start` on."""
    values = np.frombuffer(blob, "<f8").copy()
    with np.errstate(over="ignore"):
        values[start:] = values[start:].astype("<f4")
    return bytes(values.tobytes())


@fault("integers-before-datatype-rounded", "D15", Behaviour.request_input)
def _(right: Right[RequestInput], specs: dict[str, TensorSpec], item: Any) -> RequestInput:
    """`data` that comes before `datatype` is read as doubles."""
    entry = right()
    names = list(item)
    if not entry.has_data or names.index("data") > names.index("datatype"):
        return entry
    if entry.spec.datatype not in ("INT64", "UINT64"):
        return entry
    return replace(
        entry, data=_each(entry.data, lambda one: int(float(one)) if type(one) is int else one)
    )


@fault("long-fp64-data-through-fp32", "V3", Behaviour.json_blob)
def _(right: Right[Buffer], entry: RequestInput) -> Buffer:
    """Behind 1,000 elements, FP64 in JSON is read as FP32."""
    blob = right()
    return _narrowed(blob, _LONG) if entry.spec.datatype == "FP64" else blob


@fault("long-integer-answers-through-doubles", "V3", Behaviour.output_data)
def _(right: Right[object], tensor: Tensor) -> object:
    """Over 1,000 elements, integers of 64 bits are written as doubles."""
    long = tensor.datatype in ("INT64", "UINT64") and element_count(tensor.shape) > _LONG
    return _each(right(), lambda one: int(float(one))) if long else right()


@fault("doubles-among-blobs-through-fp32", "D11", Behaviour.read_request)
def _(
    right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
) -> InferenceRequest:
    """FP64 in JSON is read as FP32 if other inputs are blobs."""
    found = right()
    if length is None or length == len(request.body):
        return found
    for item in json.loads(bytes(request.body[:length]))["inputs"]:
        if item["datatype"] == "FP64" and "data" in item:
            tensor = found.inputs[item["name"]]
            narrow = msgspec.structs.replace(tensor, blob=_narrowed(tensor.blob))
            found = replace(found, inputs={**found.inputs, item["name"]: narrow})
    return found


@fault("fp16-out-of-range-infinite", "J1", Behaviour.json_blob)
def _(right: Right[Buffer], entry: RequestInput) -> Buffer:
    """An FP16 in JSON that is too large becomes infinite."""
    try:
        return right()
    except ElementError:
        if entry.spec.datatype != "FP16":
            raise
        doubles = np.frombuffer(from_json("FP64", entry.shape, entry.data), "<f8")
        with np.errstate(over="ignore"):
            return doubles.astype("<f2").tobytes()
