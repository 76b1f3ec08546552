"""Faults at requests that a server may refuse, or whose meaning is disputed."""

from __future__ import annotations

from math import isfinite
from typing import Any

from v2_conformance.protocol.datatypes import to_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_mutants.faults.shared.crashes import CrashingServer, ends_server
from v2_mutants.registry import Right, fault

fault("empty-outputs-end-server", "R3", Behaviour.infer, base=CrashingServer)(
    "An empty list of outputs crashes the server.",
    ends_server(lambda model, request: b'"outputs":[]' in bytes(request.body[:4096])),
)


@fault("non-finite-floats-as-zero", "O19", Behaviour.output_data)
def _(right: Right[Any], tensor: Tensor) -> Any:
    """Non-finite floats are written to JSON as 0."""
    if tensor.datatype in ("FP32", "FP64"):
        values = to_values(tensor.datatype, tensor.blob)
        return [value if isfinite(value) else 0.0 for value in values]
    return right()
