"""Variants of what responses say beside what they must say."""

from __future__ import annotations

from collections.abc import Sequence

from v2_conformance.protocol.datatypes import to_json
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestOutput
from v2_conformance.suite.models import ModelContract
from v2_mutants.changes import without
from v2_mutants.registry import Right, variant

_OPEN = "base protocol: the documents exclude no further members"
_OWN = "base protocol, Parameters: a server may have parameters of its own"
_OPTIONAL = "base protocol, Inference Response JSON Object: model_version is optional"
_NO_ORDER = "base protocol, Inference Response JSON Object: an order is not required"
_MADE_UP = "0f8fad5b-d9cb-469f-a165-70867728950e"
_NO_NAME = "docs/disputes.md, O20: the examples have none"


class ChangedDocument(Behaviour):
    """Changes the JSON of inference responses."""

    def response_document(
        self, model: ModelContract, inference: InferenceRequest, entries: list[JsonObject]
    ) -> JsonObject:
        return self.changed(super().response_document(model, inference, entries))

    def changed(self, document: JsonObject) -> JsonObject:
        """The document as it is sent."""
        raise NotImplementedError


@variant.several("unknown-members", _OPEN)
class _UnknownMembers(ChangedDocument):
    """Responses have members that no document knows, before and after the others."""

    def changed(self, document: JsonObject) -> JsonObject:
        more = {"data": [1], "raw_output_contents": [], "timing": {"ms": 1.5, "shape": None}}
        return {"binary_data_size": 3, **document, **more}

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        entry = super().response_output(tensor, binary)
        return {"index": 0, **entry, "contents": {"data": [1, 2]}, "quantization": None}


@variant.several("parameters-of-its-own", _OWN)
class _ParametersOfItsOwn(ChangedDocument):
    """Responses and outputs have parameters of the server's own, as MLServer sends them."""

    def changed(self, document: JsonObject) -> JsonObject:
        own = {"content_type": "np", "headers": None, "binary_data_output": True, "n": -1.5}
        return {"parameters": own, **document}

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        entry = super().response_output(tensor, binary)
        own = {"content_type": "np", "binary_data": binary}
        return entry | {"parameters": own | entry.get("parameters", {})}


@variant.several("empty-parameters", "base protocol, Parameters")
class _EmptyParameters(ChangedDocument):
    """Responses and JSON outputs have empty parameters."""

    def changed(self, document: JsonObject) -> JsonObject:
        return document | {"parameters": {}}

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        return {"parameters": {}} | super().response_output(tensor, binary)


@variant.several("nulls-for-nothing", "docs/disputes.md, O11 and O18")
class _NullsForNothing(ChangedDocument):
    """What a response does not have is null: parameters, version, id, data beside a size."""

    def changed(self, document: JsonObject) -> JsonObject:
        return {"parameters": None, "id": None} | document | {"model_version": None}

    def response_output(self, tensor: Tensor, binary: bool) -> JsonObject:
        entry = super().response_output(tensor, binary)
        return entry | ({"data": None} if binary else {"parameters": None})


variant("empty-data-beside-size", "docs/disputes.md, O11", Behaviour.response_output)(
    "A binary output has an empty `data`, as OpenVINO Model Server sends it.",
    lambda right, tensor, binary: right() | ({"data": []} if binary else {}),
)
variant("no-model-version", _OPTIONAL, Behaviour.response_document)(
    "Responses have no model_version.",
    lambda right, model, inference, entries: without(right(), "model_version"),
)
variant("id-made-up", "docs/disputes.md, O18", Behaviour.response_document)(
    "A response to a request without an id has one that the server made up.",
    lambda right, model, inference, entries: {"id": _MADE_UP} | right(),
)
variant("no-model-name", _NO_NAME, Behaviour.response_document)(
    "Responses have neither model_name nor model_version, as in the examples.",
    lambda right, model, inference, entries: without(right(), "model_name", "model_version"),
)


@variant("outputs-in-model-order", _NO_ORDER, Behaviour.response_order)
def _(
    right: Right[Sequence[RequestOutput]], model: ModelContract, outputs: Sequence[RequestOutput]
) -> Sequence[RequestOutput]:
    """Outputs come in the model's order, whatever order was requested."""
    names = [spec.name for spec in model.outputs]
    return sorted(outputs, key=lambda output: names.index(output.name))


variant("outputs-in-reverse", _NO_ORDER, Behaviour.response_order)(
    "Outputs come in the reverse of the requested order, and so do their blobs.",
    lambda right, model, outputs: right()[::-1],
)
variant("nested-data", "base protocol, Tensor Data: nested or flat", Behaviour.output_data)(
    "JSON data is nested as the shape says.",
    lambda right, tensor: to_json(tensor.datatype, tensor.shape, tensor.blob, nested=True),
)
