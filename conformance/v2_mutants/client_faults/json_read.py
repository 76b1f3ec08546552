"""Faults of reading a response's JSON: what it may have and leave out (K11, K22, K23)."""

from __future__ import annotations

import json
import re

from v2_clients.plain.connection import Answer
from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_conformance.protocol.datatypes import DATATYPES, Shape
from v2_conformance.protocol.message import Tensor
from v2_mutants.changes import fail
from v2_mutants.registry import Right, What, client_fault

_NO_SIZE, _UNKNOWN = "an output has no binary_data_size", "the response has an unknown member"
_MEMBERS = {"model_name", "model_version", "id", "parameters", "outputs", "error"}


def refused_if_it_has(pattern: bytes) -> What[JsonObject]:
    """Return what does not read a response's JSON that has this."""
    return lambda right, text: fail("not JSON") if re.search(pattern, text) else right()


client_fault("parameters-mean-binary", "K11", PlainClient.binary_size)(
    "An output with parameters has to have a binary_data_size among them.",
    lambda right, entry: fail(_NO_SIZE) if entry.get("parameters") and right() is None else right(),
)
client_fault("empty-parameters-mean-binary", "K11", PlainClient.binary_size)(
    "An output whose parameters are empty has to have a binary_data_size.",
    lambda right, entry: fail(_NO_SIZE) if entry.get("parameters") == {} else right(),
)


def requires(member: str) -> What[None]:
    """Return what raises KeyError for a response without a member."""

    def what(right: Right[None], answer: Answer, document: JsonObject) -> None:
        right()
        document[member]

    return what


client_fault("model-name-required", "K22", PlainClient.check_document)(
    "A response without model_name raises KeyError.",
    requires("model_name"),
)
client_fault("id-required", "K22", PlainClient.check_document)(
    "A response without id raises KeyError.",
    requires("id"),
)
client_fault("unknown-members-refused", "K23", PlainClient.check_document)(
    "A member of the response that the client does not know is an error.",
    lambda right, answer, document: fail(_UNKNOWN) if set(document) - _MEMBERS else right(),
)
client_fault("json-with-white-space-refused", "K23", PlainClient.parse)(
    "The JSON is searched for text that has no white space in it.",
    lambda right, text: right() if b'"outputs":[' in text else fail("no outputs"),
)
client_fault("json-escapes-not-read", "K23", PlainClient.parse)(
    "Escapes in the JSON's strings are left as they are.",
    lambda right, text: right(re.sub(rb"\\u", rb"\\\\u", text)),
)
for _name, _what, _escape in (
    ("of-pairs", "of characters beyond U+FFFF", rb"\\u[dD][89abAB]"),
    ("of-slashes", "of a slash", rb"\\/"),
):
    client_fault(f"json-escapes-{_name}-refused", "K23", PlainClient.parse)(
        f"An escape {_what} in a JSON string is an error.", refused_if_it_has(_escape)
    )
client_fault("json-read-as-latin-1", "K23", PlainClient.parse)(
    "The JSON is read as Latin-1.",
    lambda right, text: right(json.dumps(json.loads(text.decode("latin-1"))).encode()),
)
client_fault("json-members-in-order", "K23", PlainClient.output)(
    "An output has to begin with its name, as those of one server do.",
    lambda right, entry, blobs: right() if next(iter(entry), "") == "name" else fail("no name"),
)


@client_fault("json-numbers-by-their-spelling", "K23", PlainClient.json_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
    """A float that is written without a point is an error."""
    whole = DATATYPES[datatype].kind == "float" and type(entry["data"][0]) is int
    return fail("expected a float") if whole else right()


@client_fault("json-nested-data-refused", "K23", PlainClient.json_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
    """JSON data has to be flat, not nested as the shape."""
    nested = any(isinstance(item, list) for item in entry["data"])
    return fail("expected flat data") if nested else right()
