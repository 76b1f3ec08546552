"""Faults of the header length that a client sends (K1)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.reference.client_faults.registry import client_fault


@client_fault(
    "header-length-missing", breaks="K1", text="A request with blobs has no header length."
)
class _Missing(PlainClient):
    def header_length(self, text: bytes, blobs: Sequence[bytes]) -> str | None:
        return None


@client_fault(
    "header-length-in-characters",
    breaks="K1",
    text="The header length counts the characters of the JSON, not its bytes.",
)
class _InCharacters(PlainClient):
    def header_length(self, text: bytes, blobs: Sequence[bytes]) -> str | None:
        return str(len(text.decode())) if blobs else None


@client_fault(
    "header-length-of-escaped-json",
    breaks="K1",
    text="The header length is that of the JSON with escapes; the JSON that is sent has none.",
)
class _OfEscapedJson(PlainClient):
    def header_length(self, text: bytes, blobs: Sequence[bytes]) -> str | None:
        return str(len(json.dumps(json.loads(text)))) if blobs else None


@client_fault(
    "header-length-of-compact-json",
    breaks="K1",
    text="The header length is that of the JSON without white space; the JSON that is sent has it.",
)
class _OfCompactJson(PlainClient):
    def header_length(self, text: bytes, blobs: Sequence[bytes]) -> str | None:
        compact = json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
        return str(len(compact.encode())) if blobs else None


@client_fault(
    "header-length-of-the-body", breaks="K1", text="The header length is that of the whole body."
)
class _OfTheBody(PlainClient):
    def header_length(self, text: bytes, blobs: Sequence[bytes]) -> str | None:
        return str(len(text) + sum(map(len, blobs))) if blobs else None


@client_fault(
    "header-length-of-the-blobs", breaks="K1", text="The header length is that of the blobs."
)
class _OfTheBlobs(PlainClient):
    def header_length(self, text: bytes, blobs: Sequence[bytes]) -> str | None:
        return str(sum(map(len, blobs))) if blobs else None


@client_fault("header-length-one-more", breaks="K1", text="The header length is one too large.")
class _OneMore(PlainClient):
    def header_length(self, text: bytes, blobs: Sequence[bytes]) -> str | None:
        return str(len(text) + 1) if blobs else None


@client_fault("header-length-one-less", breaks="K1", text="The header length is one too small.")
class _OneLess(PlainClient):
    def header_length(self, text: bytes, blobs: Sequence[bytes]) -> str | None:
        return str(len(text) - 1) if blobs else None


@client_fault("header-length-in-hex", breaks="K1", text="The header length is hexadecimal.")
class _InHex(PlainClient):
    def header_length(self, text: bytes, blobs: Sequence[bytes]) -> str | None:
        return hex(len(text)) if blobs else None


@client_fault(
    "header-length-without-blobs",
    breaks="K1",
    text="A request without blobs has a header length, too.",
)
class _WithoutBlobs(PlainClient):
    def header_length(self, text: bytes, blobs: Sequence[bytes]) -> str | None:
        return str(len(text))


@client_fault(
    "header-length-zero",
    breaks="K1",
    text="The header length is 0, which says that there is no JSON, before JSON and blobs.",
)
class _Zero(PlainClient):
    def header_length(self, text: bytes, blobs: Sequence[bytes]) -> str | None:
        return "0" if blobs else None


@client_fault(
    "header-length-of-the-first-request",
    breaks="K1",
    text="The header length is computed for the first request and kept for the next ones.",
)
class _OfTheFirstRequest(PlainClient):
    _first: str | None = None

    def header_length(self, text: bytes, blobs: Sequence[bytes]) -> str | None:
        self._first = self._first or super().header_length(text, blobs)
        return self._first if blobs else None
