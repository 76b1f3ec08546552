"""Faults of what surrounds the selected outputs: their entries, blobs, id and model_name (O)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from v2_conformance.protocol.datatypes import element_count
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import BINARY_DATA_SIZE
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestOutput
from v2_conformance.suite.models import ModelContract
from v2_mutants.registry import Right, What, fault, then


def _in_model_order(model: ModelContract, outputs: Sequence[RequestOutput]) -> list[RequestOutput]:
    names = [spec.name for spec in model.outputs]
    return sorted(outputs, key=lambda output: names.index(output.name))


def _binary_outputs_without(member: str) -> What[JsonObject]:
    """A server whose binary outputs lack a member."""

    def what(right: Right[JsonObject], tensor: Tensor, binary: bool) -> JsonObject:
        entry = right()
        if binary:
            entry.pop(member, None)
        return entry

    return what


for _member, _word in (
    ("parameters", "size"),
    ("shape", "shape"),
    ("datatype", "datatype"),
    ("name", "name"),
):
    fault(f"binary-output-without-{_word}", "O10", Behaviour.response_output)(
        f"A binary output has no {_word}.", _binary_outputs_without(_member)
    )


@fault("output-size-as-string", "O10", Behaviour.response_output)
def _(right: Right[JsonObject], tensor: Tensor, binary: bool) -> JsonObject:
    """The size of a binary output is a string."""
    entry = right()
    if binary:
        entry["parameters"] = {BINARY_DATA_SIZE: str(entry["parameters"][BINARY_DATA_SIZE])}
    return entry


fault("output-size-counts-elements", "O10", Behaviour.output_size)(
    "The size of a binary output is its number of elements.",
    lambda right, tensor: element_count(tensor.shape),
)
fault("binary-output-with-data", "O11", Behaviour.response_output)(
    "A binary output also has `data`.",
    then(lambda entry, tensor, binary: entry | {"data": [0]} if binary else entry),
)


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
fault("mixed-response-blobs-in-model-order", "O12", Behaviour.response_blob_order)(
    "If some outputs are JSON, response blobs are in the order of the model's outputs.",
    then(
        lambda order, model, outputs: (
            order if all(output.binary for output in order) else _in_model_order(model, order)
        )
    ),
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


def _named_by_path(found: str) -> What[Response]:
    """A server that takes a model's name from the path as it came."""
    pattern = re.compile(found)

    def what(right: Right[Response], model: ModelContract, request: Request) -> Response:
        name = pattern.search(request.target)
        return right(model=replace(model, model=name[1])) if name else right()

    return what


fault("model-name-with-version", "O20", Behaviour.infer)(
    "The `model_name` of a response has its version behind it, if the path has one.",
    _named_by_path("/models/([^/]+/versions/[^/]+)/"),
)
