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
_SIZE = {"binary_data_size"}
_MEMBERS = {"model_name", "model_version", "id", "parameters", "outputs", "error"}
_OUTPUT_MEMBERS = {"name", "datatype", "shape", "parameters", "data"}


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
client_fault("parameters-only-size", "K11", PlainClient.binary_size)(
    "Of several parameters of an output none is read.",
    lambda right, entry: right() if len(entry.get("parameters", ())) == 1 else None,
)
client_fault("parameters-unknown-refused", "K11", PlainClient.binary_size)(
    "A parameter of an output that the client does not know is an error.",
    lambda right, entry: fail(_UNKNOWN) if {*entry.get("parameters", ())} - _SIZE else right(),
)


@client_fault("parameters-all-integers", "K11", PlainClient.binary_size)
def _(right: Right[int | None], entry: JsonObject) -> int | None:
    """Every parameter of an output has to be an integer."""
    for value in entry.get("parameters", {}).values():
        int(value)
    return right()


@client_fault("size-in-any-letter-case", "K11", PlainClient.binary_size)
def _(right: Right[int | None], entry: JsonObject) -> int | None:
    """The size of a blob is a parameter of its name in any letter case."""
    named = {name.lower(): value for name, value in entry.get("parameters", {}).items()}
    return right({"parameters": named})


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
client_fault("model-version-required", "K22", PlainClient.check_document)(
    "A response without model_version raises KeyError.",
    requires("model_version"),
)
client_fault("id-required", "K22", PlainClient.check_document)(
    "A response without id raises KeyError.",
    requires("id"),
)
client_fault("output-parameters-required", "K22", PlainClient.binary_size)(
    "An output without parameters raises KeyError.",
    lambda right, entry: right({"parameters": entry["parameters"]}),
)
client_fault("unknown-members-refused", "K23", PlainClient.check_document)(
    "A member of the response that the client does not know is an error.",
    lambda right, answer, document: fail(_UNKNOWN) if set(document) - _MEMBERS else right(),
)
client_fault("unknown-output-members-refused", "K23", PlainClient.output)(
    "A member of an output that the client does not know is an error.",
    lambda right, entry, blobs: fail(_UNKNOWN) if set(entry) - _OUTPUT_MEMBERS else right(),
)
client_fault("json-with-white-space-refused", "K23", PlainClient.parse)(
    "The JSON is searched for text that has no white space in it.",
    lambda right, text: right() if b'"outputs":[' in text else fail("no outputs"),
)
client_fault("json-beginning-with-white-space-refused", "K23", PlainClient.parse)(
    "A JSON object has to begin with its brace.",
    lambda right, text: right() if text.startswith(b"{") else fail("the response is not JSON"),
)
client_fault("json-escapes-not-read", "K23", PlainClient.parse)(
    "Escapes in the JSON's strings are left as they are.",
    lambda right, text: right(re.sub(rb"\\u", rb"\\\\u", text)),
)
for _name, _what, _escape in (
    ("beyond-latin-1", "of characters beyond U+00FF", rb"\\u(?!00)"),
    ("of-pairs", "of characters beyond U+FFFF", rb"\\u[dD][89abAB]"),
    ("of-capitals", "with capital letters", rb"\\u[0-9a-fA-F]{,3}[A-F]"),
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


@client_fault("json-nested-data-of-numbers-alone", "K23", PlainClient.json_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
    """Only numbers may be nested."""
    nested = any(isinstance(item, list) for item in entry["data"])
    numbers = DATATYPES[datatype].kind in ("int", "float")
    return fail("expected flat data") if nested and not numbers else right()


@client_fault("json-searched-for-the-size", "K23", PlainClient.parse)
def _(right: Right[JsonObject], text: bytes) -> JsonObject:
    """Each size is the next one in the text of the JSON."""
    document = right()
    sizes = iter(re.findall(rb'"binary_data_size":\s*(\d+)', text))
    for output in document.get("outputs", ()):
        if "binary_data_size" in output.get("parameters", {}):
            output["parameters"]["binary_data_size"] = int(next(sizes))
    return document
