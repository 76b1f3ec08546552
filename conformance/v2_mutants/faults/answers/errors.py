"""Faults of errors, and of surviving them (R)."""

from __future__ import annotations

from dataclasses import replace

from v2_conformance.protocol.message import MessageError
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, RequestInput
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.shared.crashes import CrashingModels, CrashingServer
from v2_mutants.faults.shared.hangs import NO_RESPONSE, Silent
from v2_mutants.registry import Right, fault, then

fault("errors-with-status-200", "R1", Behaviour.error_status)(
    "Errors are sent with the status 200.", lambda right, status: 200
)


fault("rejection-without-response", "R1", Behaviour.handle, base=Silent)(
    "A rejected inference request gets no response: the connection is closed.",
    then(
        lambda response, request: (
            NO_RESPONSE
            if response.status >= 400 and request.target.endswith("/infer")
            else response
        )
    ),
)


fault("error-is-plain-text", "R2", Behaviour.error_body)(
    "The body of an error is plain text.", lambda right, message: message.encode()
)
fault("error-is-empty", "R2", Behaviour.error_body)(
    "An error has no body.", lambda right, message: b""
)


class _Answered(Rejected):
    """A refusal with a body of its own."""

    def __init__(self, body: bytes, status: int) -> None:
        super().__init__("", status)
        self.body = body


class _SendsOwnBodies(Behaviour):
    def rejection_response(self, rejection: Rejected) -> Response:
        response = super().rejection_response(rejection)
        if isinstance(rejection, _Answered):
            return replace(response, body=(rejection.body,))
        return response


@fault("json-errors-have-detail", "R2", Behaviour.read_request, base=_SendsOwnBodies)
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


@fault("rejection-stops-listening", "R3", Behaviour.infer, base=CrashingServer)
def _(right: Right[Response], model: ModelContract, request: Request) -> Response:
    """After a rejected inference request, the server accepts no more connections."""
    try:
        return right()
    except Exception:
        right.behaviour.crashed = True
        raise


fault("client-errors-are-500", "R4", Behaviour.error_status)(
    "Errors that are the client's fault have the status 500.",
    lambda right, status: max(right(), 500),
)


fault("error-typed-text", "R5", Behaviour.error_content_type)(
    "Errors have the Content-Type text/plain.", lambda right: "text/plain"
)


class _RepeatsNames(Behaviour):
    """A server whose error for an unknown input has all of its name."""

    def request_input(self, specs: dict[str, TensorSpec], item: object) -> RequestInput:
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str) and name not in specs:
            raise Rejected(f"the model has no input {name}")
        return super().request_input(specs, item)


fault("names-pasted-into-errors", "R2", Behaviour.error_body, base=_RepeatsNames)(
    "The name of an unknown input is pasted into the JSON of the error.",
    lambda right, message: f'{{"error":"{message}"}}'.encode(),
)


fault("wrong-sizes-never-answered", "R3", Behaviour.rejection_response, base=Silent)(
    "A request whose blobs have a wrong size never gets an answer.",
    then(
        lambda response, rejection: (
            replace(response, status=0) if "bytes" in str(rejection) else response
        )
    ),
)
