"""Faults at requests that a server may refuse, or whose meaning is disputed."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import Any

from v2_conformance.protocol.datatypes import to_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.shared.crashes import CrashingServer
from v2_conformance.reference.faults.shared.hangs import Hanging
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.suite.models import ModelContract

_INFER = "/infer"


def _untyped(request: Request) -> bool:
    return request.target.endswith(_INFER) and not request.values("content-type")


@fault(
    "no-content-type-hangs",
    breaks="R3",
    text="An inference request without a Content-Type never gets an answer.",
)
class _NoContentTypeHangs(Hanging):
    def hangs(self, request: Request) -> bool:
        return _untyped(request)


@fault(
    "empty-outputs-end-server",
    breaks="R3",
    text="An empty list of outputs crashes the server.",
)
class _EmptyOutputsEndServer(CrashingServer):
    def infer(self, model: ModelContract, request: Request) -> Response:
        if b'"outputs":[]' in bytes(request.body[:4096]):
            self.crashed = True
        return super().infer(model, request)


@fault(
    "no-content-type-shifts-values",
    breaks="O19",
    text="To a request without a Content-Type, the last byte of the response is one too high.",
)
class _NoContentTypeShiftsValues(Behaviour):
    def infer(self, model: ModelContract, request: Request) -> Response:
        response = super().infer(model, request)
        if not _untyped(request) or response.status != 200:
            return response
        *before, last = response.body
        data = bytearray(last)
        data[-1] = (data[-1] + 1) % 256
        return replace(response, body=(*before, bytes(data)))


@fault(
    "non-finite-floats-as-zero",
    breaks="O19",
    text="Non-finite floats are written to JSON as 0.",
)
class _NonFiniteFloatsAsZero(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        if tensor.datatype in ("FP32", "FP64"):
            values = to_values(tensor.datatype, tensor.blob)
            return [value if isfinite(value) else 0.0 for value in values]
        return super().output_data(tensor)
