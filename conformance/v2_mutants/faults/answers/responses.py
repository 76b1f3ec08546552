"""Faults of what surrounds the selected outputs: their entries, blobs, id and model_name (O)."""

from __future__ import annotations

from collections.abc import Sequence

from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import BINARY_DATA_SIZE
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestOutput
from v2_conformance.suite.models import ModelContract
from v2_mutants.changes import without
from v2_mutants.registry import Right, fault, then


def _in_model_order(model: ModelContract, outputs: Sequence[RequestOutput]) -> list[RequestOutput]:
    names = [spec.name for spec in model.outputs]
    return sorted(outputs, key=lambda output: names.index(output.name))


fault("binary-output-without-size", "O10", Behaviour.response_output)(
    "A binary output has no size.",
    then(lambda entry, tensor, binary: without(entry, "parameters") if binary else entry),
)


@fault("output-size-as-string", "O10", Behaviour.response_output)
def _(right: Right[JsonObject], tensor: Tensor, binary: bool) -> JsonObject:
    """The size of a binary output is a string."""
    entry = right()
    if binary:
        entry["parameters"] = {BINARY_DATA_SIZE: str(entry["parameters"][BINARY_DATA_SIZE])}
    return entry


@fault("json-output-with-size", "O11", Behaviour.response_output)
def _(right: Right[JsonObject], tensor: Tensor, binary: bool) -> JsonObject:
    """An output in JSON also has a size."""
    entry = right()
    if binary:
        return entry
    return entry | {"parameters": {BINARY_DATA_SIZE: right.server.output_size(tensor)}}


fault("response-blobs-in-model-order", "O12", Behaviour.response_blob_order)(
    "Response blobs are in the order of the model's outputs, not of the response's JSON.",
    lambda right, model, outputs: _in_model_order(model, outputs),
)


@fault("id-lost-on-binary-response", "O18", Behaviour.response_document)
def _(
    right: Right[JsonObject],
    model: ModelContract,
    inference: InferenceRequest,
    entries: list[JsonObject],
) -> JsonObject:
    """A response with binary outputs has no `id`."""
    document = right()
    if any(output.binary for output in inference.outputs):
        document.pop("id", None)
    return document


fault("id-made-up", "O18", Behaviour.read_request)(
    "A response has an `id` that the server made up.",
    then(
        lambda inference, model, request, length: InferenceRequest(
            inference.inputs, inference.outputs, "1"
        )
    ),
)
fault("model-name-of-another-model", "O20", Behaviour.response_document)(
    "A response has the `model_name` of another model.",
    lambda right, model, inference, entries: right() | {"model_name": f"{model.model}_of_another"},
)
fault("model-name-missing", "O20", Behaviour.response_document)(
    "A response has no `model_name`.",
    then(
        lambda document, model, inference, entries: {
            name: value for name, value in document.items() if name != "model_name"
        }
    ),
)
