"""Legal ways to send a request: header fields, content codings and the path."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import requests

from v2_clients.plain.connection import Answer
from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.responses_read import Inference
from v2_clients.plain.task import Call, ClientError
from v2_conformance.protocol.names import HEADER_LENGTH, JSON_TYPE, OCTET_STREAM
from v2_mutants.changes import without
from v2_mutants.registry import Right, What, client_variant

_TYPES = "K17; RFC 9110, section 8.3.1: types are case-insensitive and may have parameters"
_OFFERS = "K9 K21; RFC 9110, section 12.5.3: a client offers what it can undo"
_GZIP = "K18; RFC 1952: what it decodes to counts, not how it was packed"
_FIELDS = "K1 K17 K18 K33; RFC 9110, section 5"
_OWN = "K9 K19 K33; RFC 9110, section 5.1: a client may send further fields"


def _typed(json: str, binary: str) -> What[str]:
    return lambda right, blobs: binary if blobs else json


def _offering(value: str) -> What[str]:
    return lambda right, call: call.response_compression or value


def _packed(pack: Callable[[bytes], bytes]) -> What[bytes]:
    return lambda right, coding, body: pack(body) if coding == "gzip" else right()


def _named(body: bytes) -> bytes:
    packed = io.BytesIO()
    with gzip.GzipFile("request.json", "wb", 1, packed, 1e9) as file:
        file.write(body)
    return packed.getvalue()


def _with_fields(more: Mapping[str, str]) -> What[Answer]:
    return lambda right, call, fields, body: right(fields={**more, **fields})


for _name, _sentence, _json, _binary in (
    (
        "json-type-with-charset",
        "The type of JSON has a charset.",
        f"{JSON_TYPE}; charset=utf-8",
        OCTET_STREAM,
    ),
    (
        "types-in-capitals",
        "Types are written in capitals.",
        JSON_TYPE.upper(),
        OCTET_STREAM.upper(),
    ),
):
    client_variant(_name, _TYPES, PlainClient.content_type)(
        _sentence,
        _typed(_json, _binary),
    )

for _name, _sentence, _value in (
    ("offers-all-codings", "Every coding that the client can undo is offered.", "gzip, deflate"),
    (
        "offers-codings-with-weights",
        "Codings have weights.",
        "deflate;q=0.5, gzip;q=1.0, identity; q=0.1",
    ),
    ("offers-nothing-else", "All other codings are excluded.", "identity, *;q=0"),
):
    client_variant(_name, _OFFERS, PlainClient.accept_encoding)(_sentence, _offering(_value))
client_variant("offers-nothing", _OFFERS, PlainClient.fields)(
    "Accept-Encoding is left to the library, which undoes what it offers.",
    lambda right, call, text, blobs, body: (
        right() if call.response_compression else without(right(), "Accept-Encoding")
    ),
)

for _name, _sentence, _pack in (
    ("gzip-stored", "A gzip body is stored, not deflated.", lambda body: gzip.compress(body, 0)),
    ("gzip-with-a-name", "A gzip body has a file's name and time.", _named),
    (
        "gzip-in-two-members",
        "A gzip body is a series of two members.",
        lambda body: gzip.compress(body[:9]) + gzip.compress(body[9:]),
    ),
):
    client_variant(_name, _GZIP, PlainClient.coded)(_sentence, _packed(_pack))
client_variant("deflate-stored", "K18; RFC 1950: any level", PlainClient.coded)(
    "A deflate body is stored.",
    lambda right, coding, body: zlib.compress(body, 0) if coding == "deflate" else right(),
)

client_variant(
    "field-names-in-small-letters", f"{_FIELDS}.1: names have any case", PlainClient.exchange
)(
    "Names of header fields are in lower case.",
    lambda right, call, fields, body: right(
        fields={name.lower(): value for name, value in fields.items()}
    ),
)
client_variant("fields-reversed", f"{_FIELDS}.3: order is not significant", PlainClient.exchange)(
    "Header fields are in reverse order.",
    lambda right, call, fields, body: right(fields=dict(reversed(list(fields.items())))),
)
for _name, _sentence, _more in (
    (
        "says-who-it-is",
        "A request says whose it is.",
        {"User-Agent": "c/1 (x; y)", "X-Client": "c"},
    ),
    (
        "accepts-types",
        "A request has Accept.",
        {"Accept": "application/json, application/octet-stream;q=0.9"},
    ),
    (
        "accepts-trailers",
        "A request offers to read trailers.",
        {"TE": "trailers", "Connection": "TE"},
    ),
    ("expects-continue", "A request expects 100 Continue.", {"Expect": "100-continue"}),
):
    client_variant(_name, _OWN, PlainClient.exchange)(_sentence, _with_fields(_more))


@client_variant(
    "always-says-the-length",
    "K1 K9; binary extension: without blobs it is the length of the whole body",
    PlainClient.exchange,
)
def _(right: Right[Answer], call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
    """A request without blobs has a header length, too."""
    return right(fields={HEADER_LENGTH: str(len(body)), **fields})


@client_variant(
    "encodes-as-the-caller-says",
    "K19; K19: the true coding is sent",
    PlainClient.infer,
)
def _(right: Right[Inference], call: Call) -> Inference:
    """A caller who passes a Content-Encoding gets a body in that coding."""
    coding = call.headers.get("Content-Encoding", call.request_compression)
    others = without(call.headers, "Content-Encoding")
    return right(replace(call, headers=others, request_compression=coding))


@client_variant(
    "framing-fields-ignored",
    "K19; K19: the client sends the true lengths, whatever the caller adds",
    PlainClient.with_callers,
)
def _(right: Right[JsonObject], call: Call, fields: JsonObject) -> JsonObject:
    """A framing field that the caller adds is dropped."""
    own = {"content-length", "content-encoding", "transfer-encoding", HEADER_LENGTH.lower()}
    others = {name: value for name, value in call.headers.items() if name.lower() not in own}
    return right(replace(call, headers=others))


@client_variant(
    "names-percent-encoded",
    "K16 K33 K35; RFC 3986, section 6.2.2.2: %69 is i",
    PlainClient.prepared,
)
def _(
    right: Right[requests.PreparedRequest], call: Call, fields: Mapping[str, str], body: bytes
) -> requests.PreparedRequest:
    """The first letter of the model's name is percent-encoded in the path."""
    request = right()
    start, models, name = (request.url or "").partition("/v2/models/")
    if name[:1].isalnum():
        request.url = f"{start}{models}%{ord(name[0]):02x}{name[1:]}"
    return request


@client_variant(
    "metadata-read-first",
    "K1 K2 K3 K14 K16 K22 K33 K35; base protocol, Model Metadata: all outputs have names there",
    PlainClient.document,
)
def _(right: Right[JsonObject], call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
    """What the metadata lacks is refused, and all of its outputs are listed if none is named."""
    client = right.client
    url = client.url + client.path(call).removesuffix("/infer")
    answer = client.session.get(url, timeout=client.time_limit())
    if answer.status_code != 200:
        raise ClientError(answer.text, answer.status_code)
    metadata = answer.json()
    inputs = {entry["name"]: entry for entry in metadata["inputs"]}
    outputs = [entry["name"] for entry in metadata["outputs"]]
    for tensor in call.inputs:
        declared = inputs.get(tensor.name, {"datatype": None, "shape": []})
        if (declared["datatype"], len(declared["shape"])) != (tensor.datatype, len(tensor.shape)):
            raise ClientError(f"the model has no such input: {tensor.name}")
    if any(output.name not in outputs for output in call.outputs or ()):
        raise ClientError("the model has no such output")
    return {"outputs": [{"name": name} for name in outputs], **right()}
