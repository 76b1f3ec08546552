"""Faults of raw binary requests (W)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import msgspec

from v2_conformance.protocol.datatypes import (
    DATATYPES,
    Buffer,
    Shape,
    element_count,
    encode_bytes,
)
from v2_conformance.protocol.message import MessageError, Tensor
from v2_conformance.protocol.names import HEADER_LENGTH, SERVER_PROFILES
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.shared.blobs import resize
from v2_conformance.reference.faults.shared.crashes import CrashingServer
from v2_conformance.reference.faults.shared.deliveries import is_chunked, reads_body_once
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, RequestOutput
from v2_conformance.suite.models import ModelContract


def _is_raw(request: Request) -> bool:
    return request.values(HEADER_LENGTH) == ["0"]


@fault("raw-refused", breaks="W1", text="Raw requests are rejected.")
class _RawRefused(Behaviour):
    def read_raw(self, model: ModelContract, body: memoryview) -> InferenceRequest:
        raise Rejected("raw requests are not supported")


@fault("raw-answered-as-json", breaks="W2", text="A raw request is answered in JSON.")
class _RawAnsweredAsJson(Behaviour):
    def read_raw(self, model: ModelContract, body: memoryview) -> InferenceRequest:
        inference = super().read_raw(model, body)
        outputs = tuple(replace(output, binary=False) for output in inference.outputs)
        return replace(inference, outputs=outputs)


@fault(
    "raw-first-output-only",
    breaks="W2",
    text="A raw request is answered with only the first output of the model.",
)
class _RawFirstOutputOnly(Behaviour):
    def read_raw(self, model: ModelContract, body: memoryview) -> InferenceRequest:
        inference = super().read_raw(model, body)
        return replace(inference, outputs=inference.outputs[:1])


@fault(
    "raw-shape-counts-bytes",
    breaks="W3",
    text="The variable dimension of a raw tensor is its number of bytes.",
)
class _RawShapeCountsBytes(Behaviour):
    def raw_shape(self, datatype: str, dims: Shape, size: int) -> Shape:
        super().raw_shape(datatype, dims, size)
        return tuple(size if dimension == -1 else dimension for dimension in dims)


@fault(
    "raw-variable-dimension-refused",
    breaks="W3",
    text="A raw request is rejected if the model has a variable dimension.",
)
class _RawVariableDimensionRefused(Behaviour):
    def raw_shape(self, datatype: str, dims: Shape, size: int) -> Shape:
        if -1 in dims:
            raise Rejected("a raw request needs a fixed shape")
        return super().raw_shape(datatype, dims, size)


@fault(
    "raw-size-from-content-length",
    breaks="W3",
    text="A raw tensor is as long as Content-Length says, so it is empty if the body is chunked.",
)
class _RawSizeFromContentLength(Behaviour):
    def infer(self, model: ModelContract, request: Request) -> Response:
        if is_chunked(request) and _is_raw(request):
            request = replace(request, body=request.body[:0])
        return super().infer(model, request)


fault(
    "raw-body-read-once",
    breaks="W3",
    text="The body of a raw request is read from the socket only once.",
)(reads_body_once(_is_raw))


@fault(
    "raw-without-batch-dimension",
    breaks="W4",
    text="The input of a raw request to a batching model gets no batch dimension.",
)
class _RawWithoutBatchDimension(Behaviour):
    def read_raw(self, model: ModelContract, body: memoryview) -> InferenceRequest:
        inference = super().read_raw(model, body)
        if not model.batching:
            return inference
        inputs = {
            name: msgspec.structs.replace(tensor, shape=tensor.shape[1:])
            for name, tensor in inference.inputs.items()
        }
        return replace(inference, inputs=inputs)


@fault(
    "raw-several-inputs-accepted",
    breaks="W5",
    text="A raw request to a model with several inputs fills its BOOL input; the others are empty.",
)
class _RawSeveralInputsAccepted(Behaviour):
    def read_raw(self, model: ModelContract, body: memoryview) -> InferenceRequest:
        if len(model.inputs) == 1:
            return super().read_raw(model, body)
        inputs = {
            spec.name: Tensor(spec.name, "BOOL", (len(body),), body)
            if spec.datatype == "BOOL"
            else Tensor(spec.name, spec.datatype, (0,) * len(spec.dims), b"")
            for spec in model.inputs
        }
        outputs = tuple(RequestOutput(spec.name, True) for spec in model.outputs)
        return InferenceRequest(inputs, outputs)


@fault(
    "raw-two-variable-dimensions",
    breaks="W6",
    text="All variable dimensions of a raw tensor except the last are read as 1.",
)
class _RawTwoVariableDimensions(Behaviour):
    def raw_shape(self, datatype: str, dims: Shape, size: int) -> Shape:
        fixed = list(dims)
        while fixed.count(-1) > 1:
            fixed[fixed.index(-1)] = 1
        return super().raw_shape(datatype, tuple(fixed), size)


@fault(
    "raw-bytes-split-into-elements",
    breaks="W7",
    text="A raw request for BYTES of variable shape is read as elements of one byte.",
)
class _RawBytesSplitIntoElements(Behaviour):
    def raw_bytes_tensor(self, dims: Shape, body: memoryview) -> tuple[Shape, Buffer]:
        if dims != (-1,):
            return super().raw_bytes_tensor(dims, body)
        return (len(body),), encode_bytes([bytes([byte]) for byte in body])


@fault(
    "raw-bytes-cut-at-nul",
    breaks="W8",
    text="The body of a raw request for BYTES ends at its first NUL.",
)
class _RawBytesCutAtNul(Behaviour):
    def raw_bytes_tensor(self, dims: Shape, body: memoryview) -> tuple[Shape, Buffer]:
        return super().raw_bytes_tensor(dims, memoryview(bytes(body).partition(b"\0")[0]))


@fault(
    "raw-bytes-lose-nuls-at-end",
    breaks="W8",
    text="The body of a raw request for BYTES loses the NULs at its end, as numpy's S dtype does.",
)
class _RawBytesLoseNulsAtEnd(Behaviour):
    def raw_bytes_tensor(self, dims: Shape, body: memoryview) -> tuple[Shape, Buffer]:
        return super().raw_bytes_tensor(dims, memoryview(bytes(body).rstrip(b"\0")))


@fault(
    "raw-odd-size-cut",
    breaks="W9",
    text="Surplus bytes of a raw tensor are dropped, and missing bytes are read as zeros.",
)
class _RawOddSizeCut(Behaviour):
    def read_raw(self, model: ModelContract, body: memoryview) -> InferenceRequest:
        spec = model.inputs[0]
        size = DATATYPES[spec.datatype].size
        if size is None:
            return super().read_raw(model, body)
        step = size * abs(element_count(spec.dims))
        fitting = len(body) // step * step if -1 in spec.dims else step
        return super().read_raw(model, memoryview(resize(body, fitting)))


@fault(
    "empty-body-taken-as-raw",
    breaks="W10",
    text="An empty body is read as a raw tensor, even without a header length of 0.",
)
class _EmptyBodyTakenAsRaw(Behaviour):
    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        if length is None and not len(request.body):
            return self.read_raw(model, request.body)
        return super().read_request(model, request, length)


@fault(
    "unparsable-body-taken-as-raw",
    breaks="W10",
    text="A body that is not JSON is read as raw, even without a header length of 0.",
)
class _UnparsableBodyTakenAsRaw(Behaviour):
    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        try:
            return super().read_request(model, request, length)
        except MessageError:
            if length is not None or bytes(request.body[:1]) == b"{":
                raise
            return self.read_raw(model, request.body)


@fault(
    "header-length-zero-crashes",
    breaks="W11",
    text="The server does not support raw requests, and a header length of 0 crashes it.",
)
class _HeaderLengthZeroCrashes(CrashingServer):
    def __init__(self, profiles: Collection[str] = SERVER_PROFILES) -> None:
        super().__init__([profile for profile in profiles if profile != "raw"])

    def read_zero_header_length(self, model: ModelContract, request: Request) -> InferenceRequest:
        self.crashed = True
        return super().read_zero_header_length(model, request)


@fault(
    "raw-json-looked-for",
    breaks="W1",
    text="A raw body that begins with a brace is taken for JSON, and rejected.",
)
class _RawJsonLookedFor(Behaviour):
    def read_raw(self, model: ModelContract, body: memoryview) -> InferenceRequest:
        if bytes(body[:1]) == b"{":
            raise Rejected("the header length is 0, but there is JSON")
        return super().read_raw(model, body)
