"""Faults of the header length that a client sends (K1)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from v2_conformance.reference.client.plain_client import PlainClient
from v2_mutants.registry import client_fault


def _compact(text: bytes) -> bytes:
    document = json.loads(text)
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


client_fault("header-length-missing", "K1", PlainClient.header_length)(
    "A request with blobs has no header length.",
    lambda right, text, blobs: None,
)
client_fault("header-length-in-characters", "K1", PlainClient.header_length)(
    "The header length counts the characters of the JSON, not its bytes.",
    lambda right, text, blobs: str(len(text.decode())) if blobs else None,
)
client_fault("header-length-of-escaped-json", "K1", PlainClient.header_length)(
    "The header length is that of the JSON with escapes; the JSON that is sent has none.",
    lambda right, text, blobs: str(len(json.dumps(json.loads(text)))) if blobs else None,
)
client_fault("header-length-of-compact-json", "K1", PlainClient.header_length)(
    "The header length is that of the JSON without white space; the JSON that is sent has it.",
    lambda right, text, blobs: str(len(_compact(text))) if blobs else None,
)
client_fault("header-length-of-the-body", "K1", PlainClient.header_length)(
    "The header length is that of the whole body.",
    lambda right, text, blobs: str(len(text) + sum(map(len, blobs))) if blobs else None,
)
client_fault("header-length-of-the-blobs", "K1", PlainClient.header_length)(
    "The header length is that of the blobs.",
    lambda right, text, blobs: str(sum(map(len, blobs))) if blobs else None,
)
client_fault("header-length-one-more", "K1", PlainClient.header_length)(
    "The header length is one too large.",
    lambda right, text, blobs: str(len(text) + 1) if blobs else None,
)
client_fault("header-length-one-less", "K1", PlainClient.header_length)(
    "The header length is one too small.",
    lambda right, text, blobs: str(len(text) - 1) if blobs else None,
)
client_fault("header-length-in-hex", "K1", PlainClient.header_length)(
    "The header length is hexadecimal.",
    lambda right, text, blobs: hex(len(text)) if blobs else None,
)
client_fault("header-length-without-blobs", "K1", PlainClient.header_length)(
    "A request without blobs has a header length, too.",
    lambda right, text, blobs: str(len(text)),
)
client_fault("header-length-zero", "K1", PlainClient.header_length)(
    "The header length is 0, which says that there is no JSON, before JSON and blobs.",
    lambda right, text, blobs: "0" if blobs else None,
)


@client_fault.several("header-length-of-the-first-request", "K1")
class _OfTheFirstRequest(PlainClient):
    """The header length is computed for the first request and kept for the next ones."""

    _first: str | None = None

    def header_length(self, text: bytes, blobs: Sequence[bytes]) -> str | None:
        self._first = self._first or super().header_length(text, blobs)
        return self._first if blobs else None
