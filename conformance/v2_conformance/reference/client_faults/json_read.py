"""Faults of reading a response's JSON: what it may have and leave out (K11, K22, K23)."""

from __future__ import annotations

import json
import re

from v2_conformance.protocol.datatypes import DATATYPES, Shape
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.client.connection import Answer
from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.reference.client.requests_made import JsonObject
from v2_conformance.reference.client.responses_read import Blobs
from v2_conformance.reference.client.task import ClientError
from v2_conformance.reference.client_faults.registry import client_fault

_MEMBERS = {"model_name", "model_version", "id", "parameters", "outputs", "error"}
_OUTPUT_MEMBERS = {"name", "datatype", "shape", "parameters", "data"}

# --- parameters -------------------------------------------------------------------------------


@client_fault(
    "parameters-mean-binary",
    breaks="K11",
    text="An output with parameters has to have a binary_data_size among them.",
)
class _MeanBinary(PlainClient):
    def binary_size(self, entry: JsonObject) -> int | None:
        if entry.get("parameters"):
            entry["parameters"]["binary_data_size"]
        return super().binary_size(entry)


@client_fault(
    "empty-parameters-mean-binary",
    breaks="K11",
    text="An output whose parameters are empty has to have a binary_data_size.",
)
class _EmptyMeanBinary(PlainClient):
    def binary_size(self, entry: JsonObject) -> int | None:
        if entry.get("parameters") == {}:
            raise KeyError("binary_data_size")
        return super().binary_size(entry)


@client_fault(
    "parameters-only-size", breaks="K11", text="Of several parameters of an output none is read."
)
class _OnlySize(PlainClient):
    def binary_size(self, entry: JsonObject) -> int | None:
        return super().binary_size(entry) if len(entry.get("parameters", ())) == 1 else None


@client_fault(
    "parameters-unknown-refused",
    breaks="K11",
    text="A parameter of an output that the client does not know is an error.",
)
class _UnknownRefused(PlainClient):
    def binary_size(self, entry: JsonObject) -> int | None:
        if set(entry.get("parameters", ())) - {"binary_data_size"}:
            raise ClientError("an output has an unknown parameter")
        return super().binary_size(entry)


@client_fault(
    "parameters-all-integers",
    breaks="K11",
    text="Every parameter of an output has to be an integer.",
)
class _AllIntegers(PlainClient):
    def binary_size(self, entry: JsonObject) -> int | None:
        for value in entry.get("parameters", {}).values():
            int(value)
        return super().binary_size(entry)


# --- members that may be left out -------------------------------------------------------------


class _Requires(PlainClient):
    """A client that wants a member of the response."""

    required = ""

    def check_document(self, answer: Answer, document: JsonObject) -> None:
        super().check_document(answer, document)
        document[self.required]


@client_fault(
    "model-name-required", breaks="K22", text="A response without model_name raises KeyError."
)
class _ModelName(_Requires):
    required = "model_name"


@client_fault(
    "model-version-required",
    breaks="K22",
    text="A response without model_version raises KeyError.",
)
class _ModelVersion(_Requires):
    required = "model_version"


@client_fault("id-required", breaks="K22", text="A response without id raises KeyError.")
class _Id(_Requires):
    required = "id"


@client_fault(
    "output-parameters-required",
    breaks="K22",
    text="An output without parameters raises KeyError.",
)
class _OutputParameters(PlainClient):
    def binary_size(self, entry: JsonObject) -> int | None:
        entry["parameters"]
        return super().binary_size(entry)


# --- members that nobody knows, and how the JSON is written -----------------------------------


@client_fault(
    "unknown-members-refused",
    breaks="K23",
    text="A member of the response that the client does not know is an error.",
)
class _MembersRefused(PlainClient):
    def check_document(self, answer: Answer, document: JsonObject) -> None:
        super().check_document(answer, document)
        if set(document) - _MEMBERS:
            raise ClientError("the response has an unknown member")


@client_fault(
    "unknown-output-members-refused",
    breaks="K23",
    text="A member of an output that the client does not know is an error.",
)
class _OutputMembersRefused(PlainClient):
    def output(self, entry: JsonObject, blobs: Blobs) -> Tensor:
        if set(entry) - _OUTPUT_MEMBERS:
            raise ClientError("an output has an unknown member")
        return super().output(entry, blobs)


@client_fault(
    "json-with-white-space-refused",
    breaks="K23",
    text="The JSON is searched for text that has no white space in it.",
)
class _WhiteSpaceRefused(PlainClient):
    def parse(self, text: bytes) -> JsonObject:
        if b'"outputs":[' not in text:
            raise ClientError("the response has no outputs")
        return super().parse(text)


@client_fault(
    "json-beginning-with-white-space-refused",
    breaks="K23",
    text="A JSON object has to begin with its brace.",
)
class _MustBeginWithBrace(PlainClient):
    def parse(self, text: bytes) -> JsonObject:
        if not text.startswith(b"{"):
            raise ClientError("the response is not JSON")
        return super().parse(text)


@client_fault(
    "json-escapes-not-read",
    breaks="K23",
    text="Escapes in the JSON's strings are left as they are.",
)
class _EscapesNotRead(PlainClient):
    def parse(self, text: bytes) -> JsonObject:
        return super().parse(re.sub(rb"\\u", rb"\\\\u", text))


@client_fault("json-read-as-latin-1", breaks="K23", text="The JSON is read as Latin-1.")
class _ReadAsLatin1(PlainClient):
    def parse(self, text: bytes) -> JsonObject:
        document = json.loads(text.decode("latin-1"))
        return super().parse(json.dumps(document).encode())


@client_fault(
    "json-members-in-order",
    breaks="K23",
    text="An output has to begin with its name, as those of one server do.",
)
class _InOrder(PlainClient):
    def output(self, entry: JsonObject, blobs: Blobs) -> Tensor:
        if next(iter(entry), None) != "name":
            raise ClientError("an output does not begin with its name")
        return super().output(entry, blobs)


@client_fault(
    "json-numbers-by-their-spelling",
    breaks="K23",
    text="A float that is written without a point is an error.",
)
class _BySpelling(PlainClient):
    def json_output(self, name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
        if DATATYPES[datatype].kind == "float" and type(entry["data"][0]) is int:
            raise ClientError("expected a float")
        return super().json_output(name, datatype, shape, entry)


@client_fault(
    "json-nested-data-refused",
    breaks="K23",
    text="JSON data has to be flat, not nested as the shape.",
)
class _NestedRefused(PlainClient):
    def json_output(self, name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
        if any(isinstance(item, list) for item in entry["data"]):
            raise ClientError("expected flat data")
        return super().json_output(name, datatype, shape, entry)
