"""Faults of errors and of surviving them (R), and of what every exchange has to keep (O, P, R)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isfinite
from typing import Any

from v2_conformance.protocol.datatypes import Buffer, to_values
from v2_conformance.protocol.message import MessageError, Tensor
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.shared import (
    NO_RESPONSE,
    CrashingModels,
    CrashingServer,
    Silent,
    ends_server,
    is_chunked,
)
from v2_mutants.registry import Right, What, fault, then

fault("errors-with-status-200", "R1", Behavior.error_status)(
    "Errors are sent with the status 200.", lambda right, status: 200
)
fault("rejection-without-response", "R1", Behavior.handle, base=Silent)(
    "A rejected inference request gets no response: the connection is closed.",
    then(
        lambda response, request: (
            NO_RESPONSE
            if response.status >= 400 and request.target.endswith("/infer")
            else response
        )
    ),
)
fault("error-is-plain-text", "R2", Behavior.error_body)(
    "The body of an error is plain text.", lambda right, message: message.encode()
)
fault("error-is-empty", "R2", Behavior.error_body)(
    "An error has no body.", lambda right, message: b""
)


class _Answered(Rejected):
    """A refusal with a body of its own."""

    def __init__(self, body: bytes, status: int) -> None:
        super().__init__("", status)
        self.body = body


class _SendsOwnBodies(Behavior):
    def rejection_response(self, rejection: Rejected) -> Response:
        response = super().rejection_response(rejection)
        if isinstance(rejection, _Answered):
            return replace(response, body=(rejection.body,))
        return response


@fault("json-errors-have-detail", "R2", Behavior.read_request, base=_SendsOwnBodies)
def _(
    right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
) -> InferenceRequest:
    """The error for JSON that cannot be parsed has `detail` instead of `error`."""
    try:
        return right()
    except MessageError as error:
        body = b'{"detail":[{"msg":"JSON decode error","type":"value_error.jsondecode"}]}'
        raise _Answered(body, 422) from error


@fault.several("rejection-kills-model", "R3")
class _RejectionKillsModel(CrashingModels):
    """After a rejected inference request, its model stops working."""

    fatal = Exception


@fault("rejection-stops-listening", "R3", Behavior.infer, base=CrashingServer)
def _(right: Right[Response], model: ModelContract, request: Request) -> Response:
    """After a rejected inference request, the server accepts no more connections."""
    try:
        return right()
    except Exception:
        right.behavior.crashed = True
        raise


fault("client-errors-are-500", "R4", Behavior.error_status)(
    "Errors that are the client's fault have the status 500.",
    lambda right, status: max(right(), 500),
)
fault("error-typed-text", "R5", Behavior.error_content_type)(
    "Errors have the Content-Type text/plain.", lambda right: "text/plain"
)


class _RepeatsNames(Behavior):
    """A server whose error for an unknown input has all of its name."""

    def request_input(self, specs: dict[str, TensorSpec], item: object) -> RequestInput:
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str) and name not in specs:
            raise Rejected(f"the model has no input {name}")
        return super().request_input(specs, item)


fault("names-pasted-into-errors", "R2", Behavior.error_body, base=_RepeatsNames)(
    "The name of an unknown input is pasted into the JSON of the error.",
    lambda right, message: f'{{"error":"{message}"}}'.encode(),
)
fault("wrong-sizes-never-answered", "R3", Behavior.rejection_response, base=Silent)(
    "A request whose blobs have a wrong size never gets an answer.",
    then(
        lambda response, rejection: (
            replace(response, status=0) if "bytes" in str(rejection) else response
        )
    ),
)

_Applies = Callable[[Request, Response], bool]
_Change = Callable[[Request, Response], Response]


def _changed_if(applies: _Applies, change: _Change) -> What[Response]:
    """A server that changes each response to which it applies."""

    def what(right: Right[Response], request: Request) -> Response:
        response = right()
        return change(request, response) if applies(request, response) else response

    return what


def _failed(request: Request, response: Response) -> bool:
    return response.status >= 400


def _in_text(_: Request, response: Response) -> Response:
    headers = tuple(pair for pair in response.headers if pair[0] != "Content-Type")
    text = (b"Bad Request",)
    return replace(response, headers=(*headers, ("Content-Type", "text/plain")), body=text)


fault("errors-in-chunks-are-text", "R2", Behavior.handle)(
    "The error for a chunked request is plain text.",
    _changed_if(lambda request, r: _failed(request, r) and is_chunked(request), _in_text),
)
fault("json-errors-have-header-length", "R6", Behavior.handle)(
    "The error for a request without a header length has the header length 0.",
    _changed_if(
        lambda request, r: _failed(request, r) and not request.values(HEADER_LENGTH),
        lambda _, r: replace(r, headers=(*r.headers, (HEADER_LENGTH, "0"))),
    ),
)
fault("several-outputs-repeat-member", "P9", Behavior.dump_document)(
    "The JSON of a response with several outputs has the member `model_name` twice.",
    then(
        lambda text, document: (
            text
            if len(document["outputs"]) < 2
            else text.replace(b"{", b'{"model_name":"other",', 1)
        )
    ),
)


@fault("several-outputs-have-data-and-size", "O11", Behavior.response_document)
def _(
    right: Right[JsonObject],
    model: ModelContract,
    inference: InferenceRequest,
    entries: list[JsonObject],
) -> JsonObject:
    """The first of several binary outputs also has `data`."""
    if len(entries) > 2 and "data" not in entries[0]:
        entries = [entries[0] | {"data": [0]}, *entries[1:]]
    return right(entries=entries)


# How connections end


@fault.several("closes-after-errors", "R8")
class _ClosesAfterErrors(Behavior):
    """The server closes the connection after an error that does not say so."""

    def keeps_open(self, request: Request, response: Response) -> bool:
        return super().keeps_open(request, response) and response.status < 400

    def serialize(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        return super().serialize(response, keep_open=True, with_body=with_body)


fault("empty-outputs-end-server", "R3", Behavior.infer, base=CrashingServer)(
    "An empty list of outputs crashes the server.",
    ends_server(lambda model, request: b'"outputs":[]' in bytes(request.body[:4096])),
)


@fault("non-finite-floats-as-zero", "O19", Behavior.output_data)
def _(right: Right[Any], tensor: Tensor) -> Any:
    """Non-finite floats are written to JSON as 0."""
    if tensor.datatype in ("FP32", "FP64"):
        values = to_values(tensor.datatype, tensor.blob)
        return [value if isfinite(value) else 0.0 for value in values]
    return right()
