"""Faults of what a client sends beside its tensors: fields, ids and parameters (K9, K16 to K19,
K35)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import requests

from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.responses_read import Inference
from v2_clients.plain.task import Call, CallerInput, ClientError
from v2_conformance.protocol.names import HEADER_LENGTH, JSON_TYPE, OCTET_STREAM
from v2_mutants.changes import without
from v2_mutants.registry import Right, What, client_fault


@client_fault("callers-headers-changed", "K9", PlainClient.with_callers)
def _(right: Right[JsonObject], call: Call, fields: JsonObject) -> JsonObject:
    """The client writes its own fields into the caller's dictionary."""
    merged = right()
    call.headers.update(fields)
    return merged


@client_fault("callers-headers-emptied", "K9", PlainClient.with_callers)
def _(right: Right[JsonObject], call: Call, fields: JsonObject) -> JsonObject:
    """The client takes the fields that it knows out of the caller's dictionary."""
    merged = right()
    call.headers.clear()
    return merged


@client_fault("header-length-stays", "K9", PlainClient.fields)
def _(
    right: Right[JsonObject], call: Call, text: bytes, blobs: Sequence[bytes], body: bytes
) -> JsonObject:
    """The header length of a request is sent with the next one, which has no blobs."""
    length = right.state["length"] = right().get(HEADER_LENGTH) or right.state.get("length")
    return {**right(), HEADER_LENGTH: length} if length else right()


@client_fault("callers-headers-stay", "K9", PlainClient.with_callers)
def _(right: Right[JsonObject], call: Call, fields: JsonObject) -> JsonObject:
    """The fields that the caller gave for a request are sent with the next one, too."""
    right.client.session.headers.update(call.headers)
    return right()


@client_fault("content-encoding-stays", "K9", PlainClient.content_encoding)
def _(right: Right[str | None], call: Call) -> str | None:
    """The Content-Encoding of a request is sent with the next one, which is not encoded."""
    coding: str | None = right() or right.state.get("coding")
    right.state["coding"] = coding
    return coding


client_fault("content-type-missing", "K17", PlainClient.content_type)(
    "A request has no Content-Type.",
    lambda right, blobs: None,
)
client_fault("content-type-missing-for-json", "K17", PlainClient.content_type)(
    "A request without blobs has no Content-Type.",
    lambda right, blobs: right() if blobs else None,
)
client_fault("content-type-json-with-blobs", "K17", PlainClient.content_type)(
    "A request with blobs is typed as JSON.",
    lambda right, blobs: JSON_TYPE,
)
client_fault("content-type-binary-for-json", "K17", PlainClient.content_type)(
    "A request that is JSON is typed as binary.",
    lambda right, blobs: OCTET_STREAM,
)
client_fault("content-type-of-a-form", "K17", PlainClient.content_type)(
    "A request is typed as a form of a web page.",
    lambda right, blobs: "application/x-www-form-urlencoded",
)


class _CallersWin(PlainClient):
    """A client in which one field of the caller's, if it is there, is sent as it is."""

    won = ""

    def with_callers(self, call: Call, fields: JsonObject) -> JsonObject:
        others = without(call.headers, *self._won(call))
        return super().with_callers(replace(call, headers=others), fields)

    def prepared(
        self, call: Call, fields: Mapping[str, str], body: bytes
    ) -> requests.PreparedRequest:
        prepared = super().prepared(call, fields, body)
        prepared.headers.update(self._won(call))
        return prepared

    def _won(self, call: Call) -> dict[str, str]:
        return {n: value for n, value in call.headers.items() if n.lower() == self.won.lower()}


client_fault("callers-headers-lost", "K19", PlainClient.with_callers)(
    "The caller's own header fields are not sent.",
    lambda right, call, fields: right() and fields,
)


@client_fault.several("callers-header-length-wins", "K19")
class _HeaderLengthWins(_CallersWin):
    """The caller's header length is sent in place of the true one."""

    won = HEADER_LENGTH


@client_fault.several("callers-content-length-wins", "K19")
class _ContentLengthWins(_CallersWin):
    """The caller's Content-Length is sent in place of the true one."""

    won = "Content-Length"


@client_fault.several("callers-transfer-encoding-sent", "K19")
class _TransferEncodingSent(_CallersWin):
    """The caller's Transfer-Encoding is sent with a body that is not in chunks."""

    won = "Transfer-Encoding"


@client_fault.several("callers-content-encoding-sent", "K19")
class _ContentEncodingSent(_CallersWin):
    """The caller's Content-Encoding is sent with a body that has none."""

    won = "Content-Encoding"


def _stays(member: str, of: Callable[[Call], object] = lambda call: None) -> What[Inference]:
    """A client that sends what an earlier caller said if this one says nothing, for each `of`."""

    def what(right: Right[Inference], call: Call) -> Inference:
        said = getattr(call, member)
        if said not in (None, {}):
            right.state[of(call)] = said
        return right(replace(call, **{member: right.state.get(of(call), said)}))

    return what


for _name, _text, _member in (
    ("id-stays", "The id of a request is sent with those after it that have none.", "id"),
    ("version-stays", "A version is asked for again if the caller names none.", "version"),
    ("parameters-stay", "Request parameters are sent with later requests, too.", "parameters"),
    ("outputs-stay", "The outputs that were asked for are asked for again.", "outputs"),
    ("form-of-outputs-stays", "The form of all outputs is asked for again.", "binary_data_output"),
):
    client_fault(_name, "K9", PlainClient.inferred)(_text, _stays(_member))
client_fault("outputs-kept-for-each-model", "K9", PlainClient.inferred)(
    "The outputs that were asked of a model are asked for again.",
    _stays("outputs", lambda call: call.model),
)


