"""Faults of what surrounds the selected outputs: their entries, blobs, id and model_name (O)."""

from __future__ import annotations

from collections.abc import Sequence

from v2_conformance.protocol.datatypes import element_count
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.http_messages import Request
from v2_conformance.reference.request_reader import (
    BINARY_DATA_SIZE,
    InferenceRequest,
    JsonObject,
    RequestOutput,
)
from v2_conformance.suite.models import ModelContract


def _in_model_order(model: ModelContract, outputs: Sequence[RequestOutput]) -> list[RequestOutput]:
    names = [spec.name for spec in model.outputs]
    return sorted(outputs, key=lambda output: names.index(output.name))


def _binary_outputs_without(member: str) -> type[Behaviour]:
    """A server whose binary outputs lack a member."""

    class BinaryOutputsWithout(Behaviour):
        def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
            entry = super().response_output(tensor, binary)
            if binary:
                entry.pop(member, None)
            return entry

    return BinaryOutputsWithout


for _member, _word in (
    ("parameters", "size"),
    ("shape", "shape"),
    ("datatype", "datatype"),
    ("name", "name"),
):
    fault(f"binary-output-without-{_word}", breaks="O10", text=f"A binary output has no {_word}.")(
        _binary_outputs_without(_member)
    )


@fault("output-size-as-string", breaks="O10", text="The size of a binary output is a string.")
class _OutputSizeAsString(Behaviour):
    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        entry = super().response_output(tensor, binary)
        if binary:
            entry["parameters"] = {BINARY_DATA_SIZE: str(entry["parameters"][BINARY_DATA_SIZE])}
        return entry


@fault(
    "output-size-counts-elements",
    breaks="O10",
    text="The size of a binary output is its number of elements.",
)
class _OutputSizeCountsElements(Behaviour):
    def output_size(self, tensor: Tensor) -> int:
        return element_count(tensor.shape)


@fault(
    "binary-output-with-data",
    breaks="O11",
    text="A binary output also has `data`.",
)
class _BinaryOutputWithData(Behaviour):
    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        entry = super().response_output(tensor, binary)
        return entry | {"data": [0]} if binary else entry


@fault(
    "json-output-with-size",
    breaks="O11",
    text="An output in JSON also has a size.",
)
class _JsonOutputWithSize(Behaviour):
    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        entry = super().response_output(tensor, binary)
        if binary:
            return entry
        return entry | {"parameters": {BINARY_DATA_SIZE: self.output_size(tensor)}}


@fault(
    "response-blobs-in-model-order",
    breaks="O12",
    text="Response blobs are in the order of the model's outputs, not of the response's JSON.",
)
class _ResponseBlobsInModelOrder(Behaviour):
    def response_blob_order(
        self, model: ModelContract, outputs: Sequence[RequestOutput]
    ) -> Sequence[RequestOutput]:
        return _in_model_order(model, outputs)


@fault(
    "mixed-response-blobs-in-model-order",
    breaks="O12",
    text="If some outputs are JSON, response blobs are in the order of the model's outputs.",
)
class _MixedResponseBlobsInModelOrder(Behaviour):
    def response_blob_order(
        self, model: ModelContract, outputs: Sequence[RequestOutput]
    ) -> Sequence[RequestOutput]:
        order = super().response_blob_order(model, outputs)
        all_binary = all(output.binary for output in order)
        return order if all_binary else _in_model_order(model, order)


@fault(
    "id-lost-on-binary-response",
    breaks="O18",
    text="A response with binary outputs has no `id`.",
)
class _IdLostOnBinaryResponse(Behaviour):
    def response_document(
        self, model: ModelContract, inference: InferenceRequest, entries: list[JsonObject]
    ) -> JsonObject:
        document = super().response_document(model, inference, entries)
        if any(output.binary for output in inference.outputs):
            document.pop("id", None)
        return document


@fault(
    "id-made-up",
    breaks="O18",
    text="A response has an `id` that the server made up.",
)
class _IdMadeUp(Behaviour):
    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = super().read_request(model, request, length)
        return InferenceRequest(inference.inputs, inference.outputs, "1")


@fault(
    "model-name-of-another-model",
    breaks="O20",
    text="A response has the `model_name` of another model.",
)
class _ModelNameOfAnotherModel(Behaviour):
    def response_document(
        self, model: ModelContract, inference: InferenceRequest, entries: list[JsonObject]
    ) -> JsonObject:
        document = super().response_document(model, inference, entries)
        return document | {"model_name": f"{model.model}_of_another"}


@fault("model-name-missing", breaks="O20", text="A response has no `model_name`.")
class _ModelNameMissing(Behaviour):
    def response_document(
        self, model: ModelContract, inference: InferenceRequest, entries: list[JsonObject]
    ) -> JsonObject:
        document = super().response_document(model, inference, entries)
        return {name: value for name, value in document.items() if name != "model_name"}
