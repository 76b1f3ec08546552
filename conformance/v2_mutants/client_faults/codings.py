"""Faults of content codings: of requests (K18) and of responses (K21)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.task import Call
from v2_conformance.protocol.content_codings import known
from v2_mutants.registry import Right, client_fault

"""zlib's `wbits` for each coding."""

_ZLIB_HEADER, _ZLIB_END = 2, 4


client_fault("coding-always-named-gzip", "K18", PlainClient.content_encoding)(
    "Content-Encoding says gzip for every coding.",
    lambda right, call: None if call.request_compression is None else "gzip",
)


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


client_fault("coding-undone-only-if-asked-for", "K21", PlainClient.decoded)(
    "A content coding is undone only if the caller asked for one.",
    lambda right, call, fields, body: body if call.response_compression is None else right(),
)


@client_fault("coding-undone-as-asked-for", "K21", PlainClient.decoded)
def _(right: Right[bytes], call: Call, fields: Mapping[str, str], body: bytes) -> bytes:
    """A response is decoded as the caller asked, whatever coding it has."""
    asked = call.response_compression
    return right() if asked is None else right.client.undone(asked, body)


@client_fault("coding-checksum-ignored", "K21", PlainClient.undone)
def _(right: Right[bytes], name: str, body: bytes) -> bytes:
    """The checksum at the end of a coded body is not compared."""
    start = 10 if known(name) == "gzip" else _ZLIB_HEADER
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body[start:])
