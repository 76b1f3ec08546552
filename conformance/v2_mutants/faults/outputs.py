"""Faults of which outputs come, in which form, and of what surrounds them (O)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import BINARY_DATA, BINARY_DATA_OUTPUT, BINARY_DATA_SIZE
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Request
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestOutput
from v2_conformance.suite.models import ModelContract
from v2_mutants.changes import without
from v2_mutants.faults.shared import (
    all_in_json,
    input_parameters,
    is_versioned,
    reversed_order,
)
from v2_mutants.registry import Right, What, fault, then

Outputs = tuple[RequestOutput, ...]


def _binary_data_output(document: JsonObject) -> Any:
    """The request's `binary_data_output`, None if it has none."""
    return (document.get("parameters") or {}).get(BINARY_DATA_OUTPUT)


def _as_json(outputs: Sequence[RequestOutput]) -> Outputs:
    return tuple(RequestOutput(output.name, False) for output in outputs)


def _with_unrequested(model: ModelContract, outputs: Outputs, *, binary: bool) -> Outputs:
    """The outputs and, after them, all others of the model."""
    requested = {output.name for output in outputs}
    others = (spec.name for spec in model.outputs if spec.name not in requested)
    return (*outputs, *(RequestOutput(name, binary) for name in others))


fault("binary-data-true-ignored", "O1", Behavior.binary_flag)(
    "An output with `binary_data` true is returned as JSON.",
    lambda right, parameters, default: right() and default,
)
fault("outputs-always-json", "O1", Behavior.read_request)(
    "Every output is JSON, whatever the request asks for.",
    then(lambda inference, model, request, length: all_in_json(inference)),
)
fault("binary-data-false-read-as-true", "O2", Behavior.binary_flag)(
    "An output with `binary_data` is binary, whatever the value.",
    lambda right, parameters, default: right() or BINARY_DATA in parameters,
)
fault("last-output-flag-decides", "O3", Behavior.binary_flags)(
    "The flag of the last listed output decides for all outputs.",
    lambda right, parameters, default: right()[-1:] * len(parameters),
)
fault("binary-by-default", "O4", Behavior.binary_by_default)(
    "Outputs that the request does not list are binary.",
    lambda right, document: (
        right() or not (document.get("outputs") or _binary_data_output(document) is False)
    ),
)
fault("binary-data-output-false-read-as-true", "O4", Behavior.binary_by_default)(
    "A `binary_data_output` of false makes outputs that are not listed binary.",
    lambda right, document: (
        right() or (not document.get("outputs") and _binary_data_output(document) is False)
    ),
)
fault("binary-data-output-ignored", "O5", Behavior.binary_by_default)(
    "`binary_data_output` has no effect.", lambda right, document: right() and False
)
fault("parameters-of-a-version-ignored", "O5", Behavior.read_request)(
    "`binary_data_output` has no effect on a path with the model's version.",
    then(
        lambda inference, model, request, length: (
            all_in_json(inference)
            if is_versioned(request) and b'"binary_data_output":true' in bytes(request.body)
            else inference
        )
    ),
)
fault("binary-data-false-does-not-override", "O7", Behavior.binary_flag)(
    "`binary_data_output` true makes an output with `binary_data` false binary.",
    lambda right, parameters, default: right() or default,
)
fault("binary-data-true-does-not-override", "O8", Behavior.request_outputs)(
    "`binary_data_output` false makes an output with `binary_data` true JSON.",
    then(
        lambda outputs, model, document: (
            _as_json(outputs) if _binary_data_output(document) is False else outputs
        )
    ),
)


@fault.several("repeated-output-one-blob", "O9")
class _RepeatedOutputOneBlob(Behavior):
    """An output that is requested twice is listed twice, but has one blob."""

    def repeated_output(self, names: list[str]) -> None:
        return None

    def response_blob_order(
        self, model: ModelContract, outputs: Sequence[RequestOutput]
    ) -> Sequence[RequestOutput]:
        return tuple(dict.fromkeys(super().response_blob_order(model, outputs)))


fault("all-outputs-returned", "O13", Behavior.request_outputs)(
    "Outputs that were not requested are returned, too.",
    lambda right, model, document: _with_unrequested(
        model, right(), binary=right.server.binary_by_default(document)
    ),
)


@fault("unknown-output-ignored", "O14", Behavior.request_outputs)
def _(right: Right[Outputs], model: ModelContract, document: JsonObject) -> Outputs:
    """A requested output that the model does not have is left out."""
    known = {spec.name for spec in model.outputs}
    listed = document.get("outputs")
    if isinstance(listed, list):
        kept = [item for item in listed if not _has_unknown_name(item, known)]
        document = document | {"outputs": kept}
    return right(document=document)


def _has_unknown_name(item: object, known: set[str]) -> bool:
    name = item.get("name") if isinstance(item, dict) else None
    return isinstance(name, str) and name not in known


@fault("flag-on-input-obeyed", "O15", Behavior.binary_by_default)
def _(right: Right[bool], document: JsonObject) -> bool:
    """`binary_data_output` on an input makes all outputs binary."""
    flags = [parameters.get(BINARY_DATA_OUTPUT) for parameters in input_parameters(document)]
    return right() or any(flag is True for flag in flags)


def _listed(document: JsonObject, name: str) -> list[JsonObject]:
    """Return the entries of `inputs` or `outputs` that are objects."""
    listed = document.get(name)
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _has_parameter(items: Sequence[JsonObject], name: str, value: object = True) -> bool:
    """Return True if one of these objects has a parameter with this value."""
    results = [item.get("parameters") for item in items]
    return any(isinstance(one, dict) and one.get(name) is value for one in results)


