"""Faults of content codings: of requests (K18) and of responses (K21)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.task import Call
from v2_conformance.protocol.content_codings import CODINGS, known
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_mutants.registry import Right, client_fault


def _wbits(coding: str | None) -> int:
    """zlib's number for a coding."""
    return zlib.MAX_WBITS + (16 if coding == "gzip" else 0)


"""zlib's `wbits` for each coding."""

_ZLIB_HEADER, _ZLIB_END = 2, 4


client_fault("coding-of-the-request-not-named", "K18", PlainClient.content_encoding)(
    "A compressed request has no Content-Encoding.",
    lambda right, call: None,
)
client_fault("coding-of-the-request-only-named", "K18", PlainClient.coded)(
    "Content-Encoding names a coding, and the body is sent without it.",
    lambda right, coding, body: body,
)
client_fault("coding-always-named-gzip", "K18", PlainClient.content_encoding)(
    "Content-Encoding says gzip for every coding.",
    lambda right, call: None if call.request_compression is None else "gzip",
)
client_fault("coding-twice", "K18", PlainClient.coded)(
    "A compressed request is compressed twice.",
    lambda right, coding, body: right(body=right()),
)
client_fault("coding-deflate-without-zlib", "K18", PlainClient.coded)(
    "The coding deflate is sent without the frame of zlib that HTTP asks for.",
    lambda right, coding, body: right()[2:-4] if coding == "deflate" else right(),
)


@client_fault("coding-header-length-of-encoded", "K18", PlainClient.fields)
def _(
    right: Right[JsonObject], call: Call, text: bytes, blobs: Sequence[bytes], body: bytes
) -> JsonObject:
    """The header length of a compressed request is the length of the compressed body."""
    fields = right()
    if call.request_compression is not None and HEADER_LENGTH in fields:
        fields[HEADER_LENGTH] = str(len(body))
    return fields


@client_fault.several("coding-of-the-json-alone", "K18")
class _OfTheJsonAlone(PlainClient):
    """Only the JSON of a compressed request is compressed; the blobs follow as they are."""

    _text = b""

    def body(self, text: bytes, blobs: Sequence[bytes]) -> bytes:
        self._text = text
        return super().body(text, blobs)

    def coded(self, coding: str, body: bytes) -> bytes:
        return super().coded(coding, self._text) + body[len(self._text) :]


@client_fault("coding-of-the-request-cut", "K18", PlainClient.coded)
def _(right: Right[bytes], coding: str, body: bytes) -> bytes:
    """The compressed body is sent without its end, which the encoder still holds."""
    stream = zlib.compressobj(wbits=_wbits(coding))
    return stream.compress(body) + stream.flush(zlib.Z_SYNC_FLUSH)


client_fault("coding-not-undone", "K21", PlainClient.decoded)(
    "The content coding of a response is not undone.",
    lambda right, call, fields, body: body,
)


@client_fault.several("coding-offered-and-not-undone", "K21")
class _OfferedAndNotUndone(PlainClient):
    """Accept-Encoding offers gzip always; it is undone only if the caller asked for it."""

    def accept_encoding(self, call: Call) -> str:
        return call.response_compression or "gzip"

    def decoded(self, call: Call, fields: Mapping[str, str], body: bytes) -> bytes:
        return body if call.response_compression is None else super().decoded(call, fields, body)


client_fault("coding-offered-and-unknown", "K21", PlainClient.accept_encoding)(
    "Accept-Encoding offers codings that the client does not know.",
    lambda right, call: "gzip, deflate, br, zstd",
)


@client_fault.several("coding-by-its-only-name", "K21")
class _ByItsOnlyName(PlainClient):
    """gzip, which the client offers, is known by this name alone."""

    def accept_encoding(self, call: Call) -> str:
        return call.response_compression or "gzip"

    def undone(self, name: str, body: bytes) -> bytes:
        return body if name.strip().lower() == "x-gzip" else super().undone(name, body)


client_fault("coding-first-member-only", "K21", PlainClient.undone)(
    "Of a series of gzip's members only the first is read.",
    lambda right, name, body: zlib.decompressobj(_wbits(known(name))).decompress(body),
)


@client_fault("coding-only-the-last", "K21", PlainClient.decoded)
def _(right: Right[bytes], call: Call, fields: Mapping[str, str], body: bytes) -> bytes:
    """Of several codings only the last one is undone."""
    last = fields.get("Content-Encoding", "identity").split(",")[-1].strip()
    return right(fields={"Content-Encoding": last})


client_fault("coding-undone-only-if-asked-for", "K21", PlainClient.decoded)(
    "A content coding is undone only if the caller asked for one.",
    lambda right, call, fields, body: body if call.response_compression is None else right(),
)


@client_fault("coding-undone-as-asked-for", "K21", PlainClient.decoded)
def _(right: Right[bytes], call: Call, fields: Mapping[str, str], body: bytes) -> bytes:
    """A response is decoded as the caller asked, whatever coding it has."""
    asked = call.response_compression
    return right() if asked is None else right.client.undone(asked, body)


client_fault("coding-only-gzip", "K21", PlainClient.undone)(
    "The client undoes gzip and not deflate.",
    lambda right, name, body: body if known(name) == "deflate" else right(),
)
client_fault("coding-deflate-read-without-zlib", "K21", PlainClient.undone)(
    "The coding deflate is read without the frame of zlib that HTTP asks for.",
    lambda right, name, body: zlib.decompress(body, -15) if known(name) == "deflate" else right(),
)
client_fault("coding-name-by-case", "K21", PlainClient.undone)(
    "The client knows a coding in lowercase letters only.",
    lambda right, name, body: right() if name.strip() in CODINGS else body,
)
client_fault("coding-cut-read-on", "K21", PlainClient.undone)(
    "A compressed response without its end is read as far as it goes.",
    lambda right, name, body: zlib.decompressobj(_wbits(known(name))).decompress(body),
)


client_fault("coding-cut-at-64-kib", "K18", PlainClient.coded)(
    "Of a body that is compressed no more than 64 KiB are sent.",
    lambda right, coding, body: right(body=body[: 1 << 16]),
)
client_fault("coding-read-up-to-64-kib", "K21", PlainClient.undone)(
    "No more than 64 KiB are decoded.",
    lambda right, name, body: right()[: 1 << 16],
)
client_fault("coding-in-chunks-not-undone", "K21", PlainClient.decoded)(
    "The coding of a response in chunks is not undone.",
    lambda right, call, fields, body: body if "Transfer-Encoding" in fields else right(),
)
client_fault("coding-until-close-not-undone", "K21", PlainClient.decoded)(
    "The coding of a response that ends with its connection is not undone.",
    lambda right, call, fields, body: (
        right() if {"Transfer-Encoding", "Content-Length"} & {*fields} else body
    ),
)


@client_fault("coding-checksum-ignored", "K21", PlainClient.undone)
def _(right: Right[bytes], name: str, body: bytes) -> bytes:
    """The checksum at the end of a coded body is not compared."""
    start = 10 if known(name) == "gzip" else _ZLIB_HEADER
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body[start:])
