"""Faults of output selection: which outputs come, and in which form (O)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.shared.blobs import reversed_order
from v2_conformance.reference.http_messages import Request
from v2_conformance.reference.request_reader import (
    BINARY_DATA,
    BINARY_DATA_OUTPUT,
    BINARY_DATA_SIZE,
    InferenceRequest,
    JsonObject,
    RequestOutput,
)
from v2_conformance.suite.models import ModelContract

Outputs = tuple[RequestOutput, ...]


def _binary_data_output(document: JsonObject) -> Any:
    """The request's `binary_data_output`, None if it has none."""
    return (document.get("parameters") or {}).get(BINARY_DATA_OUTPUT)


def _input_parameters(document: JsonObject) -> list[JsonObject]:
    """The parameters of the request's inputs, if they are objects."""
    inputs = document.get("inputs")
    items = [item for item in inputs if isinstance(item, dict)] if isinstance(inputs, list) else []
    found = [item.get("parameters") for item in items]
    return [parameters for parameters in found if isinstance(parameters, dict)]


def _as_json(outputs: Sequence[RequestOutput]) -> Outputs:
    return tuple(RequestOutput(output.name, False) for output in outputs)


def _with_unrequested(model: ModelContract, outputs: Outputs, *, binary: bool) -> Outputs:
    """The outputs and, after them, all others of the model."""
    requested = {output.name for output in outputs}
    others = (spec.name for spec in model.outputs if spec.name not in requested)
    return (*outputs, *(RequestOutput(name, binary) for name in others))


def _flags_replaced(change: Callable[[list[bool], bool], list[bool]]) -> type[Behaviour]:
    """A server that replaces the flags of the listed outputs, given those and the default."""

    class FlagsReplaced(Behaviour):
        def binary_flags(self, parameters: list[JsonObject], default: bool) -> list[bool]:
            return change(super().binary_flags(parameters, default), default)

    return FlagsReplaced


@fault(
    "binary-data-true-ignored",
    breaks="O1",
    text="An output with `binary_data` true is returned as JSON.",
)
class _BinaryDataTrueIgnored(Behaviour):
    def binary_flag(self, parameters: JsonObject, default: bool) -> bool:
        return super().binary_flag(parameters, default) and default


@fault(
    "unflagged-output-binary",
    breaks="O2",
    text="A listed output without `binary_data` is binary.",
)
class _UnflaggedOutputBinary(Behaviour):
    def binary_flag(self, parameters: JsonObject, default: bool) -> bool:
        return super().binary_flag(parameters, default) or BINARY_DATA not in parameters


@fault(
    "binary-data-false-read-as-true",
    breaks="O2",
    text="An output with `binary_data` is binary, whatever the value.",
)
class _BinaryDataFalseReadAsTrue(Behaviour):
    def binary_flag(self, parameters: JsonObject, default: bool) -> bool:
        return super().binary_flag(parameters, default) or BINARY_DATA in parameters


fault(
    "last-output-flag-decides",
    breaks="O3",
    text="The flag of the last listed output decides for all outputs.",
)(_flags_replaced(lambda flags, default: [flags[-1]] * len(flags)))
fault(
    "first-output-flag-decides",
    breaks="O3",
    text="The flag of the first listed output decides for all outputs.",
)(_flags_replaced(lambda flags, default: [flags[0]] * len(flags)))
fault(
    "only-last-output-flag-honoured",
    breaks="O3",
    text="Only the last of the listed outputs can be binary.",
)(_flags_replaced(lambda flags, default: [default] * (len(flags) - 1) + flags[-1:]))


@fault(
    "json-bytes-output-adds-its-blob",
    breaks="O3",
    text="If other outputs are binary, the blob of a BYTES output in JSON is sent, too.",
)
class _JsonBytesOutputAddsItsBlob(Behaviour):
    def response_blob_order(
        self, model: ModelContract, outputs: Sequence[RequestOutput]
    ) -> Sequence[RequestOutput]:
        order = super().response_blob_order(model, outputs)
        if not any(output.binary for output in outputs):
            return order
        bytes_outputs = {spec.name for spec in model.outputs if spec.datatype == "BYTES"}
        return [
            RequestOutput(output.name, output.binary or output.name in bytes_outputs)
            for output in order
        ]


