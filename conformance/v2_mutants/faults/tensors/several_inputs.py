"""Faults of several inputs (M)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import msgspec

from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import BINARY_DATA_SIZE
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Blobs, Rejected, Request
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared.blobs import (
    Blob,
    Inputs,
    all_in_json,
)
from v2_mutants.registry import Right, What, fault, refuse, then


def _json_takes_blob_bytes(applies: Callable[[RequestInput], bool]) -> What[Blob]:
    """A server that moves the offset of later blobs past an input in JSON if `applies` to it."""

    def what(right: Right[Blob], entry: RequestInput, blobs: Blobs, offset: int) -> Blob:
        blob, end = right()
        return blob, end + len(blob) * (entry.has_data and applies(entry))

    return what


@fault("every-input-gets-the-rest", "M1", Behaviour.slice_blob)
def _(
    right: Right[memoryview], entry: RequestInput, blobs: Blobs, offset: int, size: int
) -> memoryview:
    """Every binary input gets the rest of the body, including the blobs of later inputs."""
    right()
    rest = blobs.view[offset:]
    if len(rest) != size:
        raise Rejected(f"input {entry.spec.name}: {len(rest)} bytes do not fit its shape")
    return rest


fault("request-blobs-in-model-order", "M2", Behaviour.blob_order)(
    "Request blobs are read in the order of the model's inputs, not of the request's JSON.",
    lambda right, model, entries: sorted(entries, key=lambda entry: model.inputs.index(entry.spec)),
)


fault("json-inputs-take-blob-bytes", "M3", Behaviour.input_blob)(
    "An input in JSON moves the offset of the blobs after it.",
    _json_takes_blob_bytes(lambda entry: True),
)
fault("mixed-inputs-refused", "M3", Behaviour.request_inputs)(
    "A request with both binary and JSON inputs is rejected.",
    then(
        lambda entries, model, document: (
            refuse()
            if len({BINARY_DATA_SIZE in entry.parameters for entry in entries}) > 1
            else entries
        )
    ),
)


def _empty_inputs_take(surplus: Callable[[RequestInput], int]) -> type[Behaviour]:
    """A server that takes so many bytes too many for some inputs; the last blob ends in zeros."""

    class EmptyInputsTake(Behaviour):
        def read_inputs(
            self, model: ModelContract, document: JsonObject, blobs: Blobs
        ) -> dict[str, Tensor]:
            taken = sum(map(surplus, self.request_inputs(model, document)))
            padded = memoryview(bytes(blobs.view) + bytes(taken)) if len(blobs.view) else blobs.view
            return super().read_inputs(model, document, replace(blobs, view=padded))

        def input_blob(self, entry: RequestInput, blobs: Blobs, offset: int) -> Blob:
            blob, end = super().input_blob(entry, blobs, offset)
            return blob, end + (surplus(entry) if len(blobs.view) else 0)

    return EmptyInputsTake


fault.several(
    "empty-input-shifts-blobs",
    "M4",
    "A binary input without elements takes one byte of the next blob.",
)(_empty_inputs_take(lambda entry: int(entry.parameters.get(BINARY_DATA_SIZE) == 0)))
fault.several(
    "empty-data-takes-a-byte",
    "M4",
    "In a request with blobs, an input with an empty `data` array takes a byte of a blob.",
)(_empty_inputs_take(lambda entry: int(entry.data == [])))
fault("many-inputs-refused", "M5", Behaviour.request_inputs)(
    "A request with more than eight binary inputs is rejected.",
    then(
        lambda entries, model, document: (
            refuse()
            if sum(BINARY_DATA_SIZE in entry.parameters for entry in entries) > 8
            else entries
        )
    ),
)


@fault("common-dimension-taken-for-a-batch", "M5", Behaviour.request_inputs)
def _(right: Right[Inputs], model: ModelContract, document: JsonObject) -> Inputs:
    """Three binary inputs that all begin with the same dimension, which is more than 32, are
    rejected as a batch that is too large."""
    entries = right()
    binary = [entry for entry in entries if BINARY_DATA_SIZE in entry.parameters]
    first = {entry.shape[0] for entry in binary}
    if len(binary) == 3 and len(first) == 1 and (max(first) > 32):
        raise Rejected("the batch is too large")
    return entries


fault("binary-outputs-need-binary-inputs", "M6", Behaviour.read_request)(
    "If all inputs are JSON, all outputs are, too.",
    then(
        lambda inference, model, request, length: (
            inference
            if BINARY_DATA_SIZE.encode() in bytes(request.body)
            else all_in_json(inference)
        )
    ),
)


@fault("output-flags-shift-behind-reordered-inputs", "M7", Behaviour.read_request)
def _(
    right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
) -> InferenceRequest:
    """If inputs and outputs are both reordered, each output has the form of the next one."""
    inference = right()
    input_names = [spec.name for spec in model.inputs]
    output_names = [spec.name for spec in model.outputs]
    positions = [output_names.index(output.name) for output in inference.outputs]
    if list(inference.inputs) == input_names or positions == sorted(positions):
        return inference
    flags = [output.binary for output in inference.outputs]
    shifted = zip(inference.outputs, flags[1:] + flags[:1], strict=True)
    outputs = tuple(replace(output, binary=flag) for output, flag in shifted)
    return replace(inference, outputs=outputs)


fault("json-inputs-by-their-places", "M3", Behaviour.read_request)(
    "Without blobs, the first input of a request is the first of the model.",
    then(
        lambda inference, model, request, length: (
            inference
            if length is not None
            else replace(
                inference,
                inputs={
                    spec.name: msgspec.structs.replace(tensor, name=spec.name)
                    for spec, tensor in zip(model.inputs, inference.inputs.values(), strict=False)
                },
            )
        )
    ),
)
