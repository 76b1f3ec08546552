"""Faults of tensors with zero elements (E)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.http_messages import Rejected
from v2_conformance.reference.request_reader import JsonObject, RequestInput
from v2_conformance.suite.models import TensorSpec


@fault(
    "size-zero-refused",
    breaks="E1",
    text="An input with the size 0 is rejected.",
)
class _SizeZeroRefused(Behaviour):
    def check_size(self, entry: RequestInput, size: int) -> None:
        super().check_size(entry, size)
        if size == 0:
            raise Rejected(f"input {entry.spec.name} has no data")


@fault(
    "empty-output-without-size",
    breaks="E2",
    text="A binary output without elements has no size.",
)
class _EmptyOutputWithoutSize(Behaviour):
    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        entry = super().response_output(tensor, binary)
        if binary and not len(tensor.blob):
            del entry["parameters"]
        return entry


@fault(
    "empty-output-adds-a-byte",
    breaks="E2",
    text="A binary output without elements adds one byte to the body.",
)
class _EmptyOutputAddsAByte(Behaviour):
    def response_body(self, text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        return super().response_body(text, [blob if len(blob) else b"\0" for blob in blobs])


@fault(
    "empty-response-header-length-zero",
    breaks="E4",
    text="If all outputs are binary and empty, the header length of the response is 0.",
)
class _EmptyResponseHeaderLengthZero(Behaviour):
    def response_header_length(self, text: bytes, blobs: Sequence[Buffer]) -> str | None:
        return super().response_header_length(text, blobs) if any(map(len, blobs)) else "0"


@fault(
    "empty-response-without-json",
    breaks="E4",
    text="If all outputs are binary and empty, the response has no body.",
)
class _EmptyResponseWithoutJson(Behaviour):
    def response_body(self, text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        if blobs and not any(map(len, blobs)):
            return ()
        return super().response_body(text, blobs)


@fault(
    "empty-shape-flattened",
    breaks="E5",
    text="An output without elements has the shape [0].",
)
class _EmptyShapeFlattened(Behaviour):
    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        made = super().output_tensor(output, tensor)
        return replace(made, shape=(0,)) if 0 in made.shape else made


@fault(
    "empty-bytes-become-one-element",
    breaks="E5",
    text="A BYTES output without elements is returned with one empty element.",
)
class _EmptyBytesBecomeOneElement(Behaviour):
    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        made = super().output_tensor(output, tensor)
        if made.datatype != "BYTES" or 0 not in made.shape:
            return made
        return replace(made, blob=bytes(4))
