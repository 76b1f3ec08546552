"""Faults of errors, and of surviving them (R)."""

from __future__ import annotations

import gzip
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import MessageError, dump_json
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, RequestInput
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.shared.crashes import CrashingModels, CrashingServer
from v2_mutants.registry import Right, fault, then

_NO_RESPONSE = Response(0, keep_open=False)


def _rejected_inference(request: Request, response: Response) -> bool:
    return response.status >= 400 and request.target.endswith("/infer")


fault("errors-with-status-200", "R1", Behaviour.error_status)(
    "Errors are sent with the status 200.", lambda right, status: 200
)


@fault.several("rejection-without-response", "R1")
class _RejectionWithoutResponse(Behaviour):
    """A rejected inference request gets no response: the connection is closed."""

    def handle(self, request: Request) -> Response:
        response = super().handle(request)
        return _NO_RESPONSE if _rejected_inference(request, response) else response

    def serialize(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        if response is _NO_RESPONSE:
            return []
        return super().serialize(response, keep_open=keep_open, with_body=with_body)


fault("error-is-object", "R2", Behaviour.error_body)(
    "The `error` in the body of an error is an object, not a string.",
    lambda right, message: dump_json({"error": {"message": message}}),
)
fault("error-is-plain-text", "R2", Behaviour.error_body)(
    "The body of an error is plain text.", lambda right, message: message.encode()
)
fault("error-is-empty", "R2", Behaviour.error_body)(
    "An error has no body.", lambda right, message: b""
)


@fault.several("json-errors-have-detail", "R2")
class _JsonErrorsHaveDetail(Behaviour):
    """The error for JSON that cannot be parsed has `detail` instead of `error`."""

    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        try:
            return super().read_request(model, request, length)
        except MessageError as error:
            raise _UnparsableJson(str(error), 422) from error

    def rejection_response(self, rejection: Rejected) -> Response:
        response = super().rejection_response(rejection)
        if not isinstance(rejection, _UnparsableJson):
            return response
        body = b'{"detail":[{"msg":"JSON decode error","type":"value_error.jsondecode"}]}'
        return replace(response, body=(body,))


class _UnparsableJson(Rejected):
    pass


@fault.several("unknown-model-is-html", "R2")
class _UnknownModelIsHtml(Behaviour):
    """The error for an unknown model is an HTML page."""

    def find_model(self, name: str, version: str | None) -> ModelContract:
        try:
            return super().find_model(name, version)
        except Rejected as rejection:
            raise _UnknownModel(str(rejection), rejection.status) from rejection

    def rejection_response(self, rejection: Rejected) -> Response:
        response = super().rejection_response(rejection)
        if not isinstance(rejection, _UnknownModel):
            return response
        return replace(response, body=(b"<html><body><h1>404 Not Found</h1></body></html>",))


class _UnknownModel(Rejected):
    pass


@fault.several("rejection-kills-model", "R3")
class _RejectionKillsModel(CrashingModels):
    """After a rejected inference request, its model stops working."""

    fatal = Exception


@fault.several("rejection-stops-listening", "R3")
class _RejectionStopsListening(CrashingServer):
    """After a rejected inference request, the server accepts no more connections."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        try:
            return super().infer(model, request)
        except Exception:
            self.crashed = True
            raise


fault("client-errors-are-500", "R4", Behaviour.error_status)(
    "Errors that are the client's fault have the status 500.",
    lambda right, status: max(right(), 500),
)


@fault("unknown-model-is-500", "R4", Behaviour.find_model)
def _(right: Right[ModelContract], name: str, version: str | None) -> ModelContract:
    """A request to an unknown model gets the status 500."""
    try:
        return right()
    except Rejected as rejection:
        raise Rejected(str(rejection), 500) from rejection


fault("error-typed-text", "R5", Behaviour.error_content_type)(
    "Errors have the Content-Type text/plain.", lambda right: "text/plain"
)


@fault("error-repeats-header-length", "R6", Behaviour.handle)
def _(right: Right[Response], request: Request) -> Response:
    """An error has the header length of the request."""
    response = right()
    values = request.values(HEADER_LENGTH)
    if response.status < 400 or not values:
        return response
    return replace(response, headers=(*response.headers, (HEADER_LENGTH, values[0])))


class _RepeatsNames(Behaviour):
    """A server whose error for an unknown input has all of its name."""

    def request_input(self, specs: dict[str, TensorSpec], item: object) -> RequestInput:
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str) and name not in specs:
            raise Rejected(f"the model has no input {name}")
        return super().request_input(specs, item)


@fault.several("names-pasted-into-errors", "R2")
class _NamesPastedIntoErrors(_RepeatsNames):
    """The name of an unknown input is pasted into the JSON of the error."""

    def error_body(self, message: str) -> bytes:
        return f'{{"error":"{message}"}}'.encode()


@fault.several("long-errors-cut", "R2")
class _LongErrorsCut(_RepeatsNames):
    """The body of an error is cut off after 256 bytes."""

    def error_body(self, message: str) -> bytes:
        return super().error_body(message)[:256]


fault("compressed-errors-unlabeled", "R2", Behaviour.finish)(
    "An error is compressed with gzip if the client takes that, without Content-Encoding.",
    then(
        lambda finished, request, response: (
            finished
            if finished.status < 400 or "gzip" not in ",".join(request.values("Accept-Encoding"))
            else replace(finished, body=(gzip.compress(b"".join(finished.body)),))
        )
    ),
)
fault("any-version-served", "R1", Behaviour.find_model)(
    "Every version of a model is the only one that there is.",
    lambda right, name, version: right(version=None),
)
