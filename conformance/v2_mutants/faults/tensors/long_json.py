"""Faults of numbers in JSON on ways of their own: among blobs, and before the datatype (D)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec

from v2_conformance.protocol.datatypes import leaves
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request
from v2_conformance.reference.request_reader import InferenceRequest, RequestInput
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.shared.blobs import through_fp32
from v2_mutants.registry import Right, fault


@fault("integers-before-datatype-rounded", "D15", Behaviour.request_input)
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


@fault("doubles-among-blobs-through-fp32", "D11", Behaviour.read_request)
def _(
    right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
) -> InferenceRequest:
    """FP64 in JSON is read as FP32 if other inputs are blobs."""
    result = right()
    if length is None or length == len(request.body):
        return result
    for item in json.loads(bytes(request.body[:length]))["inputs"]:
        if item["datatype"] == "FP64" and "data" in item:
            tensor = result.inputs[item["name"]]
            narrow = msgspec.structs.replace(tensor, blob=through_fp32(tensor.blob))
            result = replace(result, inputs={**result.inputs, item["name"]: narrow})
    return result
