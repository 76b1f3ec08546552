"""Variants of what a server declines of what it need not accept."""

from __future__ import annotations

from typing import Any

from v2_conformance.protocol.datatypes import Buffer, Shape, to_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.request_reader import (
    BINARY_DATA_SIZE,
    InferenceRequest,
    JsonObject,
    RequestInput,
)
from v2_conformance.reference.variants.registry import variant
from v2_conformance.suite.models import ModelContract, TensorSpec

_LIMIT = 2**16
_EXACT_IN_DOUBLE = 2**53


@variant(
    "content-length-required",
    allowed_by="RFC 9110, section 15.5.12",
    text="A body in chunks is answered with 411.",
)
class _ContentLengthRequired(Behaviour):
    def infer(self, model: ModelContract, request: Request) -> Response:
        if bool(request.values("transfer-encoding")):
            raise Rejected("Content-Length is required", 411)
        return super().infer(model, request)


@variant(
    "content-length-required-by-gateway",
    allowed_by="RFC 9110, section 15.5.12",
    text="A body in chunks is answered with 411 by a gateway: in HTML, and the connection closed.",
)
class _ContentLengthRequiredByGateway(Behaviour):
    def handle(self, request: Request) -> Response:
        if not bool(request.values("transfer-encoding")):
            return super().handle(request)
        return _page(411, b"Length Required")


@variant(
    "bodies-limited-by-gateway",
    allowed_by="RFC 9110, section 15.5.14",
    text="A body of more than 64 KiB is answered with 413 by a gateway.",
)
class _BodiesLimitedByGateway(Behaviour):
    def handle(self, request: Request) -> Response:
        if len(request.body) > _LIMIT:
            return _page(413, b"Request Entity Too Large")
        return super().handle(request)


@variant(
    "decoded-bodies-limited",
    allowed_by="RFC 9110, section 15.5.14",
    text="A body that has or decodes to more than 64 KiB is answered with 413.",
)
class _DecodedBodiesLimited(Behaviour):
    def decode_request(self, request: Request) -> Request:
        decoded = super().decode_request(request)
        if len(decoded.body) > _LIMIT:
            raise Rejected("the body is too large", 413)
        return decoded


@variant(
    "no-empty-tensors",
    allowed_by="docs/disputes.md, E1 to E5",
    text="Tensors without elements are rejected, whatever their form.",
)
class _NoEmptyTensors(Behaviour):
    def input_shape(self, spec: TensorSpec, shape: object) -> Shape:
        found = super().input_shape(spec, shape)
        if 0 in found:
            raise Rejected("a tensor without elements")
        return found


@variant(
    "redundant-header-length-refused",
    allowed_by="docs/disputes.md, H11 and P12",
    text="A header length on a request without blobs is rejected.",
)
class _RedundantHeaderLengthRefused(Behaviour):
    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        found = super().read_request(model, request, length)
        if length is not None:
            text, _ = self.split_body(request, length)
            entries = self.request_inputs(model, self.parse_document(text))
            if not any(BINARY_DATA_SIZE in entry.parameters for entry in entries):
                raise Rejected(f"{HEADER_LENGTH} without blobs")
        return found


@variant(
    "unknown-parameters-refused",
    allowed_by="docs/disputes.md, S14 and O15",
    text="Parameters of inputs that the server does not know are rejected.",
)
class _UnknownParametersRefused(Behaviour):
    def declared_size(self, entry: RequestInput) -> int | None:
        if set(entry.parameters) - {BINARY_DATA_SIZE}:
            raise Rejected("an unknown parameter")
        return super().declared_size(entry)


@variant(
    "numbers-are-doubles",
    allowed_by="docs/disputes.md, D15, and RFC 8259, section 6",
    text="Integers in JSON beyond 2^53 are rejected, in requests and in responses.",
)
class _NumbersAreDoubles(Behaviour):
    def json_blob(self, entry: RequestInput) -> Buffer:
        return self._only_doubles(entry.spec.datatype, super().json_blob(entry))

    def output_data(self, tensor: Tensor) -> Any:
        self._only_doubles(tensor.datatype, tensor.blob)
        return super().output_data(tensor)

    def _only_doubles(self, datatype: str, blob: Buffer) -> Buffer:
        values = to_values(datatype, blob) if datatype in ("INT64", "UINT64") else []
        if any(abs(value) > _EXACT_IN_DOUBLE for value in values):
            raise Rejected("a number that no double holds")
        return blob


@variant(
    "no-halves-in-json",
    allowed_by="docs/disputes.md, D12",
    text="FP16 and BF16 have no JSON form, as in Triton and KServe; outputs listed without "
    "binary_data are JSON.",
)
class _NoHalvesInJson(Behaviour):
    def json_blob(self, entry: RequestInput) -> Buffer:
        self._only_others(entry.spec.datatype)
        return super().json_blob(entry)

    def output_data(self, tensor: Tensor) -> Any:
        self._only_others(tensor.datatype)
        return super().output_data(tensor)

    def _only_others(self, datatype: str) -> None:
        if datatype in ("FP16", "BF16"):
            raise Rejected("16-bit floats have no JSON form")

    def binary_flag(self, parameters: JsonObject, default: bool) -> bool:
        return super().binary_flag(parameters, False)


@variant(
    "space-around-json-refused",
    allowed_by="docs/disputes.md, P11",
    text="White space around the JSON object is rejected.",
)
class _SpaceAroundJsonRefused(Behaviour):
    def parse_document(self, text: memoryview) -> JsonObject:
        if bytes(text).strip() != bytes(text):
            raise Rejected("white space around the object")
        return super().parse_document(text)


def _page(status: int, words: bytes) -> Response:
    """A gateway's error: it knows nothing of the protocol's error bodies, and closes."""
    page = b"<html><h1>%d %b</h1></html>" % (status, words)
    return Response(status, (("Content-Type", "text/html"),), (page,), keep_open=False)
