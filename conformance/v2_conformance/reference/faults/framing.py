"""Faults of discovery and framing (P)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from v2_conformance.protocol.datatypes import Buffer, to_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH, JSON_TYPE, OCTET_STREAM
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.shared.blobs import all_zeros, has_blobs, resize
from v2_conformance.reference.http_messages import Blobs, Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject
from v2_conformance.suite.models import ModelContract


def _has_blobs(response: Response) -> bool:
    return len(response.body) > 1


@fault("extension-not-listed", breaks="P1", text="GET /v2 does not list binary_tensor_data.")
class _ExtensionNotListed(Behaviour):
    def extensions(self) -> list[str]:
        return []


@fault(
    "request-blobs-off-by-one",
    breaks="P2",
    text="Request blobs are read starting one byte after the end of the JSON.",
)
class _RequestBlobsOffByOne(Behaviour):
    def split_body(self, request: Request, length: int | None) -> tuple[memoryview, Blobs]:
        text, blobs = super().split_body(request, length)
        view = memoryview(resize(blobs.view[1:], len(blobs.view)))
        return text, replace(blobs, view=view)


@fault(
    "response-header-length-missing",
    breaks="P3",
    text="A response with blobs has no Inference-Header-Content-Length.",
)
class _ResponseHeaderLengthMissing(Behaviour):
    def response_header_length(self, text: bytes, blobs: Sequence[Buffer]) -> str | None:
        return None


@fault(
    "binary-response-typed-json",
    breaks="P4",
    text="A response with blobs has the Content-Type application/json.",
)
class _BinaryResponseTypedJson(Behaviour):
    def binary_content_type(self) -> str:
        return JSON_TYPE


@fault(
    "response-header-length-of-body",
    breaks="P5",
    text="The header length of a response counts the whole body, including the blobs.",
)
class _ResponseHeaderLengthOfBody(Behaviour):
    def response_header_length(self, text: bytes, blobs: Sequence[Buffer]) -> str | None:
        return str(len(text) + sum(map(len, blobs)))


@fault(
    "response-header-length-short",
    breaks="P5",
    text="The header length of a response is one byte too small.",
)
class _ResponseHeaderLengthShort(Behaviour):
    def response_header_length(self, text: bytes, blobs: Sequence[Buffer]) -> str | None:
        return str(len(text) - 1)


@fault(
    "content-length-of-json",
    breaks="P6",
    text="The Content-Length of a response with blobs counts only its JSON.",
)
class _ContentLengthOfJson(Behaviour):
    def content_length(self, response: Response) -> int:
        lengths = [int(value) for name, value in response.headers if name == HEADER_LENGTH]
        return lengths[0] if lengths else super().content_length(response)


@fault(
    "content-length-too-large",
    breaks="P6",
    text="The Content-Length of a response with blobs is four bytes larger than its body.",
)
class _ContentLengthTooLarge(Behaviour):
    def content_length(self, response: Response) -> int:
        return super().content_length(response) + 4 * _has_blobs(response)

    def keeps_open(self, request: Request, response: Response) -> bool:
        # Otherwise the client would only see a timeout.
        return super().keeps_open(request, response) and not _has_blobs(response)


@fault(
    "response-blobs-padded",
    breaks="P8",
    text="Response blobs are padded to multiples of 8 bytes; their sizes do not count the padding.",
)
class _ResponseBlobsPadded(Behaviour):
    def response_body(self, text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        return (text, *(resize(blob, -(-len(blob) // 8) * 8) for blob in blobs))


@fault(
    "response-ends-with-line-break",
    breaks="P8",
    text="A line break follows the last blob of a response.",
)
class _ResponseEndsWithLineBreak(Behaviour):
    def response_body(self, text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        end = (b"\r\n",) if blobs else ()
        return (*super().response_body(text, blobs), *end)


@fault(
    "response-cut-short",
    breaks="P8",
    text="The last byte of the last blob of a response is missing.",
)
class _ResponseCutShort(Behaviour):
    def response_body(self, text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        if not any(map(len, blobs)):
            return super().response_body(text, blobs)
        return (text, b"".join(blobs)[:-1])


@fault(
    "json-response-typed-octet-stream",
    breaks="P9",
    text="A response without blobs has the Content-Type application/octet-stream.",
)
class _JsonResponseTypedOctetStream(Behaviour):
    def json_content_type(self) -> str:
        return OCTET_STREAM


@fault(
    "json-response-with-nan",
    breaks="P9",
    text="Non-finite floats are written to JSON as NaN and Infinity.",
)
class _JsonResponseWithNan(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        if tensor.datatype in ("FP16", "BF16", "FP32", "FP64"):
            return to_values(tensor.datatype, tensor.blob)
        return super().output_data(tensor)


@fault(
    "json-response-latin-1",
    breaks="P9",
    text="The JSON of a response is encoded in Latin-1, not in UTF-8.",
)
class _JsonResponseLatin1(Behaviour):
    def dump_document(self, document: JsonObject) -> bytes:
        return super().dump_document(document).decode().encode("latin-1", "replace")


@fault(
    "json-response-ends-with-nul",
    breaks="P9",
    text="A NUL byte follows the JSON of a response without blobs.",
)
class _JsonResponseEndsWithNul(Behaviour):
    def response_body(self, text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        return super().response_body(text, blobs) if blobs else (text + b"\0",)


@fault(
    "json-response-repeats-member",
    breaks="P9",
    text="The JSON of a response contains the member `model_name` twice.",
)
class _JsonResponseRepeatsMember(Behaviour):
    def dump_document(self, document: JsonObject) -> bytes:
        name = super().dump_document({"model_name": document["model_name"]})
        return name[:-1] + b"," + super().dump_document(document)[1:]


@fault(
    "header-length-counts-characters",
    breaks="P10",
    text="The header length of a request is read as a number of characters, not bytes.",
)
class _HeaderLengthCountsCharacters(Behaviour):
    def json_end(self, body: memoryview, length: int) -> int:
        end = super().json_end(body, length)
        # A character begins at every byte that does not continue one.
        starts = np.flatnonzero(np.frombuffer(body, np.uint8) & 0xC0 != 0x80)
        return int(starts[end - 1]) + 1 if 0 < end <= len(starts) else len(body)


@fault(
    "response-header-length-counts-characters",
    breaks="P10",
    text="The header length of a response counts characters, not bytes.",
)
class _ResponseHeaderLengthCountsCharacters(Behaviour):
    def response_header_length(self, text: bytes, blobs: Sequence[Buffer]) -> str | None:
        return str(len(text.decode()))


@fault(
    "leading-white-space-refused",
    breaks="P11",
    text="A request with white space before its JSON is rejected.",
)
class _LeadingWhiteSpaceRefused(Behaviour):
    def parse_document(self, text: memoryview) -> JsonObject:
        if bytes(text[:1]) != b"{":
            raise Rejected("the JSON must start with {")
        return super().parse_document(text)


@fault(
    "trailing-white-space-refused",
    breaks="P11",
    text="A request with white space after its JSON is rejected.",
)
class _TrailingWhiteSpaceRefused(Behaviour):
    def parse_document(self, text: memoryview) -> JsonObject:
        if bytes(text[-1:]) != b"}":
            raise Rejected("the JSON must end with }")
        return super().parse_document(text)


@fault(
    "pretty-json-refused",
    breaks="P11",
    text="A request with line breaks in its JSON is rejected.",
)
class _PrettyJsonRefused(Behaviour):
    def parse_document(self, text: memoryview) -> JsonObject:
        if b"\n" in bytes(text).strip():
            raise Rejected("the JSON must not contain line breaks")
        return super().parse_document(text)


@fault(
    "octet-stream-hides-json-data",
    breaks="P12",
    text="In a request without blobs typed application/octet-stream, JSON data is read as zeros.",
)
class _OctetStreamHidesJsonData(Behaviour):
    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = super().read_request(model, request, length)
        typed = OCTET_STREAM in request.values("Content-Type")
        return all_zeros(inference) if typed and not has_blobs(request) else inference


@fault(
    "octet-stream-refused",
    breaks="P12",
    text="A request with the Content-Type application/octet-stream is rejected.",
)
class _OctetStreamRefused(Behaviour):
    def infer(self, model: ModelContract, request: Request) -> Response:
        if OCTET_STREAM in request.values("content-type"):
            raise Rejected("the Content-Type must be application/json", 415)
        return super().infer(model, request)
