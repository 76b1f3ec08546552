"""Faults of the header fields that a client sends (K9, K17, K19)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import requests

from v2_conformance.protocol.names import HEADER_LENGTH, JSON_TYPE, OCTET_STREAM
from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.reference.client.requests_made import JsonObject
from v2_conformance.reference.client.task import Call
from v2_mutants.changes import without
from v2_mutants.registry import Right, client_fault


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
