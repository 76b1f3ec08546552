"""Faults that show only while several requests are in progress at the same time (C)."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.request_reader import InferenceRequest
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.shared.blobs import resize
from v2_mutants.registry import Right, fault

T = TypeVar("T")
# Lets a request of another connection come in between.
_OVERLAP_S = 0.002


def _last(right: Right[Any], value: T, name: object = None) -> T:
    """What the last of the requests in progress put into the variable, after this one has."""
    right.state[name] = value
    threading.Event().wait(_OVERLAP_S)
    found: T = right.state[name]
    return found


@fault("concurrent-ids-mixed", "C6", Behaviour.read_request)
def _(
    right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
) -> InferenceRequest:
    """Responses to concurrent requests have the id of the last one."""
    inference = right()
    return replace(inference, id=_last(right, inference.id))


fault("concurrent-header-lengths-mixed", "C6", Behaviour.parse_header_length)(
    "Concurrent requests are split by the header length of the last one.",
    lambda right, text: _last(right, right()),
)
fault("concurrent-outputs-mixed", "C6", Behaviour.request_outputs)(
    "Concurrent requests to a model get the outputs that the last one asked for.",
    lambda right, model, document: _last(right, right(), model.model),
)


@fault("concurrent-shapes-mixed", "C6", Behaviour.output_tensor)
def _(right: Right[Tensor], output: TensorSpec, tensor: Tensor) -> Tensor:
    """Outputs of concurrent requests to a model have the size of the last one's."""
    found = right()
    if output.datatype == "BYTES":
        return found
    shape, size = _last(right, (found.shape, len(found.blob)), output)
    return msgspec.structs.replace(found, shape=shape, blob=resize(found.blob, size))


fault("concurrent-models-mixed", "C6", Behaviour.infer)(
    "Concurrent requests all go to the model of the last one.",
    lambda right, model, request: right(_last(right, model)),
)


@fault("refusal-spreads", "C6", Behaviour.handle)
def _(right: Right[Response], request: Request) -> Response:
    """If a request is refused, so are others that are in progress."""
    before = right.state.get("refused", 0)
    response = right()
    if not request.target.endswith("/infer"):
        return response
    if response.status >= 400:
        right.state["refused"] = right.state.get("refused", 0) + 1
        return response
    threading.Event().wait(_OVERLAP_S)
    same = right.state.get("refused", 0) == before
    return response if same else right.server.error(500, "the batch failed")


@fault("slow-body-mixed", "C6", Behaviour.handle)
def _(right: Right[Response], request: Request) -> Response:
    """A body that arrives in pieces ends with the bytes of another request in progress."""
    body, latest = bytes(request.body), right.state.get("latest", b"")
    if request.segment_cuts and len(latest) == len(body):
        cut = request.segment_cuts[0]
        return right(replace(request, body=memoryview(body[:cut] + latest[cut:])))
    right.state["latest"] = body
    return right()


fault("concurrent-codings-mixed", "C6", Behaviour.decode_request)(
    "Encoded bodies of concurrent requests are decoded by the decoder of the last one.",
    lambda right, request: (
        right(_last(right, request)) if request.values("content-encoding") else right()
    ),
)
