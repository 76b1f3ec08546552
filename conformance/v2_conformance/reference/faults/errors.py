"""Faults of errors, and of surviving them (R)."""

from __future__ import annotations

import gzip
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import MessageError, dump_json
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.shared.crashes import CrashingModels, CrashingServer
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, RequestInput
from v2_conformance.suite.models import ModelContract, TensorSpec

_NO_RESPONSE = Response(0, keep_open=False)


def _rejected_inference(request: Request, response: Response) -> bool:
    return response.status >= 400 and request.target.endswith("/infer")


@fault("errors-with-status-200", breaks="R1", text="Errors are sent with the status 200.")
class _ErrorsWithStatus200(Behaviour):
    def error_status(self, status: int) -> int:
        return 200


@fault(
    "rejection-without-response",
    breaks="R1",
    text="A rejected inference request gets no response: the connection is closed.",
)
class _RejectionWithoutResponse(Behaviour):
    def handle(self, request: Request) -> Response:
        response = super().handle(request)
        return _NO_RESPONSE if _rejected_inference(request, response) else response

    def serialize(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        if response is _NO_RESPONSE:
            return []
        return super().serialize(response, keep_open=keep_open, with_body=with_body)


@fault(
    "error-is-object",
    breaks="R2",
    text="The `error` in the body of an error is an object, not a string.",
)
class _ErrorIsObject(Behaviour):
    def error_body(self, message: str) -> bytes:
        return dump_json({"error": {"message": message}})


@fault("error-is-plain-text", breaks="R2", text="The body of an error is plain text.")
class _ErrorIsPlainText(Behaviour):
    def error_body(self, message: str) -> bytes:
        return message.encode()


@fault("error-is-empty", breaks="R2", text="An error has no body.")
class _ErrorIsEmpty(Behaviour):
    def error_body(self, message: str) -> bytes:
        return b""


@fault(
    "json-errors-have-detail",
    breaks="R2",
    text="The error for JSON that cannot be parsed has `detail` instead of `error`.",
)
class _JsonErrorsHaveDetail(Behaviour):
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


@fault(
    "unknown-model-is-html",
    breaks="R2",
    text="The error for an unknown model is an HTML page.",
)
class _UnknownModelIsHtml(Behaviour):
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


@fault(
    "rejection-kills-model",
    breaks="R3",
    text="After a rejected inference request, its model stops working.",
)
class _RejectionKillsModel(CrashingModels):
    fatal = Exception


@fault(
    "rejection-stops-listening",
    breaks="R3",
    text="After a rejected inference request, the server accepts no more connections.",
)
class _RejectionStopsListening(CrashingServer):
    def infer(self, model: ModelContract, request: Request) -> Response:
        try:
            return super().infer(model, request)
        except Exception:
            self.crashed = True
            raise


@fault(
    "client-errors-are-500",
    breaks="R4",
    text="Errors that are the client's fault have the status 500.",
)
class _ClientErrorsAre500(Behaviour):
    def error_status(self, status: int) -> int:
        return max(super().error_status(status), 500)


@fault(
    "unknown-model-is-500",
    breaks="R4",
    text="A request to an unknown model gets the status 500.",
)
class _UnknownModelIs500(Behaviour):
    def find_model(self, name: str, version: str | None) -> ModelContract:
        try:
            return super().find_model(name, version)
        except Rejected as rejection:
            raise Rejected(str(rejection), 500) from rejection


@fault("error-typed-text", breaks="R5", text="Errors have the Content-Type text/plain.")
class _ErrorTypedText(Behaviour):
    def error_content_type(self) -> str:
        return "text/plain"


@fault(
    "error-repeats-header-length",
    breaks="R6",
    text="An error has the header length of the request.",
)
class _ErrorRepeatsHeaderLength(Behaviour):
    def handle(self, request: Request) -> Response:
        response = super().handle(request)
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


@fault(
    "names-pasted-into-errors",
    breaks="R2",
    text="The name of an unknown input is pasted into the JSON of the error.",
)
class _NamesPastedIntoErrors(_RepeatsNames):
    def error_body(self, message: str) -> bytes:
        return f'{{"error":"{message}"}}'.encode()


@fault(
    "long-errors-cut",
    breaks="R2",
    text="The body of an error is cut off after 256 bytes.",
)
class _LongErrorsCut(_RepeatsNames):
    def error_body(self, message: str) -> bytes:
        return super().error_body(message)[:256]


@fault(
    "compressed-errors-unlabeled",
    breaks="R2",
    text="An error is compressed with gzip if the client takes that, without Content-Encoding.",
)
class _CompressedErrorsUnlabeled(Behaviour):
    def finish(self, request: Request, response: Response) -> Response:
        finished = super().finish(request, response)
        if finished.status < 400 or "gzip" not in ",".join(request.values("Accept-Encoding")):
            return finished
        return replace(finished, body=(gzip.compress(b"".join(finished.body)),))


@fault(
    "any-version-served",
    breaks="R1",
    text="Every version of a model is the only one that there is.",
)
class _AnyVersionServed(Behaviour):
    def find_model(self, name: str, version: str | None) -> ModelContract:
        return super().find_model(name, None)
