"""Faults of several inputs (M) and of zero elements (E)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.exchange import Blobs, Rejected, Request
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.reading import SIZE, Call, Entry
from v2_conformance.suite.models import ModelContract, TensorSpec


@fault(
    "every-input-reads-first-blob",
    breaks="M1",
    text="Every binary input is read from where the first blob starts.",
)
class _EveryInputReadsFirstBlob(Behaviour):
    def slice_blob(self, entry: Entry, blobs: Blobs, offset: int, size: int) -> memoryview:
        super().slice_blob(entry, blobs, offset, size)
        return blobs.view[:size]


@fault(
    "request-blobs-in-model-order",
    breaks="M2",
    text="Request blobs are read in the order of the model's inputs, not of the JSON.",
)
class _RequestBlobsInModelOrder(Behaviour):
    def blob_order(self, model: ModelContract, entries: list[Entry]) -> list[Entry]:
        return sorted(entries, key=lambda entry: model.inputs.index(entry.spec))


@fault(
    "json-inputs-take-blob-bytes",
    breaks="M3",
    text="An input given as JSON still moves the offset of the blobs behind it.",
)
class _JsonInputsTakeBlobBytes(Behaviour):
    def input_blob(self, entry: Entry, blobs: Blobs, offset: int) -> tuple[Buffer, int]:
        blob, end = super().input_blob(entry, blobs, offset)
        return blob, end + len(blob) * entry.has_data


@fault(
    "mixed-inputs-refused",
    breaks="M3",
    text="A request with inputs in both forms is refused.",
)
class _MixedInputsRefused(Behaviour):
    def input_entries(self, model: ModelContract, document: dict[str, Any]) -> list[Entry]:
        entries = super().input_entries(model, document)
        if len({SIZE in entry.parameters for entry in entries}) > 1:
            raise Rejected("inputs are to be all JSON or all binary")
        return entries


@fault(
    "empty-input-shifts-blobs",
    breaks="M4",
    text="A binary input without elements takes one byte of the next blob.",
)
class _EmptyInputShiftsBlobs(Behaviour):
    def next_offset(self, entry: Entry, offset: int, size: int) -> int:
        return super().next_offset(entry, offset, size) + (size == 0)


@fault(
    "many-inputs-refused",
    breaks="M5",
    text="A request with more than eight binary inputs is refused.",
)
class _ManyInputsRefused(Behaviour):
    def input_entries(self, model: ModelContract, document: dict[str, Any]) -> list[Entry]:
        entries = super().input_entries(model, document)
        if sum(SIZE in entry.parameters for entry in entries) > 8:
            raise Rejected("too many binary inputs")
        return entries


@fault(
    "binary-outputs-need-binary-inputs",
    breaks="M6",
    text="Outputs are JSON whenever all inputs are.",
)
class _BinaryOutputsNeedBinaryInputs(Behaviour):
    def read_call(self, model: ModelContract, request: Request, length: int | None) -> Call:
        call = super().read_call(model, request, length)
        if SIZE.encode() in bytes(request.body):
            return call
        return replace(call, wanted=tuple(replace(one, binary=False) for one in call.wanted))


@fault(
    "output-flags-shift-behind-reordered-inputs",
    breaks="M7",
    text="With inputs and outputs both reordered, each output has the form of its neighbour.",
)
class _OutputFlagsShiftBehindReorderedInputs(Behaviour):
    def read_call(self, model: ModelContract, request: Request, length: int | None) -> Call:
        call = super().read_call(model, request, length)
        inputs = [spec.name for spec in model.inputs]
        outputs = [spec.name for spec in model.outputs]
        places = [outputs.index(one.name) for one in call.wanted]
        if list(call.inputs) == inputs or places == sorted(places):
            return call
        flags = [one.binary for one in call.wanted]
        turned = zip(call.wanted, flags[1:] + flags[:1], strict=True)
        return replace(call, wanted=tuple(replace(one, binary=flag) for one, flag in turned))


@fault(
    "size-zero-refused",
    breaks="E1",
    text="An input of size 0 is refused.",
)
class _SizeZeroRefused(Behaviour):
    def check_size(self, entry: Entry, size: int) -> None:
        super().check_size(entry, size)
        if size == 0:
            raise Rejected(f"input {entry.spec.name} has no data")


@fault(
    "empty-output-without-size",
    breaks="E2",
    text="A binary output without elements has no size.",
)
class _EmptyOutputWithoutSize(Behaviour):
    def output_entry(self, tensor: Tensor, binary: bool) -> dict[str, Any]:
        entry = super().output_entry(tensor, binary)
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
    text="The header length of a response with empty binary outputs only is 0.",
)
class _EmptyResponseHeaderLengthZero(Behaviour):
    def response_length(self, text: bytes, blobs: Sequence[Buffer]) -> str | None:
        return super().response_length(text, blobs) if any(map(len, blobs)) else "0"


@fault(
    "empty-response-without-json",
    breaks="E4",
    text="A response with empty binary outputs only has no body.",
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
    text="A BYTES output without elements has an empty one.",
)
class _EmptyBytesBecomeOneElement(Behaviour):
    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        made = super().output_tensor(output, tensor)
        if made.datatype != "BYTES" or 0 not in made.shape:
            return made
        return replace(made, blob=bytes(4))
