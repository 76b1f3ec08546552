"""Faults of numbers in JSON on ways of their own: among blobs, and before the datatype (D)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from v2_conformance.protocol.datatypes import (
    Buffer,
)
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request
from v2_conformance.reference.request_reader import InferenceRequest, RequestInput
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.registry import Right, fault


def _each(data: Any, change: Callable[[Any], Any]) -> Any:
    return [_each(one, change) for one in data] if isinstance(data, list) else change(data)


def _narrowed(blob: Buffer) -> bytes:
    """Return FP64 elements that went through FP32."""
    values = np.frombuffer(blob, "<f8").copy()
    with np.errstate(over="ignore"):
        values = values.astype("<f4").astype("<f8")
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
