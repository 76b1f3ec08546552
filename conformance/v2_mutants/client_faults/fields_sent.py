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
from v2_clients.plain.task import Call
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_mutants.changes import without
from v2_mutants.registry import Right, What, client_fault


@client_fault("callers-headers-changed", "K9", PlainClient.with_callers)
def _(right: Right[JsonObject], call: Call, fields: JsonObject) -> JsonObject:
    """The client writes its own fields into the caller's dictionary."""
    merged = right()
    call.headers.update(fields)
    return merged


@client_fault("header-length-stays", "K9", PlainClient.fields)
def _(
    right: Right[JsonObject], call: Call, text: bytes, blobs: Sequence[bytes], body: bytes
) -> JsonObject:
    """The header length of a request is sent with the next one, which has no blobs."""
    length = right.state["length"] = right().get(HEADER_LENGTH) or right.state.get("length")
    return {**right(), HEADER_LENGTH: length} if length else right()


client_fault("content-type-missing-for-json", "K17", PlainClient.content_type)(
    "A request without blobs has no Content-Type.",
    lambda right, blobs: right() if blobs else None,
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


@client_fault.several("callers-transfer-encoding-sent", "K19")
class _TransferEncodingSent(_CallersWin):
    """The caller's Transfer-Encoding is sent with a body that is not in chunks."""

    won = "Transfer-Encoding"


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


def _sends(change: Callable[[Call], Call]) -> What[Inference]:
    """A client that sends less than its caller gave it."""
    return lambda right, call: right(change(call))


for _name, _requirement, _text, _less in (
    ("callers-fields-cut-at-64", "K19", "A field of the caller's is cut after 64 characters.",
     lambda call: replace(call, headers={name: v[:64] for name, v in call.headers.items()})),
    ("parameters-of-later-inputs-lost", "K19", "Only the first input's parameters are sent.",
     lambda call: replace(call, inputs=(
         *call.inputs[:1], *(replace(one, parameters={}) for one in call.inputs[1:])))),
    ("id-cut-at-64", "K35", "An id is cut after 64 characters.",
     lambda call: replace(call, id=call.id and call.id[:64])),
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
    ("without-signs", "Integers among the caller's parameters have no sign.", int, abs),
):  # fmt: skip
    client_fault(f"parameters-{_name}", "K19", PlainClient.merged)(_text, _changes(_type, _change))


def _written(escaped: bytes, raw: bytes) -> What[bytes]:
    """A client that writes something other than its escape into the JSON."""
    return lambda right, document: right().replace(escaped, raw)


for _name, _escaped, _raw in (("quotes", b'\\"', b'"'), ("tabs", b"\\t", b"\t")):
    client_fault(f"{_name}-not-escaped", "K35", PlainClient.dump)(
        f"{_name.capitalize()} in strings are written into the JSON as they are.",
        _written(_escaped, _raw),
    )
client_fault("blob-lost-from-coded-requests", "K2", PlainClient.in_order)(
    "A compressed request lacks its last blob.",
    lambda right, call, blobs: right()[:-1] if call.request_compression else right(),
)
