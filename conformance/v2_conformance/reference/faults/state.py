"""Faults of state: what of a request sticks to the next one (C), or of a refused one (R, Z)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import msgspec

from v2_conformance.protocol.datatypes import Buffer, Shape
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH, SERVER_PROFILES
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.shared.deliveries import is_chunked
from v2_conformance.reference.http_messages import Blobs, Rejected, Request, Response
from v2_conformance.reference.request_reader import (
    BINARY_DATA_OUTPUT,
    InferenceRequest,
    JsonObject,
    RequestInput,
    RequestOutput,
)
from v2_conformance.suite.models import ModelContract, TensorSpec


class _Remembers(Behaviour):
    """A server that knows the inference request `before` the one that it serves."""

    before: Request | None = None

    def handle(self, request: Request) -> Response:
        try:
            return super().handle(request)
        finally:
            if request.target.endswith("/infer"):
                self.before = request

    def said_before(self, text: bytes) -> bool:
        """Whether the body of the request before has `text`."""
        return self.before is not None and text in bytes(self.before.body)


@fault(
    "binary-output-flag-sticks",
    breaks="C7",
    text="The next request has binary outputs too if one asked for them with binary_data_output.",
)
class _BinaryOutputFlagSticks(_Remembers):
    def binary_by_default(self, document: JsonObject) -> bool:
        own = super().binary_by_default(document)
        if BINARY_DATA_OUTPUT in document.get("parameters", {}):
            return own
        return own or self.said_before(b'"binary_data_output":true')


@fault(
    "output-binary-data-sticks",
    breaks="C7",
    text="A request that lists no outputs gets blobs if the one before asked for one.",
)
class _OutputBinaryDataSticks(_Remembers):
    def binary_by_default(self, document: JsonObject) -> bool:
        own = super().binary_by_default(document)
        if "outputs" in document or document.get("parameters"):
            return own
        return own or self.said_before(b'"binary_data":true')


@fault(
    "requested-outputs-stick",
    breaks="C7",
    text="A request that lists no outputs gets those that the one before listed.",
)
class _RequestedOutputsStick(Behaviour):
    kept: tuple[str, tuple[RequestOutput, ...]] | None = None

    def request_outputs(
        self, model: ModelContract, document: JsonObject
    ) -> tuple[RequestOutput, ...]:
        outputs = super().request_outputs(model, document)
        kept, self.kept = self.kept, None
        if document.get("outputs"):
            self.kept = (model.model, outputs)
        elif kept is not None and kept[0] == model.model:
            return kept[1]
        return outputs


@fault(
    "digits-of-longer-header-length-kept",
    breaks="C7",
    text="A header length is read with the last digits of a longer one in the request before.",
)
class _DigitsOfLongerHeaderLengthKept(Behaviour):
    digits = ""

    def parse_header_length(self, text: str) -> int:
        kept, self.digits = self.digits, text
        return super().parse_header_length(text + kept[len(text) :])


@fault("id-sticks", breaks="C7", text="A request without an id gets that of the one before.")
class _IdSticks(Behaviour):
    kept: str | None = None

    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = super().read_request(model, request, length)
        kept, self.kept = self.kept, inference.id
        return inference if inference.id is not None else replace(inference, id=kept)


@fault(
    "id-of-request-before",
    breaks="C7",
    text="A request with an id gets that of the one before, if that had one.",
)
class _IdOfRequestBefore(Behaviour):
    kept: str | None = None

    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = super().read_request(model, request, length)
        kept, self.kept = self.kept, inference.id
        if kept is None or inference.id is None:
            return inference
        return replace(inference, id=kept)


@fault(
    "content-coding-sticks",
    breaks="C7",
    text="A request without Content-Encoding is decoded as the one before was.",
)
class _ContentCodingSticks(_Remembers):
    def decode_request(self, request: Request) -> Request:
        kept = self.before.values("content-encoding") if self.before else []
        if kept and not request.values("content-encoding"):
            raise Rejected(f"the body is not in {kept[0]}")
        return super().decode_request(request)


@fault(
    "accept-encoding-sticks",
    breaks="C7",
    text="A response is encoded as the request before allowed.",
)
class _AcceptEncodingSticks(_Remembers):
    def encode_response(self, request: Request, response: Response) -> Response:
        before = self.before
        kept = before is not None and bool(before.values("accept-encoding"))
        return super().encode_response(before if before and kept else request, response)


@fault(
    "longer-tensor-left-in-buffer",
    breaks="C7",
    text="The end of a longer INT32 tensor in the request before follows a shorter one.",
)
class _LongerTensorLeftInBuffer(Behaviour):
    kept: Buffer = b""

    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        found = super().output_tensor(output, tensor)
        if output.datatype != "INT32":
            return found
        kept, self.kept = self.kept, bytes(found.blob)
        return msgspec.structs.replace(
            found, blob=bytes(found.blob) + bytes(kept[len(found.blob) :])
        )


@fault(
    "shape-kept-by-size",
    breaks="C7",
    text="A matrix has the shape of the last one of the same size.",
)
class _ShapeKeptBySize(Behaviour):
    def __init__(self, profiles: Collection[str] = SERVER_PROFILES) -> None:
        super().__init__(profiles)
        self.shapes: dict[tuple[str, int], Shape] = {}

    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        found = super().output_tensor(output, tensor)
        if len(found.shape) != 2:
            return found
        key = (output.datatype, len(found.blob))
        kept, self.shapes[key] = self.shapes.get(key, found.shape), found.shape
        return msgspec.structs.replace(found, shape=kept)


@fault(
    "model-sticks",
    breaks="C7",
    text="A request to another identity model goes to the one of the request before.",
)
class _ModelSticks(_Remembers):
    def infer(self, model: ModelContract, request: Request) -> Response:
        before = self.before.target if self.before else ""
        if "/identity_bytes/" in before and model.model == "identity_int32":
            model = self.models["identity_bytes"]
        return super().infer(model, request)


@fault(
    "json-values-kept",
    breaks="C7",
    text="A tensor sent as a blob has the values that the request before sent for it as JSON.",
)
class _JsonValuesKept(Behaviour):
    kept: tuple[TensorSpec, Shape, Buffer] | None = None

    def input_blob(self, entry: RequestInput, blobs: Blobs, offset: int) -> tuple[Buffer, int]:
        blob, end = super().input_blob(entry, blobs, offset)
        kept, self.kept = self.kept, None
        if entry.has_data:
            self.kept = (entry.spec, entry.shape, blob)
        elif kept is not None and kept[:2] == (entry.spec, entry.shape):
            return kept[2], end
        return blob, end


@fault(
    "chunked-framing-sticks",
    breaks="C7",
    text="A request with a Content-Length is read as chunked if the one before was.",
)
class _ChunkedFramingSticks(_Remembers):
    def infer(self, model: ModelContract, request: Request) -> Response:
        if self.before is not None and is_chunked(self.before) and not is_chunked(request):
            raise Rejected("the body is not chunked")
        return super().infer(model, request)


@fault(
    "raw-sticks",
    breaks="C7",
    text="The request after a raw one is raw, too.",
)
class _RawSticks(_Remembers):
    def header_length(self, request: Request) -> int | None:
        own = super().header_length(request)
        raw = self.before is not None and self.before.values(HEADER_LENGTH) == ["0"]
        return 0 if raw else own


class _StuckAfterError(Behaviour):
    """After a refused request of its kind, the next one of that kind is refused, too."""

    stuck = False
    why = ""

    def is_its_kind(self, request: Request) -> bool:
        raise NotImplementedError

    def infer(self, model: ModelContract, request: Request) -> Response:
        its_kind = self.is_its_kind(request)
        stuck, self.stuck = self.stuck, False
        if its_kind and stuck:
            raise Rejected(self.why, 500)
        try:
            return super().infer(model, request)
        except Exception:
            self.stuck = its_kind
            raise


@fault(
    "json-parser-stuck-after-error",
    breaks="R3",
    text="After a refused request without blobs, the next one is refused too if it has none.",
)
class _JsonParserStuckAfterError(_StuckAfterError):
    why = "the parser is in an error state"

    def is_its_kind(self, request: Request) -> bool:
        return not request.values(HEADER_LENGTH)


@fault(
    "decoder-stuck-after-error",
    breaks="Z6",
    text="After a refused encoded request, the next one is refused too if it is encoded.",
)
class _DecoderStuckAfterError(_StuckAfterError):
    why = "the decoder has not reached the end of its stream"

    def is_its_kind(self, request: Request) -> bool:
        return bool(request.values("content-encoding"))
