"""Faults of errors and of life after them (R), and of transport (C)."""

from __future__ import annotations

import threading
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import HEADER_LENGTH, dump_json
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.exchange import Headers, Request, Response
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.tools import MortalModels
from v2_conformance.suite.models import ModelContract

_NOTHING = 0  # in place of a status: send nothing at all


@fault("errors-with-status-200", breaks="R1", text="Errors have the status 200.")
class _Status200(Behaviour):
    def error_status(self, status: int) -> int:
        return 200


@fault(
    "rejection-without-response",
    breaks="R1",
    text="A bad inference request gets no response: the connection is closed.",
)
class _NoResponse(Behaviour):
    def handle(self, request: Request) -> Response:
        response = super().handle(request)
        return Response(_NOTHING, keep_open=False) if _bad(request, response) else response

    def serialise(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        if response.status == _NOTHING:
            return []
        return super().serialise(response, keep_open=keep_open, with_body=with_body)


@fault("error-is-object", breaks="R2", text="`error` is an object, not a string.")
class _ErrorIsObject(Behaviour):
    def error_body(self, message: str) -> bytes:
        return dump_json({"error": {"message": message}})


@fault("error-is-plain-text", breaks="R2", text="The body of an error is plain text.")
class _ErrorIsText(Behaviour):
    def error_body(self, message: str) -> bytes:
        return message.encode()


@fault("error-is-empty", breaks="R2", text="An error has no body.")
class _ErrorIsEmpty(Behaviour):
    def error_body(self, message: str) -> bytes:
        return b""


@fault(
    "rejection-kills-model",
    breaks="R3",
    text="After a bad inference request its model never answers well again.",
)
class _KillsModel(MortalModels):
    fatal = Exception


@fault(
    "rejection-stops-listening",
    breaks="R3",
    text="After a bad inference request the server accepts no more connections.",
)
class _StopsListening(Behaviour):
    crashed = False

    def infer(self, model: ModelContract, request: Request) -> Response:
        try:
            return super().infer(model, request)
        except Exception:
            self.crashed = True
            raise

    def listening(self) -> bool:
        return super().listening() and not self.crashed


@fault("client-errors-are-500", breaks="R4", text="The client's errors have the status 500.")
class _Status500(Behaviour):
    def error_status(self, status: int) -> int:
        return max(super().error_status(status), 500)


@fault("error-typed-text", breaks="R5", text="Errors are typed text/plain.")
class _ErrorTypedText(Behaviour):
    def error_type(self) -> str:
        return "text/plain"


@fault("error-with-header-length", breaks="R6", text="Errors have a header length.")
class _ErrorWithHeaderLength(Behaviour):
    def error(self, status: int, message: str, headers: Headers = ()) -> Response:
        made = super().error(status, message, headers)
        return replace(made, headers=(*made.headers, (HEADER_LENGTH, str(made.size))))


@fault(
    "rejected-body-left-on-connection",
    breaks="C5",
    text="The body of a bad inference request is taken for the connection's next request.",
)
class _BodyLeft(Behaviour):
    def left_over(self, request: Request, response: Response) -> bytes:
        return bytes(request.body) if _bad(request, response) else b""


@fault(
    "stray-bytes-after-binary-response",
    breaks="C5",
    text="Four zero bytes, which Content-Length does not count, follow a response with blobs.",
)
class _StrayBytes(Behaviour):
    def serialise(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        pieces = super().serialise(response, keep_open=keep_open, with_body=with_body)
        binary = any(name == HEADER_LENGTH for name, _ in response.headers)
        return [*pieces, bytes(4)] if binary and response.status == 200 else pieces


@fault(
    "last-chunk-lost",
    breaks="C1",
    text="The last chunk of a chunked body is lost, unless it is the only one.",
)
class _LastChunkLost(Behaviour):
    def handle(self, request: Request) -> Response:
        if len(request.chunk_cuts) > 1:
            request = replace(request, body=request.body[: request.chunk_cuts[-2]])
        return super().handle(request)


@fault(
    "small-chunks-refused",
    breaks="C2",
    text="A body in more than 64 chunks is refused if they have less than 16 bytes on average.",
)
class _SmallChunksRefused(Behaviour):
    def handle(self, request: Request) -> Response:
        chunks = len(request.chunk_cuts)
        if chunks > 64 and len(request.body) < 16 * chunks:
            return self.error(400, "too many small chunks")
        return super().handle(request)


@fault(
    "body-read-once",
    breaks="C4",
    text="A body that does not arrive in one piece is taken to end where that piece ends.",
)
class _BodyReadOnce(Behaviour):
    def handle(self, request: Request) -> Response:
        if request.segment_cuts:
            request = replace(request, body=request.body[: request.segment_cuts[0]])
        return super().handle(request)


@fault(
    "concurrent-requests-mixed",
    breaks="C6",
    text="Requests that are under way together are answered with the last one's tensors.",
)
class _Mixed(Behaviour):
    latest: Request | None = None

    def handle(self, request: Request) -> Response:
        self.latest = request
        threading.Event().wait(0.002)  # lets another connection's request come in between
        return super().handle(self.latest)


def _bad(request: Request, response: Response) -> bool:
    return response.status >= 400 and request.target.endswith("/infer")
