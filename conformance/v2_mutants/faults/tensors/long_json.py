"""Faults of numbers in JSON on ways of their own: among blobs, and before the datatype (D)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from v2_conformance.protocol.datatypes import leaves
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.request_reader import RequestInput
from v2_conformance.suite.models import TensorSpec
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