@client_fault("parameters-of-inputs-stay", "K9", PlainClient.input_object)
def _(right: Right[JsonObject], tensor: CallerInput, blob: bytes | None) -> JsonObject:
    """The parameters of an input are sent again with later ones of its name."""
    kept = right.state.setdefault(tensor.name, {})
    kept.update(tensor.parameters)
    return right(replace(tensor, parameters={**kept}))


@client_fault.several("names-no-outputs-after-an-error", "K16")
class _AfterAnError(PlainClient):
    """After an error, no request names outputs and forms any more."""

    _failed = False

    def less(self, call: Call) -> Call:
        """What is left of what a caller says."""
        return replace(call, outputs=None)

    def inferred(self, call: Call) -> Inference:
        try:
            return super().inferred(self.less(call) if self._failed else call)
        except ClientError:
            self._failed = True
            raise


def _sends(change: Callable[[Call], Call]) -> What[Inference]:
    """A client that sends less than its caller gave it."""
    return lambda right, call: right(change(call))


for _name, _requirement, _text, _less in (
    ("callers-fields-cut-at-64", "K19", "A field of the caller's is cut after 64 characters.",
     lambda call: replace(call, headers={name: v[:64] for name, v in call.headers.items()})),
    ("parameters-of-later-inputs-lost", "K19", "Only the first input's parameters are sent.",
     lambda call: replace(call, inputs=(
         *call.inputs[:1], *(replace(one, parameters={}) for one in call.inputs[1:])))),
    ("id-cut-at-32", "K35", "An id is cut after 32 characters.",
     lambda call: replace(call, id=call.id and call.id[:32])),
    ("id-cut-at-64", "K35", "An id is cut after 64 characters.",
     lambda call: replace(call, id=call.id and call.id[:64])),
    ("version-lost-beside-an-id", "K35", "A request with an id names no version.",
     lambda call: replace(call, version=None) if call.id else call),
    ("codings-lost-beside-fields", "K35", "A request with fields of the caller's has no codings.",
     lambda call: replace(call, request_compression=None, response_compression=None)
     if call.headers else call),
):  # fmt: skip
    client_fault(_name, _requirement, PlainClient.inferred)(_text, _sends(_less))


def _changes(of: type, change: Callable[[Any], Any]) -> What[JsonObject]:
    """A client that changes values of one type among the caller's own parameters."""

    def what(
        right: Right[JsonObject], own: JsonObject, reserved: JsonObject, place: str
    ) -> JsonObject:
        return right({n: change(v) if type(v) is of else v for n, v in own.items()})

    return what


for _name, _text, _type, _change in (
    ("in-32-bits", "Integers among the caller's parameters have 32 bits.", int,
     lambda value: (value + 2**31) % 2**32 - 2**31),
    ("without-signs", "Integers among the caller's parameters have no sign.", int, abs),
    ("as-words", "The caller's parameters true and false are sent for these words.", str,
     lambda value: {"true": True, "false": False}.get(value, value)),
    ("as-digits", "The caller's parameters of digits are sent as numbers.", str,
     lambda value: int(value) if value.isdigit() else value),
    ("in-ascii", "Question marks replace what is not ASCII in the caller's parameters.", str,
     lambda value: value.encode("ascii", "replace").decode()),
):  # fmt: skip
    client_fault(f"parameters-{_name}", "K19", PlainClient.merged)(_text, _changes(_type, _change))


def _written(escaped: bytes, raw: bytes) -> What[bytes]:
    """A client that writes something other than its escape into the JSON."""
    return lambda right, document: right().replace(escaped, raw)


client_fault("parameters-that-are-nothing-lost", "K19", PlainClient.merged)(
    "Parameters of the caller's that are 0, false or empty are not sent.",
    lambda right, own, reserved, place: right({name: v for name, v in own.items() if v}),
)
for _name, _escaped, _raw in (("quotes", b'\\"', b'"'), ("tabs", b"\\t", b"\t")):
    client_fault(f"{_name}-not-escaped", "K35", PlainClient.dump)(
        f"{_name.capitalize()} in strings are written into the JSON as they are.",
        _written(_escaped, _raw),
    )
client_fault("parameters-of-json-inputs-lost", "K19", PlainClient.input_object)(
    "An input in JSON is sent without the caller's parameters.",
    lambda right, tensor, blob: right(replace(tensor, parameters={}) if blob is None else tensor),
)
client_fault("parameters-of-outputs-without-a-form-lost", "K19", PlainClient.output_object)(
    "An output whose form the caller leaves open is sent without the caller's parameters.",
    lambda right, output: right(
        replace(output, parameters={}) if output.binary is None else output
    ),
)
client_fault("version-as-a-number", "K35", PlainClient.path)(
    "A version of digits is put into the target as a number.",
    lambda right, call: right(
        replace(call, version=str(int(call.version)))
        if call.version is not None and call.version.isdigit()
        else call
    ),
)
client_fault("empty-data-is-one-zero", "K35", PlainClient.json_data)(
    "A tensor without elements is sent as JSON with one.",
    lambda right, tensor: right() or [0],
)
client_fault("blob-lost-from-coded-requests", "K2", PlainClient.in_order)(
    "A compressed request lacks its last blob.",
    lambda right, call, blobs: right()[:-1] if call.request_compression else right(),
)


@client_fault.several("codings-lost-after-an-error", "K35")
class _NoCodings(_AfterAnError):
    """After an error, no request is compressed any more."""

    def less(self, call: Call) -> Call:
        return replace(call, request_compression=None, response_compression=None)
