"""Faults of transport: chunks, slow bodies, kept connections, concurrency (C)."""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import pairwise

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.shared.deliveries import is_chunked, reads_body_once
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract

_MANY_READS = 20
# Lets a request of another connection come in between.
_OVERLAP_S = 0.002


def _rejected_inference(request: Request, response: Response) -> bool:
    return response.status >= 400 and request.target.endswith("/infer")


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
    "json-in-chunks-refused",
    breaks="C1",
    text="A chunked request without a header length is rejected with 400.",
)
class _JsonInChunksRefused(Behaviour):
    def infer(self, model: ModelContract, request: Request) -> Response:
        # 411 would be legal, see RFC 9112, section 6.3.
        if is_chunked(request) and not request.values(HEADER_LENGTH):
            raise Rejected("the request has no Content-Length", 400)
        return super().infer(model, request)


@fault(
    "small-chunks-refused",
    breaks="C2",
    text="A body of more than 64 chunks is rejected if they have fewer than 16 bytes on average.",
)
class _SmallChunksRefused(Behaviour):
    def handle(self, request: Request) -> Response:
        chunks = len(request.chunk_cuts)
        if chunks > 64 and len(request.body) < 16 * chunks:
            return self.error(400, "the body has too many small chunks")
        return super().handle(request)


@fault(
    "chunks-read-as-text",
    breaks="C2",
    text="Each chunk of JSON is decoded by itself, which breaks characters that a chunk splits.",
)
class _ChunksReadAsText(Behaviour):
    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        if length is None and request.chunk_cuts:
            cuts = pairwise([0, *request.chunk_cuts])
            text = "".join(str(request.body[a:b], "utf-8", "replace") for a, b in cuts)
            request = replace(request, body=memoryview(text.encode()), chunk_cuts=())
        return super().read_request(model, request, length)


fault(
    "body-read-once",
    breaks="C4",
    text="A body is read from the socket only once, so it ends where its first piece ends.",
)(reads_body_once(lambda request: True))
fault(
    "json-body-read-once",
    breaks="C4",
    text="A body without a header length is read from the socket only once.",
)(reads_body_once(lambda request: not request.values(HEADER_LENGTH)))


@fault(
    "many-reads-refused",
    breaks="C4",
    text=f"A body that arrives in more than {_MANY_READS} pieces is rejected.",
)
class _ManyReadsRefused(Behaviour):
    def handle(self, request: Request) -> Response:
        if len(request.segment_cuts) >= _MANY_READS:
            return self.error(408, "the body arrives too slowly")
        return super().handle(request)


@fault(
    "header-length-kept-from-last-request",
    breaks="C5",
    text="A request without a header length is read with that of the last rejected request.",
)
class _HeaderLengthKeptFromLastRequest(Behaviour):
    kept: int | None = None

    def infer(self, model: ModelContract, request: Request) -> Response:
        length = None
        try:
            length = self.header_length(request)
            return super().infer(model, request)
        except Exception:
            self.kept = length
            raise

    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        used, self.kept = (self.kept if length is None else length), None
        return super().read_request(model, request, used)


@fault(
    "rejected-body-left-on-connection",
    breaks="C5",
    text="The body of a rejected inference request is read as the connection's next request.",
)
class _RejectedBodyLeftOnConnection(Behaviour):
    def left_on_connection(self, request: Request, response: Response) -> bytes:
        return bytes(request.body) if _rejected_inference(request, response) else b""


@fault(
    "chunks-declined-but-left-on-connection",
    breaks="C5",
    text="A chunked request is answered with 411, and its body is read as the next request.",
)
class _ChunksDeclinedButLeftOnConnection(Behaviour):
    def infer(self, model: ModelContract, request: Request) -> Response:
        if is_chunked(request):
            raise Rejected("the request has no Content-Length", 411)
        return super().infer(model, request)

    def left_on_connection(self, request: Request, response: Response) -> bytes:
        return bytes(request.body) if response.status == 411 else b""


@fault(
    "stray-bytes-after-binary-response",
    breaks="C5",
    text="Four zero bytes that Content-Length does not count follow a response with blobs.",
)
class _StrayBytesAfterBinaryResponse(Behaviour):
    def serialize(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        pieces = super().serialize(response, keep_open=keep_open, with_body=with_body)
        binary = any(name == HEADER_LENGTH for name, _ in response.headers)
        return [*pieces, bytes(4)] if binary and response.status == 200 else pieces


@fault(
    "concurrent-requests-mixed",
    breaks="C6",
    text="Concurrent requests are all answered with the tensors of the last one.",
)
class _ConcurrentRequestsMixed(Behaviour):
    latest: Request | None = None

    def handle(self, request: Request) -> Response:
        self.latest = request
        threading.Event().wait(_OVERLAP_S)
        return super().handle(self.latest)


@fault(
    "concurrent-json-inputs-mixed",
    breaks="C6",
    text="JSON inputs of concurrent requests all have the values of the last one.",
)
class _ConcurrentJsonInputsMixed(Behaviour):
    latest: tuple[RequestInput, ...] = ()

    def request_inputs(self, model: ModelContract, document: JsonObject) -> list[RequestInput]:
        entries = super().request_inputs(model, document)
        parsed = self.latest = tuple(entry for entry in entries if entry.has_data)
        if len(parsed) == len(entries):
            return entries
        threading.Event().wait(_OVERLAP_S)
        data = {entry.spec: entry for entry in self.latest}
        return [data.get(entry.spec, entry) if entry.has_data else entry for entry in entries]
