"""Variants of JSON: how it is written, what it has beside what it must, numbers, metadata."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from math import isfinite
from typing import Any

import numpy as np
from msgspec import structs

from v2_conformance.protocol.datatypes import (
    DATATYPES,
    Buffer,
    ElementError,
    decode_bytes,
    to_array,
    to_json,
    to_values,
)
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.request_reader import (
    InferenceRequest,
    JsonObject,
    RequestInput,
    RequestOutput,
)
from v2_conformance.suite.models import ModelContract
from v2_mutants.changes import without
from v2_mutants.registry import Right, What, variant

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


@variant("json-indented", "RFC 8259, section 2", Behavior.json_text)
def _(right: Right[bytes], value: object) -> bytes:
    """JSON is indented, with white space around every colon and comma."""
    separators = (" \t,", "  :\r\n")
    text = json.dumps(value, indent=3, ensure_ascii=False, separators=separators)
    return text.encode()


@variant("json-in-ascii", "RFC 8259, section 7", Behavior.json_text)
def _(right: Right[bytes], value: object) -> bytes:
    """Characters other than ASCII are escaped in JSON, and so is the solidus."""
    text = right().decode()
    compact = json.dumps(json.loads(text), separators=(",", ":")) if not text.isascii() else text
    return compact.replace("/", r"\/").encode()


variant("json-all-escaped", "RFC 8259, section 7", Behavior.json_text)(
    "Every character of every string is escaped in JSON, names of members too.",
    lambda right, value: _STRING.sub(_escaped, right().decode()).encode(),
)


def _escaped(string: re.Match[str]) -> str:
    units = json.loads(string[0]).encode("utf-16-be")
    codes = (int.from_bytes(units[n : n + 2], "big") for n in range(0, len(units), 2))
    return '"' + "".join(f"\\u{code:04X}" for code in codes) + '"'


variant("json-members-reversed", "RFC 8259, section 4: an object is unordered", Behavior.json_text)(
    "The members of every JSON object are in reverse order.",
    lambda right, value: right(_reversed(value)),
)


def _reversed(value: object) -> object:
    if isinstance(value, dict):
        return {name: _reversed(value[name]) for name in reversed(value)}
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        return [_reversed(item) for item in value]
    return value


_OPEN = "base protocol: the documents exclude no further members"
_OWN = "base protocol, Parameters: a server may have parameters of its own"
_OPTIONAL = "base protocol, Inference Response JSON Object: model_version is optional"
_NO_ORDER = "base protocol, Inference Response JSON Object: an order is not required"
_MADE_UP = "0f8fad5b-d9cb-469f-a165-70867728950e"
_NO_NAME = "docs/disputes.md, O20: the examples have none"


class ChangedDocument(Behavior):
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


variant("empty-data-beside-size", "docs/disputes.md, O11", Behavior.response_output)(
    "A binary output has an empty `data`, as OpenVINO Model Server sends it.",
    lambda right, tensor, binary: right() | ({"data": []} if binary else {}),
)
variant("no-model-version", _OPTIONAL, Behavior.response_document)(
    "Responses have no model_version.",
    lambda right, model, inference, entries: without(right(), "model_version"),
)
variant("id-made-up", "docs/disputes.md, O18", Behavior.response_document)(
    "A response to a request without an id has one that the server made up.",
    lambda right, model, inference, entries: {"id": _MADE_UP} | right(),
)
variant("no-model-name", _NO_NAME, Behavior.response_document)(
    "Responses have neither model_name nor model_version, as in the examples.",
    lambda right, model, inference, entries: without(right(), "model_name", "model_version"),
)


@variant("outputs-in-model-order", _NO_ORDER, Behavior.response_order)
def _(
    right: Right[Sequence[RequestOutput]], model: ModelContract, outputs: Sequence[RequestOutput]
) -> Sequence[RequestOutput]:
    """Outputs come in the model's order, whatever order was requested."""
    names = [spec.name for spec in model.outputs]
    return sorted(outputs, key=lambda output: names.index(output.name))


variant("outputs-in-reverse", _NO_ORDER, Behavior.response_order)(
    "Outputs come in the reverse of the requested order, and so do their blobs.",
    lambda right, model, outputs: right()[::-1],
)
variant("nested-data", "base protocol, Tensor Data: nested or flat", Behavior.output_data)(
    "JSON data is nested as the shape says.",
    lambda right, tensor: to_json(tensor.datatype, tensor.shape, tensor.blob, nested=True),
)

_DATA = re.compile(r'"data":\[[^\]"]*\]')  # without strings
_NUMBER = re.compile(r"(?<![\d.eE+-])-?\d+(\.\d+)?(?=[,\]])")
_DIGITS = "docs/disputes.md, D11: the number of digits is not said"
_NO_NUMBER = "docs/disputes.md, P9: values that JSON cannot write"


