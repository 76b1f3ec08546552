"""Faults of the header fields that a client sends (K9, K17, K19)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import requests

from v2_conformance.protocol.names import HEADER_LENGTH, JSON_TYPE, OCTET_STREAM
from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.reference.client.requests_made import JsonObject
from v2_conformance.reference.client.task import Call
from v2_conformance.reference.client_faults.registry import client_fault

# --- what stays from one request to the next --------------------------------------------------


@client_fault(
    "callers-headers-changed",
    breaks="K9",
    text="The client writes its own fields into the caller's dictionary.",
)
class _Changed(PlainClient):
    def with_callers(self, call: Call, fields: JsonObject) -> JsonObject:
        merged = super().with_callers(call, fields)
        call.headers.update(fields)
        return merged


@client_fault(
    "callers-headers-emptied",
    breaks="K9",
    text="The client takes the fields that it knows out of the caller's dictionary.",
)
class _Emptied(PlainClient):
    def with_callers(self, call: Call, fields: JsonObject) -> JsonObject:
        merged = super().with_callers(call, fields)
        call.headers.clear()
        return merged


@client_fault(
    "header-length-stays",
    breaks="K9",
    text="The header length of a request is sent with the next one, which has no blobs.",
)
class _LengthStays(PlainClient):
    _before: Mapping[str, str] = {}

    def fields(self, call: Call, text: bytes, blobs: Sequence[bytes], body: bytes) -> JsonObject:
        fields = {**self._before, **super().fields(call, text, blobs, body)}
        self._before = {name: fields[name] for name in (HEADER_LENGTH,) if name in fields}
        return fields


@client_fault(
    "callers-headers-stay",
    breaks="K9",
    text="The fields that the caller gave for a request are sent with the next one, too.",
)
class _CallersStay(PlainClient):
    def with_callers(self, call: Call, fields: JsonObject) -> JsonObject:
        self.session.headers.update(call.headers)
        return super().with_callers(call, fields)


@client_fault(
    "content-encoding-stays",
    breaks="K9",
    text="The Content-Encoding of a request is sent with the next one, which is not encoded.",
)
class _EncodingStays(PlainClient):
    _before: str | None = None

    def content_encoding(self, call: Call) -> str | None:
        self._before = super().content_encoding(call) or self._before
        return self._before


# --- the type ---------------------------------------------------------------------------------


@client_fault("content-type-missing", breaks="K17", text="A request has no Content-Type.")
class _TypeMissing(PlainClient):
    def content_type(self, blobs: Sequence[bytes]) -> str | None:
        return None


@client_fault(
    "content-type-missing-for-json",
    breaks="K17",
    text="A request without blobs has no Content-Type.",
)
class _TypeMissingForJson(PlainClient):
    def content_type(self, blobs: Sequence[bytes]) -> str | None:
        return super().content_type(blobs) if blobs else None


@client_fault(
    "content-type-json-with-blobs", breaks="K17", text="A request with blobs is typed as JSON."
)
class _JsonWithBlobs(PlainClient):
    def content_type(self, blobs: Sequence[bytes]) -> str | None:
        return JSON_TYPE


@client_fault(
    "content-type-binary-for-json", breaks="K17", text="A request that is JSON is typed as binary."
)
class _BinaryForJson(PlainClient):
    def content_type(self, blobs: Sequence[bytes]) -> str | None:
        return OCTET_STREAM


@client_fault(
    "content-type-of-a-form", breaks="K17", text="A request is typed as a form of a web page."
)
class _OfAForm(PlainClient):
    def content_type(self, blobs: Sequence[bytes]) -> str | None:
        return "application/x-www-form-urlencoded"


# --- the caller's fields ----------------------------------------------------------------------


class _CallersWin(PlainClient):
    """A client in which one field of the caller's, if it is there, is sent as it is."""

    won = ""

    def with_callers(self, call: Call, fields: JsonObject) -> JsonObject:
        won = {n: value for n, value in call.headers.items() if n.lower() == self.won.lower()}
        for name in won:
            del call.headers[name]
        try:
            merged = super().with_callers(call, fields)
        finally:
            call.headers.update(won)
        for name in list(merged):
            if won and name.lower() == self.won.lower():
                del merged[name]
        return {**merged, **won}

    def prepared(
        self, call: Call, fields: Mapping[str, str], body: bytes
    ) -> requests.PreparedRequest:
        prepared = super().prepared(call, fields, body)
        for name, value in call.headers.items():
            if name.lower() == self.won.lower():
                prepared.headers[name] = value
        return prepared


@client_fault(
    "callers-headers-lost", breaks="K19", text="The caller's own header fields are not sent."
)
class _HeadersLost(PlainClient):
    def with_callers(self, call: Call, fields: JsonObject) -> JsonObject:
        super().with_callers(call, fields)
        return fields


@client_fault(
    "callers-header-length-wins",
    breaks="K19",
    text="The caller's header length is sent in place of the true one.",
)
class _HeaderLengthWins(_CallersWin):
    won = HEADER_LENGTH


@client_fault(
    "callers-content-length-wins",
    breaks="K19",
    text="The caller's Content-Length is sent in place of the true one.",
)
class _ContentLengthWins(_CallersWin):
    won = "Content-Length"


@client_fault(
    "callers-transfer-encoding-sent",
    breaks="K19",
    text="The caller's Transfer-Encoding is sent with a body that is not in chunks.",
)
class _TransferEncodingSent(_CallersWin):
    won = "Transfer-Encoding"


@client_fault(
    "callers-content-encoding-sent",
    breaks="K19",
    text="The caller's Content-Encoding is sent with a body that has none.",
)
class _ContentEncodingSent(_CallersWin):
    won = "Content-Encoding"
