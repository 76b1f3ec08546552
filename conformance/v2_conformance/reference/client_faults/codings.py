"""Faults of content codings: of requests (K18) and of responses (K21)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

from v2_conformance.protocol import content_codings
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.reference.client.requests_made import JsonObject
from v2_conformance.reference.client.task import Call
from v2_conformance.reference.client_faults.registry import client_fault

_ZLIB_HEADER, _ZLIB_END = 2, 4


@client_fault(
    "coding-of-the-request-not-named",
    breaks="K18",
    text="A compressed request has no Content-Encoding.",
)
class _NotNamed(PlainClient):
    def content_encoding(self, call: Call) -> str | None:
        return None


@client_fault(
    "coding-of-the-request-only-named",
    breaks="K18",
    text="Content-Encoding names a coding, and the body is sent without it.",
)
class _OnlyNamed(PlainClient):
    def coded(self, coding: str, body: bytes) -> bytes:
        return body


@client_fault(
    "coding-always-named-gzip", breaks="K18", text="Content-Encoding says gzip for every coding."
)
class _AlwaysGzip(PlainClient):
    def content_encoding(self, call: Call) -> str | None:
        return None if call.request_compression is None else "gzip"


@client_fault("coding-twice", breaks="K18", text="A compressed request is compressed twice.")
class _Twice(PlainClient):
    def coded(self, coding: str, body: bytes) -> bytes:
        return super().coded(coding, super().coded(coding, body))


@client_fault(
    "coding-deflate-without-zlib",
    breaks="K18",
    text="The coding deflate is sent without the frame of zlib that HTTP asks for.",
)
class _WithoutZlib(PlainClient):
    def coded(self, coding: str, body: bytes) -> bytes:
        coded = super().coded(coding, body)
        return coded[_ZLIB_HEADER:-_ZLIB_END] if coding == "deflate" else coded


@client_fault(
    "coding-header-length-of-encoded",
    breaks="K18",
    text="The header length of a compressed request is the length of the compressed body.",
)
class _LengthOfEncoded(PlainClient):
    def fields(self, call: Call, text: bytes, blobs: Sequence[bytes], body: bytes) -> JsonObject:
        fields = super().fields(call, text, blobs, body)
        if call.request_compression is not None and HEADER_LENGTH in fields:
            fields[HEADER_LENGTH] = str(len(body))
        return fields


@client_fault(
    "coding-of-the-json-alone",
    breaks="K18",
    text="Only the JSON of a compressed request is compressed; the blobs follow as they are.",
)
class _OfTheJsonAlone(PlainClient):
    _text = b""

    def body(self, text: bytes, blobs: Sequence[bytes]) -> bytes:
        self._text = text
        return super().body(text, blobs)

    def coded(self, coding: str, body: bytes) -> bytes:
        return super().coded(coding, self._text) + body[len(self._text) :]


@client_fault(
    "coding-of-the-request-cut",
    breaks="K18",
    text="The compressed body is sent without its end, which the encoder still holds.",
)
class _Cut(PlainClient):
    def coded(self, coding: str, body: bytes) -> bytes:
        stream = zlib.compressobj(6, zlib.DEFLATED, 31 if coding == "gzip" else 15)
        return stream.compress(body) + stream.flush(zlib.Z_SYNC_FLUSH)


# --- responses --------------------------------------------------------------------------------


@client_fault(
    "coding-not-undone", breaks="K21", text="The content coding of a response is not undone."
)
class _NotUndone(PlainClient):
    def decoded(self, call: Call, fields: Mapping[str, str], body: bytes) -> bytes:
        return body


@client_fault(
    "coding-offered-and-not-undone",
    breaks="K21",
    text="Accept-Encoding offers gzip always; it is undone only if the caller asked for it.",
)
class _OfferedAndNotUndone(PlainClient):
    def accept_encoding(self, call: Call) -> str:
        return call.response_compression or "gzip"

    def decoded(self, call: Call, fields: Mapping[str, str], body: bytes) -> bytes:
        return body if call.response_compression is None else super().decoded(call, fields, body)


@client_fault(
    "coding-undone-only-if-asked-for",
    breaks="K21",
    text="A content coding is undone only if the caller asked for one.",
)
class _OnlyIfAskedFor(PlainClient):
    def decoded(self, call: Call, fields: Mapping[str, str], body: bytes) -> bytes:
        return body if call.response_compression is None else super().decoded(call, fields, body)


@client_fault(
    "coding-undone-as-asked-for",
    breaks="K21",
    text="A response is decoded as the caller asked, whatever coding it has.",
)
class _AsAskedFor(PlainClient):
    def decoded(self, call: Call, fields: Mapping[str, str], body: bytes) -> bytes:
        if call.response_compression is None:
            return super().decoded(call, fields, body)
        return self.undone(call.response_compression, body)


@client_fault("coding-only-gzip", breaks="K21", text="The client undoes gzip and not deflate.")
class _OnlyGzip(PlainClient):
    def undone(self, name: str, body: bytes) -> bytes:
        return body if content_codings.known(name) == "deflate" else super().undone(name, body)


@client_fault(
    "coding-deflate-read-without-zlib",
    breaks="K21",
    text="The coding deflate is read without the frame of zlib that HTTP asks for.",
)
class _ReadWithoutZlib(PlainClient):
    def undone(self, name: str, body: bytes) -> bytes:
        if content_codings.known(name) == "deflate":
            return zlib.decompress(body, -15)
        return super().undone(name, body)


@client_fault(
    "coding-name-by-case", breaks="K21", text="The client knows a coding in lowercase letters only."
)
class _NameByCase(PlainClient):
    def undone(self, name: str, body: bytes) -> bytes:
        return super().undone(name, body) if name.strip() in content_codings.CODINGS else body


@client_fault(
    "coding-cut-read-on",
    breaks="K21",
    text="A compressed response without its end is read as far as it goes.",
)
class _CutReadOn(PlainClient):
    def undone(self, name: str, body: bytes) -> bytes:
        unpacker = zlib.decompressobj(31 if content_codings.known(name) == "gzip" else 15)
        return unpacker.decompress(body)