@fault(
    "binary-by-default",
    breaks="O4",
    text="Outputs that the request does not list are binary.",
)
class _BinaryByDefault(Behaviour):
    def binary_by_default(self, document: JsonObject) -> bool:
        default = super().binary_by_default(document)
        return default or not (document.get("outputs") or _binary_data_output(document) is False)


@fault(
    "binary-answer-to-binary-request",
    breaks="O4",
    text="Outputs that a request with blobs does not list are binary.",
)
class _BinaryAnswerToBinaryRequest(Behaviour):
    def binary_by_default(self, document: JsonObject) -> bool:
        default = super().binary_by_default(document)
        blobs = any(BINARY_DATA_SIZE in parameters for parameters in _input_parameters(document))
        silent = not document.get("outputs") and _binary_data_output(document) is None
        return default or (blobs and silent)


@fault(
    "binary-data-output-ignored",
    breaks="O5",
    text="`binary_data_output` has no effect.",
)
class _BinaryDataOutputIgnored(Behaviour):
    def binary_by_default(self, document: JsonObject) -> bool:
        return super().binary_by_default(document) and False


@fault(
    "binary-data-output-first-only",
    breaks="O5",
    text="`binary_data_output` makes only the model's first output binary.",
)
class _BinaryDataOutputFirstOnly(Behaviour):
    def request_outputs(self, model: ModelContract, document: JsonObject) -> Outputs:
        outputs = super().request_outputs(model, document)
        return outputs if document.get("outputs") else outputs[:1] + _as_json(outputs[1:])


@fault(
    "binary-data-false-does-not-override",
    breaks="O7",
    text="`binary_data_output` true makes an output with `binary_data` false binary.",
)
class _BinaryDataFalseDoesNotOverride(Behaviour):
    def binary_flag(self, parameters: JsonObject, default: bool) -> bool:
        return super().binary_flag(parameters, default) or default


@fault(
    "binary-data-true-does-not-override",
    breaks="O8",
    text="`binary_data_output` false makes an output with `binary_data` true JSON.",
)
class _BinaryDataTrueDoesNotOverride(Behaviour):
    def request_outputs(self, model: ModelContract, document: JsonObject) -> Outputs:
        outputs = super().request_outputs(model, document)
        return _as_json(outputs) if _binary_data_output(document) is False else outputs


@fault(
    "binary-data-true-overrides-for-all",
    breaks="O8",
    text="If `binary_data_output` is false, `binary_data` true on one output makes all binary.",
)
class _BinaryDataTrueOverridesForAll(Behaviour):
    def request_outputs(self, model: ModelContract, document: JsonObject) -> Outputs:
        outputs = super().request_outputs(model, document)
        every = _binary_data_output(document) is False and any(one.binary for one in outputs)
        return tuple(RequestOutput(output.name, output.binary or every) for output in outputs)


@fault(
    "repeated-output-one-blob",
    breaks="O9",
    text="An output that is requested twice is listed twice, but has one blob.",
)
class _RepeatedOutputOneBlob(Behaviour):
    def repeated_output(self, names: list[str]) -> None:
        return None

    def response_blob_order(
        self, model: ModelContract, outputs: Sequence[RequestOutput]
    ) -> Sequence[RequestOutput]:
        return tuple(dict.fromkeys(super().response_blob_order(model, outputs)))


@fault(
    "all-outputs-returned",
    breaks="O13",
    text="Outputs that were not requested are returned, too.",
)
class _AllOutputsReturned(Behaviour):
    def request_outputs(self, model: ModelContract, document: JsonObject) -> Outputs:
        outputs = super().request_outputs(model, document)
        return _with_unrequested(model, outputs, binary=self.binary_by_default(document))


