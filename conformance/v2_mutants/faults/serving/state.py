"""Faults of state: what of a request sticks to the next one (C), or of a refused one (R, Z)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import msgspec

from v2_conformance.protocol.datatypes import Buffer, Shape
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH, SERVER_PROFILES
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Blobs, Rejected, Request, Response
from v2_conformance.reference.request_reader import (
    BINARY_DATA_OUTPUT,
    InferenceRequest,
    JsonObject,
    RequestInput,
    RequestOutput,
)
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.shared.deliveries import is_chunked
from v2_mutants.registry import fault


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


@fault.several("binary-output-flag-sticks", "C7")
class _BinaryOutputFlagSticks(_Remembers):
    """The next request has binary outputs too if one asked for them with binary_data_output."""

    def binary_by_default(self, document: JsonObject) -> bool:
        own = super().binary_by_default(document)
        if BINARY_DATA_OUTPUT in document.get("parameters", {}):
            return own
        return own or self.said_before(b'"binary_data_output":true')


@fault.several("output-binary-data-sticks", "C7")
class _OutputBinaryDataSticks(_Remembers):
    """A request that lists no outputs gets blobs if the one before asked for one."""

    def binary_by_default(self, document: JsonObject) -> bool:
        own = super().binary_by_default(document)
        if "outputs" in document or document.get("parameters"):
            return own
        return own or self.said_before(b'"binary_data":true')


@fault.several("requested-outputs-stick", "C7")
class _RequestedOutputsStick(Behaviour):
    """A request that lists no outputs gets those that the one before listed."""

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


@fault.several("digits-of-longer-header-length-kept", "C7")
class _DigitsOfLongerHeaderLengthKept(Behaviour):
    """A header length is read with the last digits of a longer one in the request before."""

    digits = ""

    def parse_header_length(self, text: str) -> int:
        kept, self.digits = self.digits, text
        return super().parse_header_length(text + kept[len(text) :])


@fault.several("id-sticks", "C7")
class _IdSticks(Behaviour):
    """A request without an id gets that of the one before."""

    kept: str | None = None

    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = super().read_request(model, request, length)
        kept, self.kept = self.kept, inference.id
        return inference if inference.id is not None else replace(inference, id=kept)


@fault.several("id-of-request-before", "C7")
class _IdOfRequestBefore(Behaviour):
    """A request with an id gets that of the one before, if that had one."""

    kept: str | None = None

    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = super().read_request(model, request, length)
        kept, self.kept = self.kept, inference.id
        if kept is None or inference.id is None:
            return inference
        return replace(inference, id=kept)


@fault.several("content-coding-sticks", "C7")
class _ContentCodingSticks(_Remembers):
    """A request without Content-Encoding is decoded as the one before was."""

    def decode_request(self, request: Request) -> Request:
        kept = self.before.values("content-encoding") if self.before else []
        if kept and not request.values("content-encoding"):
            raise Rejected(f"the body is not in {kept[0]}")
        return super().decode_request(request)


@fault.several("accept-encoding-sticks", "C7")
class _AcceptEncodingSticks(_Remembers):
    """A response is encoded as the request before allowed."""

    def encode_response(self, request: Request, response: Response) -> Response:
        before = self.before
        kept = before is not None and bool(before.values("accept-encoding"))
        return super().encode_response(before if before and kept else request, response)


@fault.several("longer-tensor-left-in-buffer", "C7")
class _LongerTensorLeftInBuffer(Behaviour):
    """The end of a longer INT32 tensor in the request before follows a shorter one."""

    kept: Buffer = b""

    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        found = super().output_tensor(output, tensor)
        if output.datatype != "INT32":
            return found
        kept, self.kept = self.kept, bytes(found.blob)
        return msgspec.structs.replace(
            found, blob=bytes(found.blob) + bytes(kept[len(found.blob) :])
        )


@fault.several("shape-kept-by-size", "C7")
class _ShapeKeptBySize(Behaviour):
    """A matrix has the shape of the last one of the same size."""

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


@fault.several("model-sticks", "C7")
class _ModelSticks(_Remembers):
    """A request to another identity model goes to the one of the request before."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        before = self.before.target if self.before else ""
        if "/identity_bytes/" in before and model.model == "identity_int32":
            model = self.models["identity_bytes"]
        return super().infer(model, request)


@fault.several("json-values-kept", "C7")
class _JsonValuesKept(Behaviour):
    """A tensor sent as a blob has the values that the request before sent for it as JSON."""

    kept: tuple[TensorSpec, Shape, Buffer] | None = None

    def input_blob(self, entry: RequestInput, blobs: Blobs, offset: int) -> tuple[Buffer, int]:
        blob, end = super().input_blob(entry, blobs, offset)
        kept, self.kept = self.kept, None
        if entry.has_data:
            self.kept = (entry.spec, entry.shape, blob)
        elif kept is not None and kept[:2] == (entry.spec, entry.shape):
            return kept[2], end
        return blob, end


@fault.several("chunked-framing-sticks", "C7")
class _ChunkedFramingSticks(_Remembers):
    """A request with a Content-Length is read as chunked if the one before was."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        if self.before is not None and is_chunked(self.before) and not is_chunked(request):
            raise Rejected("the body is not chunked")
        return super().infer(model, request)


@fault.several("raw-sticks", "C7")
class _RawSticks(_Remembers):
    """The request after a raw one is raw, too."""

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


@fault.several("json-parser-stuck-after-error", "R3")
class _JsonParserStuckAfterError(_StuckAfterError):
    """After a refused request without blobs, the next one is refused too if it has none."""

    why = "the parser is in an error state"

    def is_its_kind(self, request: Request) -> bool:
        return not request.values(HEADER_LENGTH)


@fault.several("decoder-stuck-after-error", "Z6")
class _DecoderStuckAfterError(_StuckAfterError):
    """After a refused encoded request, the next one is refused too if it is encoded."""

    why = "the decoder has not reached the end of its stream"

    def is_its_kind(self, request: Request) -> bool:
        return bool(request.values("content-encoding"))
