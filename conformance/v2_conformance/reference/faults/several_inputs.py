"""Faults of several inputs (M)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.shared.blobs import is_bytes
from v2_conformance.reference.http_messages import Blobs, Rejected, Request
from v2_conformance.reference.request_reader import (
    BINARY_DATA_SIZE,
    InferenceRequest,
    JsonObject,
    RequestInput,
)
from v2_conformance.suite.models import ModelContract


def _json_takes_blob_bytes(applies: Callable[[RequestInput], bool]) -> type[Behaviour]:
    """A server that moves the offset of later blobs past an input in JSON if `applies` to it."""

    class JsonTakesBlobBytes(Behaviour):
        def input_blob(self, entry: RequestInput, blobs: Blobs, offset: int) -> tuple[Buffer, int]:
            blob, end = super().input_blob(entry, blobs, offset)
            return blob, end + len(blob) * (entry.has_data and applies(entry))

    return JsonTakesBlobBytes


@fault(
    "every-input-reads-first-blob",
    breaks="M1",
    text="Every binary input is read from the start of the first blob.",
)
class _EveryInputReadsFirstBlob(Behaviour):
    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        super().slice_blob(entry, blobs, offset, size)
        return blobs.view[:size]


@fault(
    "every-input-gets-the-rest",
    breaks="M1",
    text="Every binary input gets the rest of the body, including the blobs of later inputs.",
)
class _EveryInputGetsTheRest(Behaviour):
    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        super().slice_blob(entry, blobs, offset, size)
        rest = blobs.view[offset:]
        if len(rest) != size:
            raise Rejected(f"input {entry.spec.name}: {len(rest)} bytes do not fit its shape")
        return rest


@fault(
    "request-blobs-in-model-order",
    breaks="M2",
    text="Request blobs are read in the order of the model's inputs, not of the request's JSON.",
)
class _RequestBlobsInModelOrder(Behaviour):
    def blob_order(self, model: ModelContract, entries: list[RequestInput]) -> list[RequestInput]:
        return sorted(entries, key=lambda entry: model.inputs.index(entry.spec))


fault(
    "json-inputs-take-blob-bytes",
    breaks="M3",
    text="An input in JSON moves the offset of the blobs after it.",
)(_json_takes_blob_bytes(lambda entry: True))
fault(
    "json-bytes-inputs-take-blob-bytes",
    breaks="M3",
    text="A BYTES input in JSON moves the offset of the blobs after it.",
)(_json_takes_blob_bytes(is_bytes))


@fault(
    "mixed-inputs-refused",
    breaks="M3",
    text="A request with both binary and JSON inputs is rejected.",
)
class _MixedInputsRefused(Behaviour):
    def request_inputs(self, model: ModelContract, document: JsonObject) -> list[RequestInput]:
        entries = super().request_inputs(model, document)
        if len({BINARY_DATA_SIZE in entry.parameters for entry in entries}) > 1:
            raise Rejected("inputs must be all JSON or all binary")
        return entries


def _empty_inputs_take(surplus: Callable[[RequestInput], int]) -> type[Behaviour]:
    """A server that takes so many bytes too many for some inputs; the last blob ends in zeros."""

    class EmptyInputsTake(Behaviour):
        def read_inputs(
            self, model: ModelContract, document: JsonObject, blobs: Blobs
        ) -> dict[str, Tensor]:
            taken = sum(map(surplus, self.request_inputs(model, document)))
            padded = memoryview(bytes(blobs.view) + bytes(taken)) if len(blobs.view) else blobs.view
            return super().read_inputs(model, document, replace(blobs, view=padded))

        def input_blob(self, entry: RequestInput, blobs: Blobs, offset: int) -> tuple[Buffer, int]:
            blob, end = super().input_blob(entry, blobs, offset)
            return blob, end + (surplus(entry) if len(blobs.view) else 0)

    return EmptyInputsTake


fault(
    "empty-input-shifts-blobs",
    breaks="M4",
    text="A binary input without elements takes one byte of the next blob.",
)(_empty_inputs_take(lambda entry: int(entry.parameters.get(BINARY_DATA_SIZE) == 0)))
fault(
    "empty-bytes-input-takes-a-prefix",
    breaks="M4",
    text="A binary BYTES input without elements takes the four bytes of a prefix.",
)(
    _empty_inputs_take(
        lambda entry: 4 * (entry.parameters.get(BINARY_DATA_SIZE) == 0 and is_bytes(entry))
    )
)
fault(
    "empty-data-takes-a-byte",
    breaks="M4",
    text="In a request with blobs, an input with an empty `data` array takes a byte of a blob.",
)(_empty_inputs_take(lambda entry: int(entry.data == [])))


@fault(
    "many-inputs-refused",
    breaks="M5",
    text="A request with more than eight binary inputs is rejected.",
)
class _ManyInputsRefused(Behaviour):
    def request_inputs(self, model: ModelContract, document: JsonObject) -> list[RequestInput]:
        entries = super().request_inputs(model, document)
        if sum(BINARY_DATA_SIZE in entry.parameters for entry in entries) > 8:
            raise Rejected("the request has too many binary inputs")
        return entries


@fault(
    "common-dimension-taken-for-a-batch",
    breaks="M5",
    text="Three binary inputs that all begin with the same dimension, which is more than 32, are "
    "rejected as a batch that is too large.",
)
class _CommonDimensionTakenForABatch(Behaviour):
    def request_inputs(self, model: ModelContract, document: JsonObject) -> list[RequestInput]:
        entries = super().request_inputs(model, document)
        binary = [entry for entry in entries if BINARY_DATA_SIZE in entry.parameters]
        first = {entry.shape[0] for entry in binary}
        if len(binary) == 3 and len(first) == 1 and max(first) > 32:
            raise Rejected("the batch is too large")
        return entries


@fault(
    "binary-outputs-need-binary-inputs",
    breaks="M6",
    text="If all inputs are JSON, all outputs are, too.",
)
class _BinaryOutputsNeedBinaryInputs(Behaviour):
    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = super().read_request(model, request, length)
        if BINARY_DATA_SIZE.encode() in bytes(request.body):
            return inference
        outputs = tuple(replace(output, binary=False) for output in inference.outputs)
        return replace(inference, outputs=outputs)


@fault(
    "output-flags-shift-behind-reordered-inputs",
    breaks="M7",
    text="If inputs and outputs are both reordered, each output has the form of the next one.",
)
class _OutputFlagsShiftBehindReorderedInputs(Behaviour):
    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = super().read_request(model, request, length)
        input_names = [spec.name for spec in model.inputs]
        output_names = [spec.name for spec in model.outputs]
        positions = [output_names.index(output.name) for output in inference.outputs]
        if list(inference.inputs) == input_names or positions == sorted(positions):
            return inference
        flags = [output.binary for output in inference.outputs]
        shifted = zip(inference.outputs, flags[1:] + flags[:1], strict=True)
        outputs = tuple(replace(output, binary=flag) for output, flag in shifted)
        return replace(inference, outputs=outputs)


@fault(
    "blob-offset-in-16-bits",
    breaks="M1",
    text="Where a blob begins is kept in 16 bits.",
)
class _BlobOffsetIn16Bits(Behaviour):
    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        return super().slice_blob(entry, blobs, offset % 2**16, size)