@fault(
    "all-outputs-returned-with-binary-data-output",
    breaks="O13",
    text="If `binary_data_output` is true, outputs that were not requested are returned, too.",
)
class _AllOutputsReturnedWithBinaryDataOutput(Behaviour):
    def request_outputs(self, model: ModelContract, document: JsonObject) -> Outputs:
        outputs = super().request_outputs(model, document)
        if not self.binary_by_default(document):
            return outputs
        return _with_unrequested(model, outputs, binary=True)


@fault(
    "unknown-output-ignored",
    breaks="O14",
    text="A requested output that the model does not have is left out.",
)
class _UnknownOutputIgnored(Behaviour):
    def request_outputs(self, model: ModelContract, document: JsonObject) -> Outputs:
        known = {spec.name for spec in model.outputs}
        listed = document.get("outputs")
        if isinstance(listed, list):
            kept = [item for item in listed if not _has_unknown_name(item, known)]
            document = document | {"outputs": kept}
        return super().request_outputs(model, document)


def _has_unknown_name(item: object, known: set[str]) -> bool:
    name = item.get("name") if isinstance(item, dict) else None
    return isinstance(name, str) and name not in known


@fault(
    "flag-on-input-obeyed",
    breaks="O15",
    text="`binary_data_output` on an input makes all outputs binary.",
)
class _FlagOnInputObeyed(Behaviour):
    def binary_by_default(self, document: JsonObject) -> bool:
        flags = [parameters.get(BINARY_DATA_OUTPUT) for parameters in _input_parameters(document)]
        return super().binary_by_default(document) or any(flag is True for flag in flags)


@fault(
    "flags-by-truth",
    breaks="O16",
    text="Any flag value except false, null, 0 and empty ones counts as true.",
)
class _FlagsByTruth(Behaviour):
    def boolean_parameter(self, parameters: JsonObject, name: str, *, default: bool) -> bool:
        return bool(parameters.get(name, default))


def _has_unflagged(document: JsonObject) -> bool:
    """Whether `binary_data_output` is true and an output is listed without `binary_data`."""
    listed = document.get("outputs") or []
    unflagged = any(BINARY_DATA not in (item.get("parameters") or {}) for item in listed)
    return _binary_data_output(document) is True and unflagged


@fault(
    "unflagged-outputs-in-mixed-forms",
    breaks="O19",
    text="If `binary_data_output` is true, only the first of the unflagged outputs is binary.",
)
class _UnflaggedOutputsInMixedForms(Behaviour):
    def request_outputs(self, model: ModelContract, document: JsonObject) -> Outputs:
        outputs = super().request_outputs(model, document)
        return outputs[:1] + _as_json(outputs[1:]) if _has_unflagged(document) else outputs


@fault(
    "unflagged-outputs-reversed",
    breaks="O19",
    text="If `binary_data_output` is true, elements of unflagged outputs come in reverse order.",
)
class _UnflaggedOutputsReversed(Behaviour):
    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = super().read_request(model, request, length)
        text, _ = self.split_body(request, length)
        if not _has_unflagged(self.parse_document(text)):
            return inference
        reversed_inputs = {name: reversed_order(t) for name, t in inference.inputs.items()}
        return replace(inference, inputs=reversed_inputs)


def _reads_parameter(index: int) -> type[Behaviour]:
    """A server that reads only one of the parameters of a request."""

    class ReadsParameter(Behaviour):
        def binary_by_default(self, document: JsonObject) -> bool:
            parameters = document.get("parameters")
            if isinstance(parameters, dict) and parameters:
                only = [*parameters.items()][index]
                document = {**document, "parameters": dict([only])}
            return super().binary_by_default(document)

    return ReadsParameter


for _which, _index in (("first", 0), ("last", -1)):
    fault(
        f"only-{_which}-parameter-read",
        breaks="O5",
        text=f"Only the {_which} of a request's parameters is read.",
    )(_reads_parameter(_index))
