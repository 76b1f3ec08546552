"""Faults that only show for a way in which a request comes: in chunks, in pieces, not as usual."""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import pairwise
from typing import Any

from v2_conformance.protocol.message import MessageError
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.exchange import Blobs, Rejected, Request, Response
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.tools import fill
from v2_conformance.reference.reading import LENGTH_NAME, Call, Entry
from v2_conformance.suite.models import ModelContract

_MANY_READS = 20


def _chunked(request: Request) -> bool:
    return bool(request.values("transfer-encoding"))


def _first_read(request: Request) -> Request:
    """The request as a server has it that reads its body once."""
    if not request.segment_cuts:
        return request
    return replace(request, body=request.body[: request.segment_cuts[0]])


# --- chunks: no Content-Length -------------------------------------------------------------------


@fault(
    "header-length-clamped-in-chunks",
    breaks="H5",
    text="A header length beyond a body in chunks is cut to the body's length.",
)
class _LengthClampedInChunks(Behaviour):
    def header_length(self, request: Request) -> int | None:
        length = super().header_length(request)
        if length is None or length >= 2**31 or not _chunked(request):
            return length
        return min(length, len(request.body))


@fault(
    "short-body-in-chunks-filled-up",
    breaks="S3",
    text="A blob that a body in chunks cuts short is filled up with zeros.",
)
class _ShortFilledInChunks(Behaviour):
    def slice_blob(self, entry: Entry, blobs: Blobs, offset: int, size: int) -> memoryview:
        if not blobs.chunk_cuts or size > 2**24:
            return super().slice_blob(entry, blobs, offset, size)
        return memoryview(fill(blobs.view[offset:], size))


@fault(
    "slack-in-chunks-ignored",
    breaks="S4",
    text="Bytes behind the last blob of a body in chunks are ignored.",
)
class _SlackInChunks(Behaviour):
    def check_all_read(self, blobs: Blobs, offset: int) -> None:
        if not blobs.chunk_cuts:
            super().check_all_read(blobs, offset)


@fault(
    "json-in-chunks-refused",
    breaks="C1",
    text="A request in chunks without a header length is refused.",
)
class _JsonInChunks(Behaviour):
    def infer(self, model: ModelContract, request: Request) -> Response:
        if _chunked(request) and not request.values(LENGTH_NAME):
            raise Rejected("there is no Content-Length", 411)
        return super().infer(model, request)


@fault(
    "chunks-read-as-text",
    breaks="C2",
    text="Each chunk of JSON is read as UTF-8 by itself; what it splits becomes other characters.",
)
class _ChunksAsText(Behaviour):
    def read_call(self, model: ModelContract, request: Request, length: int | None) -> Call:
        if length is None and request.chunk_cuts:
            cuts = pairwise([0, *request.chunk_cuts])
            text = "".join(str(request.body[a:b], "utf-8", "replace") for a, b in cuts)
            request = replace(request, body=memoryview(text.encode()), chunk_cuts=())
        return super().read_call(model, request, length)


@fault(
    "raw-size-from-content-length",
    breaks="W3",
    text="A raw tensor has as many bytes as Content-Length says: none in a request in chunks.",
)
class _RawFromContentLength(Behaviour):
    def infer(self, model: ModelContract, request: Request) -> Response:
        if _chunked(request) and request.values(LENGTH_NAME) == ["0"]:
            request = replace(request, body=request.body[:0])
        return super().infer(model, request)


# --- pieces: more than one read ------------------------------------------------------------------


@fault(
    "many-reads-refused",
    breaks="C4",
    text=f"A body that comes in more than {_MANY_READS} pieces is refused.",
)
class _ManyReads(Behaviour):
    def handle(self, request: Request) -> Response:
        if len(request.segment_cuts) >= _MANY_READS:
            return self.error(408, "the body comes too slowly")
        return super().handle(request)


@fault(
    "json-body-read-once",
    breaks="C4",
    text="A body without a header length is taken to end where its first piece ends.",
)
class _JsonReadOnce(Behaviour):
    def handle(self, request: Request) -> Response:
        if not request.values(LENGTH_NAME):
            request = _first_read(request)
        return super().handle(request)


@fault(
    "raw-body-read-once",
    breaks="W3",
    text="The body of a raw request is taken to end where its first piece ends.",
)
class _RawReadOnce(Behaviour):
    def handle(self, request: Request) -> Response:
        if request.values(LENGTH_NAME) == ["0"]:
            request = _first_read(request)
        return super().handle(request)


@fault(
    "compressed-body-read-once",
    breaks="Z1",
    text="A compressed body is taken to end where its first piece ends.",
)
class _CompressedReadOnce(Behaviour):
    def decode_request(self, request: Request) -> Request:
        compressed = bool(self.request_codings(request))
        return super().decode_request(_first_read(request) if compressed else request)


# --- together ------------------------------------------------------------------------------------


@fault(
    "concurrent-json-inputs-mixed",
    breaks="C6",
    text="JSON inputs of requests that are under way together have the last one's values.",
)
class _JsonInputsMixed(Behaviour):
    latest: tuple[Entry, ...] = ()

    def input_entries(self, model: ModelContract, document: dict[str, Any]) -> list[Entry]:
        entries = super().input_entries(model, document)
        parsed = self.latest = tuple(entry for entry in entries if entry.has_data)
        if len(parsed) == len(entries):
            return entries
        threading.Event().wait(0.002)  # lets another connection's request come in between
        data = {entry.spec: entry for entry in self.latest}
        return [data.get(entry.spec, entry) if entry.has_data else entry for entry in entries]


# --- errors that a framework makes ---------------------------------------------------------------


@fault(
    "json-errors-have-detail",
    breaks="R2",
    text="JSON that cannot be read is refused with `detail`, not with `error`, in the body.",
)
class _JsonErrorsHaveDetail(Behaviour):
    def read_call(self, model: ModelContract, request: Request, length: int | None) -> Call:
        try:
            return super().read_call(model, request, length)
        except MessageError as error:
            raise _Unreadable(str(error)) from error

    def error_body(self, message: str) -> bytes:
        if not message.startswith(_Unreadable.mark):
            return super().error_body(message)
        return b'{"detail":[{"msg":"JSON decode error","type":"value_error.jsondecode"}]}'


class _Unreadable(Rejected):
    mark = "unreadable: "

    def __init__(self, message: str) -> None:
        super().__init__(self.mark + message, 422)


def _is_unknown_model(message: str) -> bool:
    return message.startswith("there is no model ")


@fault(
    "unknown-model-is-html",
    breaks="R2",
    text="The error for a model that is not there is an HTML page.",
)
class _UnknownModelIsHtml(Behaviour):
    def error_body(self, message: str) -> bytes:
        if _is_unknown_model(message):
            return b"<html><body><h1>404 Not Found</h1></body></html>"
        return super().error_body(message)


@fault(
    "unknown-model-is-500",
    breaks="R4",
    text="A model that is not there is an error of the server's, with the status 500.",
)
class _UnknownModelIs500(Behaviour):
    def find_model(self, name: str, version: str | None) -> ModelContract:
        try:
            return super().find_model(name, version)
        except Rejected as rejection:
            raise Rejected(str(rejection), 500) from rejection
