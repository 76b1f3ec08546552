"""Variants of what responses say beside what they must say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from v2_conformance.protocol.datatypes import to_json
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestOutput
from v2_conformance.reference.variants.registry import variant
from v2_conformance.suite.models import ModelContract

_OPEN = "base protocol: the documents exclude no further members"
_PARAMETERS = "base protocol, Parameters: a server may have parameters of its own"


class ChangedDocument(Behaviour):
    """Changes the JSON of inference responses."""

    def response_document(
        self, model: ModelContract, inference: InferenceRequest, entries: list[JsonObject]
    ) -> JsonObject:
        return self.changed(super().response_document(model, inference, entries))

    def changed(self, document: JsonObject) -> JsonObject:
        """The document as it is sent."""
        return document


@variant(
    "unknown-members",
    allowed_by=_OPEN,
    text="Responses have members that no document knows, before and after the others.",
)
class _UnknownMembers(ChangedDocument):
    def changed(self, document: JsonObject) -> JsonObject:
        more = {"data": [1], "raw_output_contents": [], "timing": {"ms": 1.5, "shape": None}}
        return {"binary_data_size": 3, **document, **more}

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        entry = super().response_output(tensor, binary)
        return {"index": 0, **entry, "contents": {"data": [1, 2]}, "quantization": None}


@variant(
    "parameters-of-its-own",
    allowed_by=_PARAMETERS,
    text="Responses and outputs have parameters of the server's own, as MLServer sends them.",
)
class _ParametersOfItsOwn(ChangedDocument):
    def changed(self, document: JsonObject) -> JsonObject:
        own = {"content_type": "np", "headers": None, "binary_data_output": True, "n": -1.5}
        return {"parameters": own, **document}

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        entry = super().response_output(tensor, binary)
        own = {"content_type": "np", "binary_data": binary}
        return entry | {"parameters": own | entry.get("parameters", {})}


@variant(
    "empty-parameters",
    allowed_by="base protocol, Parameters",
    text="Responses and JSON outputs have empty parameters.",
)
class _EmptyParameters(ChangedDocument):
    def changed(self, document: JsonObject) -> JsonObject:
        return document | {"parameters": {}}

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        return {"parameters": {}} | super().response_output(tensor, binary)


@variant(
    "nulls-for-nothing",
    allowed_by="docs/disputes.md, O11 and O18",
    text="What a response does not have is null: parameters, version, id, data beside a size.",
)
class _NullsForNothing(ChangedDocument):
    def changed(self, document: JsonObject) -> JsonObject:
        return {"parameters": None, "id": None} | document | {"model_version": None}

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        entry = super().response_output(tensor, binary)
        return entry | ({"data": None} if binary else {"parameters": None})


@variant(
    "empty-data-beside-size",
    allowed_by="docs/disputes.md, O11",
    text="A binary output has an empty `data`, as OpenVINO Model Server sends it.",
)
class _EmptyDataBesideSize(Behaviour):
    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        entry = super().response_output(tensor, binary)
        return entry | {"data": []} if binary else entry


@variant(
    "no-model-version",
    allowed_by="base protocol, Inference Response JSON Object: model_version is optional",
    text="Responses have no model_version.",
)
class _NoModelVersion(ChangedDocument):
    def changed(self, document: JsonObject) -> JsonObject:
        return {name: document[name] for name in document if name != "model_version"}


@variant(
    "id-made-up",
    allowed_by="docs/disputes.md, O18",
    text="A response to a request without an id has one that the server made up.",
)
class _IdMadeUp(ChangedDocument):
    def changed(self, document: JsonObject) -> JsonObject:
        return {"id": "0f8fad5b-d9cb-469f-a165-70867728950e"} | document


@variant(
    "no-model-name",
    allowed_by="docs/disputes.md, O20: the examples have none",
    text="Responses have neither model_name nor model_version, as in the examples.",
)
class _NoModelName(ChangedDocument):
    def changed(self, document: JsonObject) -> JsonObject:
        return {name: document[name] for name in document if not name.startswith("model_")}


@variant(
    "outputs-in-model-order",
    allowed_by="base protocol, Inference Response JSON Object: an order is not required",
    text="Outputs come in the model's order, whatever order was requested.",
)
class _OutputsInModelOrder(Behaviour):
    def response_order(
        self, model: ModelContract, outputs: Sequence[RequestOutput]
    ) -> Sequence[RequestOutput]:
        names = [spec.name for spec in model.outputs]
        return sorted(outputs, key=lambda output: names.index(output.name))


@variant(
    "outputs-in-reverse",
    allowed_by="base protocol, Inference Response JSON Object: an order is not required",
    text="Outputs come in the reverse of the requested order, and so do their blobs.",
)
class _OutputsInReverse(Behaviour):
    def response_order(
        self, model: ModelContract, outputs: Sequence[RequestOutput]
    ) -> Sequence[RequestOutput]:
        return super().response_order(model, outputs)[::-1]


@variant(
    "nested-data",
    allowed_by="base protocol, Tensor Data: nested or flat",
    text="JSON data is nested as the shape says.",
)
class _NestedData(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        return to_json(tensor.datatype, tensor.shape, tensor.blob, nested=True)