def respelled(number: Callable[[re.Match[str]], str]) -> What[bytes]:
    """Return what writes the numbers of JSON data in other words: group 1 is the fraction."""

    def what(right: Right[bytes], document: JsonObject) -> bytes:
        return _DATA.sub(lambda data: _NUMBER.sub(number, data[0]), right().decode()).encode()

    return what


def non_finite(words: Callable[[float], object]) -> What[Any]:
    """Return what has words for floats that JSON has no number for."""

    def what(right: Right[Any], tensor: Tensor) -> Any:
        if DATATYPES[tensor.datatype].kind != "float":
            return right()
        values = map(float, to_values(tensor.datatype, tensor.blob))
        return [value if isfinite(value) else words(value) for value in values]

    return what


def floats(change: Callable[[float], float], *datatypes: str) -> What[Any]:
    """Return what writes the floats of some datatypes otherwise."""

    def what(right: Right[Any], tensor: Tensor) -> Any:
        data = right()
        return [*map(change, data)] if tensor.datatype in datatypes else data

    return what


variant("numbers-with-fraction", "RFC 8259, section 6", Behavior.dump_document)(
    "Integers in JSON data have a fraction, whole floats have none.",
    respelled(lambda match: match[0].removesuffix(".0") if match[1] else f"{match[0]}.0"),
)
variant("numbers-with-exponent", "RFC 8259, section 6", Behavior.dump_document)(
    "Numbers in JSON data have an exponent, as in 1.5E+2 for 150.",
    respelled(lambda match: f"{Decimal(match[0]):E}"),
)
variant("shortest-floats", _DIGITS, Behavior.output_data)(
    "An FP32 in JSON has the fewest digits that make the same FP32.",
    floats(lambda value: float(str(np.float32(value))), "FP32"),
)
variant("seven-digit-floats", _DIGITS, Behavior.output_data)(
    "FP32 in JSON have seven significant digits.",
    floats(lambda value: float(f"{value:.7g}"), "FP32"),
)
variant("fifteen-digit-floats", _DIGITS, Behavior.output_data)(
    "Floats in JSON have fifteen significant digits, as Perl writes them.",
    floats(lambda value: float(f"{value:.15g}"), "FP64"),
)


@variant.several("no-negative-zero-in-json", "docs/disputes.md, D11")
class _NoNegativeZeroInJson(Behavior):
    """A zero in JSON has no sign, in requests and in responses, as JavaScript writes it."""

    def json_blob(self, entry: RequestInput) -> Buffer:
        return _unsigned_zeros(entry.spec.datatype, super().json_blob(entry))

    def output_data(self, tensor: Tensor) -> Any:
        blob = _unsigned_zeros(tensor.datatype, tensor.blob)
        return super().output_data(structs.replace(tensor, blob=blob))


def _unsigned_zeros(datatype: str, blob: Buffer) -> Buffer:
    if DATATYPES[datatype].kind != "float" or datatype == "BF16":
        return blob
    return (to_array(datatype, blob) + 0.0).astype(DATATYPES[datatype].numpy).tobytes()


@variant("base64-for-other-bytes", "docs/disputes.md, B14", Behavior.output_data)
def _(right: Right[Any], tensor: Tensor) -> Any:
    """BYTES elements that are not UTF-8 come in base64, in JSON that is valid."""
    try:
        return right()
    except ElementError:
        if tensor.datatype != "BYTES":
            raise
        return [base64.b64encode(element).decode() for element in decode_bytes(tensor.blob)]


variant("nan-as-null", _NO_NUMBER, Behavior.output_data)(
    "NaN and infinities are null in JSON.",
    non_finite(lambda value: None),
)
variant("nan-as-string", _NO_NUMBER, Behavior.output_data)(
    "NaN and infinities are strings in JSON, as protobuf writes them.",
    non_finite(json.dumps),
)


@variant.several(
    "metadata-with-more",
    "base protocol, Server and Model Metadata: further members are not excluded",
)
class _MetadataWithMore(Behavior):
    """Metadata has further extensions and members, and no model versions, which are optional."""

    def extensions(self) -> list[str]:
        return ["classification", "", *super().extensions(), "statistics", "möglich"]

    def server_metadata(self, request: Request) -> Response:
        document = {"name": "a server", "version": "", "extensions": self.extensions()}
        return self.json_response({"live": True, **document, "parameters": {"x": [None]}})

    def model_metadata(self, model: ModelContract) -> Response:
        inputs = [{"extra": 1, **spec.metadata(), "parameters": {}} for spec in model.inputs]
        outputs = [{**spec.metadata(), "tags": None} for spec in model.outputs]
        return self.json_response(
            {"inputs": inputs, "outputs": outputs, "name": model.model, "platform": "", "more": {}}
        )


@variant(
    "metadata-without-tensors",
    "MLServer: a model without a schema has empty inputs and outputs",
    Behavior.model_metadata,
)
def _(right: Right[Response], model: ModelContract) -> Response:
    """The metadata of a model lists no inputs and no outputs."""
    return right.server.json_response(
        {"name": model.model, "versions": [], "platform": "", "inputs": [], "outputs": []}
    )
