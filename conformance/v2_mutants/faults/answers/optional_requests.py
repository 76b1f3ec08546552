"""Faults at requests that a server may refuse, or whose meaning is disputed."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import Any

from v2_conformance.protocol.datatypes import to_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared.crashes import CrashingServer, ends_server
from v2_mutants.faults.shared.hangs import Silent
from v2_mutants.registry import Right, fault, then

_INFER = "/infer"


def _untyped(request: Request) -> bool:
    return request.target.endswith(_INFER) and not request.values("content-type")


fault("no-content-type-hangs", "R3", Behaviour.handle, base=Silent)(
    "An inference request without a Content-Type never gets an answer.",
    then(lambda response, request: replace(response, status=0) if _untyped(request) else response),
)


fault("empty-outputs-end-server", "R3", Behaviour.infer, base=CrashingServer)(
    "An empty list of outputs crashes the server.",
    ends_server(lambda model, request: b'"outputs":[]' in bytes(request.body[:4096])),
)


@fault("no-content-type-shifts-values", "O19", Behaviour.infer)
def _(right: Right[Response], model: ModelContract, request: Request) -> Response:
    """To a request without a Content-Type, the last byte of the response is one too high."""
    response = right()
    if not _untyped(request) or response.status != 200:
        return response
    *before, last = response.body
    data = bytearray(last)
    data[-1] = (data[-1] + 1) % 256
    return replace(response, body=(*before, bytes(data)))


@fault("non-finite-floats-as-zero", "O19", Behaviour.output_data)
def _(right: Right[Any], tensor: Tensor) -> Any:
    """Non-finite floats are written to JSON as 0."""
    if tensor.datatype in ("FP32", "FP64"):
        values = to_values(tensor.datatype, tensor.blob)
        return [value if isfinite(value) else 0.0 for value in values]
    return right()
