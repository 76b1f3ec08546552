"""Faults that show only while several requests are in progress at the same time (C)."""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestOutput
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.shared.blobs import resize
from v2_mutants.registry import fault

T = TypeVar("T")
# Lets a request of another connection come in between.
_OVERLAP_S = 0.002


class _Shares(Behaviour):
    """A server in which requests that are in progress at once share a variable of each name."""

    def __init__(self, profiles: Collection[str] = SERVER_PROFILES) -> None:
        super().__init__(profiles)
        self.shared: dict[object, Any] = {}

    def last(self, name: object, value: T) -> T:
        """What the last of the requests in progress put into the variable, after this one has."""
        self.shared[name] = value
        threading.Event().wait(_OVERLAP_S)
        found: T = self.shared[name]
        return found


@fault.several("concurrent-ids-mixed", "C6")
class _ConcurrentIdsMixed(_Shares):
    """Responses to concurrent requests have the id of the last one."""

    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = super().read_request(model, request, length)
        return replace(inference, id=self.last("id", inference.id))


@fault.several("concurrent-header-lengths-mixed", "C6")
class _ConcurrentHeaderLengthsMixed(_Shares):
    """Concurrent requests are split by the header length of the last one."""

    def parse_header_length(self, text: str) -> int:
        return self.last("length", super().parse_header_length(text))


@fault.several("concurrent-outputs-mixed", "C6")
class _ConcurrentOutputsMixed(_Shares):
    """Concurrent requests to a model get the outputs that the last one asked for."""

    def request_outputs(
        self, model: ModelContract, document: JsonObject
    ) -> tuple[RequestOutput, ...]:
        return self.last(model.model, super().request_outputs(model, document))


@fault.several("concurrent-shapes-mixed", "C6")
class _ConcurrentShapesMixed(_Shares):
    """Outputs of concurrent requests to a model have the size of the last one's."""

    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        found = super().output_tensor(output, tensor)
        if output.datatype == "BYTES":
            return found
        shape, size = self.last(output, (found.shape, len(found.blob)))
        return msgspec.structs.replace(found, shape=shape, blob=resize(found.blob, size))


@fault.several("concurrent-models-mixed", "C6")
class _ConcurrentModelsMixed(_Shares):
    """Concurrent requests all go to the model of the last one."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        return super().infer(self.last("model", model), request)


@fault.several("refusal-spreads", "C6")
class _RefusalSpreads(Behaviour):
    """If a request is refused, so are others that are in progress."""

    refused = 0

    def handle(self, request: Request) -> Response:
        before = self.refused
        response = super().handle(request)
        if not request.target.endswith("/infer"):
            return response
        if response.status >= 400:
            self.refused += 1
            return response
        threading.Event().wait(_OVERLAP_S)
        return response if self.refused == before else self.error(500, "the batch failed")


@fault.several("slow-body-mixed", "C6")
class _SlowBodyMixed(Behaviour):
    """A body that arrives in pieces ends with the bytes of another request in progress."""

    latest = b""

    def handle(self, request: Request) -> Response:
        body = bytes(request.body)
        if request.segment_cuts:
            cut = request.segment_cuts[0]
            if len(self.latest) == len(body):
                mixed = body[:cut] + self.latest[cut:]
                return super().handle(replace(request, body=memoryview(mixed)))
        self.latest = body
        return super().handle(request)


@fault.several("concurrent-codings-mixed", "C6")
class _ConcurrentCodingsMixed(_Shares):
    """Encoded bodies of concurrent requests are decoded by the decoder of the last one."""

    def decode_request(self, request: Request) -> Request:
        if not request.values("content-encoding"):
            return super().decode_request(request)
        return super().decode_request(self.last("decoder", request))
