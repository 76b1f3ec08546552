"""Servers that understand a request only as they are used to see it."""

from __future__ import annotations

from collections.abc import Callable

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.shared.blobs import all_zeros
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject
from v2_conformance.suite.models import ModelContract

Sees = Callable[[Request], bool]
Reads = Callable[[str, JsonObject], bool]

_STACK_TRACE = Response(500, (("Content-Type", "text/plain"),), (b"Traceback\n",))


def refuses(when: Sees, status: int = 400) -> type[Behaviour]:
    """A server that rejects a request when it `when` says so of its head or its pieces."""

    class Refuses(Behaviour):
        def infer(self, model: ModelContract, request: Request) -> Response:
            if when(request):
                raise Rejected("the request is not understood", status)
            return super().infer(model, request)

    return Refuses


def crashes(when: Sees) -> type[Behaviour]:
    """A server whose framework answers with a stack trace when `when` says so."""

    class Crashes(Behaviour):
        def infer(self, model: ModelContract, request: Request) -> Response:
            if when(request):
                return _STACK_TRACE
            return super().infer(model, request)

    return Crashes


def refuses_json(when: Reads) -> type[Behaviour]:
    """A server that rejects a request when `when` says so of its JSON, text and document."""

    class RefusesJson(Behaviour):
        def parse_document(self, text: memoryview) -> JsonObject:
            document = super().parse_document(text)
            if when(str(text, "utf-8"), document):
                raise Rejected("the JSON is not understood")
            return document

    return RefusesJson


def reads_zeros(when: Reads) -> type[Behaviour]:
    """A server that loses its place, and computes on zeros, when `when` says so of the JSON."""

    class ReadsZeros(Behaviour):
        def read_request(
            self, model: ModelContract, request: Request, length: int | None
        ) -> InferenceRequest:
            inference = super().read_request(model, request, length)
            text, _ = self.split_body(request, length)
            lost = when(str(text, "utf-8"), self.parse_document(text))
            return all_zeros(inference) if lost else inference

    return ReadsZeros
