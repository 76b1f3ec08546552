"""Servers that understand a request only as they are used to see it."""

from __future__ import annotations

from collections.abc import Callable

from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared.blobs import all_zeros
from v2_mutants.registry import Right, What, refuses

Sees = Callable[[Request], bool]
Reads = Callable[[str, JsonObject], bool]

_STACK_TRACE = Response(500, (("Content-Type", "text/plain"),), (b"Traceback\n",))


def refuses_if(when: Sees, status: int = 400) -> What[Response]:
    """A server that rejects a request when it `when` says so of its head or its pieces."""
    return refuses(lambda model, request: when(request), status)


def crashes(when: Sees) -> What[Response]:
    """A server whose framework answers with a stack trace when `when` says so."""
    return lambda right, model, request: _STACK_TRACE if when(request) else right()


def refuses_json(when: Reads) -> What[JsonObject]:
    """A server that rejects a request when `when` says so of its JSON, text and document."""

    def what(right: Right[JsonObject], text: memoryview) -> JsonObject:
        document = right()
        if when(str(text, "utf-8"), document):
            raise Rejected("the JSON is not understood")
        return document

    return what


def reads_zeros(when: Reads) -> What[InferenceRequest]:
    """A server that loses its place, and computes on zeros, when `when` says so of the JSON."""

    def what(
        right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = right()
        text, _ = right.server.split_body(request, length)
        lost = when(str(text, "utf-8"), right.server.parse_document(text))
        return all_zeros(inference) if lost else inference

    return what