def _forms_if(when: Callable[[JsonObject], bool], *, binary: bool = True) -> What[Outputs]:
    """A server that gives all outputs one form if `when` is true of the request."""
    return then(
        lambda outputs, model, document: (
            tuple(RequestOutput(output.name, binary) for output in outputs)
            if when(document)
            else outputs
        )
    )


for _name, _text, _when, _binary in (
    ("binary-data-on-input-obeyed", "`binary_data` on an input makes all outputs binary.",
     lambda document: _has_parameter(_listed(document, "inputs"), BINARY_DATA), True),
    ("binary-data-false-on-input-obeyed", "`binary_data` false on an input makes all outputs JSON.",
     lambda document: _has_parameter(_listed(document, "inputs"), BINARY_DATA, False), False),
    ("binary-data-false-on-request-obeyed",
     "`binary_data` false among a request's parameters makes all outputs JSON.",
     lambda document: _has_parameter([document], BINARY_DATA, False), False),
    ("binary-data-on-request-obeyed",
     "`binary_data` among a request's parameters makes all outputs binary.",
     lambda document: _has_parameter([document], BINARY_DATA), True),
    ("size-on-output-obeyed", "`binary_data_size` on a listed output makes it binary.",
     lambda document: any(
         BINARY_DATA_SIZE in (item.get("parameters") or {}) for item in _listed(document, "outputs")
     ), True),
    ("flag-beside-parameters-obeyed",
     "`binary_data` makes an output binary outside of its parameters, too.",
     lambda document: any(item.get(BINARY_DATA) is True for item in _listed(document, "outputs")),
     True),
):  # fmt: skip
    fault(_name, "O15", Behavior.request_outputs)(_text, _forms_if(_when, binary=_binary))

fault("flags-by-truth", "O16", Behavior.boolean_parameter)(
    "Any flag value except false, null, 0 and empty ones counts as true.",
    lambda right, parameters, name, *, default: bool(parameters.get(name, default)),
)


def _has_unflagged(document: JsonObject) -> bool:
    """Return True if `binary_data_output` is true and an output is listed without `binary_data`."""
    listed = document.get("outputs") or []
    unflagged = any(BINARY_DATA not in (item.get("parameters") or {}) for item in listed)
    return _binary_data_output(document) is True and unflagged


for _name, _text, _when in (
    ("empty-parameters-mean-json", "An output with empty `parameters` is JSON.",
     lambda document: any(item.get("parameters") == {} for item in _listed(document, "outputs"))),
    ("late-parameters-mean-json", "`binary_data_output` counts only before `outputs`.",
     lambda document: list(document)[-1] == "parameters" and _has_unflagged(document)),
):  # fmt: skip
    fault(_name, "V1", Behavior.request_outputs)(_text, _forms_if(_when, binary=False))


@fault("unflagged-outputs-reversed", "O19", Behavior.read_request)
def _(
    right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
) -> InferenceRequest:
    """If `binary_data_output` is true, elements of unflagged outputs come in reverse order."""
    inference = right()
    text, _ = right.server.split_body(request, length)
    if not _has_unflagged(right.server.parse_document(text)):
        return inference
    reversed_inputs = {name: reversed_order(t) for name, t in inference.inputs.items()}
    return replace(inference, inputs=reversed_inputs)


def _in_model_order(model: ModelContract, outputs: Sequence[RequestOutput]) -> list[RequestOutput]:
    names = [spec.name for spec in model.outputs]
    return sorted(outputs, key=lambda output: names.index(output.name))


fault("binary-output-without-size", "O10", Behavior.response_output)(
    "A binary output has no size.",
    then(lambda entry, tensor, binary: without(entry, "parameters") if binary else entry),
)


@fault("json-output-with-size", "O11", Behavior.response_output)
def _(right: Right[JsonObject], tensor: Tensor, binary: bool) -> JsonObject:
    """An output in JSON also has a size."""
    entry = right()
    if binary:
        return entry
    return entry | {"parameters": {BINARY_DATA_SIZE: right.server.output_size(tensor)}}


fault("response-blobs-in-model-order", "O12", Behavior.response_blob_order)(
    "Response blobs are in the order of the model's outputs, not of the response's JSON.",
    lambda right, model, outputs: _in_model_order(model, outputs),
)

fault("some-response-blobs-in-model-order", "O12", Behavior.response_blob_order)(
    "If some outputs are requested, their blobs are in the order of the model's outputs.",
    lambda right, model, outputs: (
        right() if len(outputs) == len(model.outputs) else _in_model_order(model, outputs)
    ),
)
fault("id-lost-on-binary-response", "O18", Behavior.response_document)(
    "A response with binary outputs has no `id`.",
    then(
        lambda document, model, inference, entries: (
            without(document, "id") if any(one.binary for one in inference.outputs) else document
        )
    ),
)
fault("model-name-of-another-model", "O20", Behavior.response_document)(
    "A response has the `model_name` of another model.",
    lambda right, model, inference, entries: right() | {"model_name": f"{model.model}_of_another"},
)
fault("model-version-of-another", "O20", Behavior.response_document)(
    "A response has a `model_version` that the model does not have.",
    lambda right, model, inference, entries: right() | {"model_version": "2"},
)
fault("model-name-missing", "O20", Behavior.response_document)(
    "A response has no `model_name`.",
    then(lambda document, model, inference, entries: without(document, "model_name")),
)
