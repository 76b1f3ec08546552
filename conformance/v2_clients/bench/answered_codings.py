"""The content codings of the bench's answers: one or several, in gzip's members, or in codings that
Python cannot make but that have a form for bytes as they are."""

from __future__ import annotations

from v2_conformance.protocol.content_codings import encode
from v2_conformance.wire.encode.coded_body import code_body

_BLOCK = 1 << 16
_ZSTD_MAGIC, _ZSTD_WINDOW_OF_128_KIB = b"\x28\xb5\x2f\xfd", b"\x00\x38"
_BROTLI_LAST = b"\x03"


def coded(codings: str, body: bytes, tampering: object) -> bytes:
    """Return `body` in the content codings that a Content-Encoding lists, in their order.

    `tampering` is `encoded` of the answer. In a coding that is unknown the body goes out as it is.
    Raises CaseFileError.
    """
    for name in codings.split(","):
        make = _UNCOMPRESSED.get(name.strip().lower())
        if make is not None:
            body = make(body)
        elif tampering == "members":
            half = len(body) // 2
            body = encode("gzip", body[:half]) + encode("gzip", body[half:])
        else:
            body = code_body(name, body, tampering)
    return body


def _brotli(body: bytes) -> bytes:
    """Return a brotli stream of uncompressed meta-blocks (RFC 7932, section 9.2)."""
    stream, lead = b"", 1  # a bit 0 for the window of 16 bits precedes the first block
    for block in _blocks(body):
        header = (len(block) - 1) << (3 + lead) | 1 << (19 + lead)
        stream += header.to_bytes(3, "little") + block
        lead = 0
    return stream + _BROTLI_LAST


def _zstd(body: bytes) -> bytes:
    """Return a zstd frame of raw blocks (RFC 8878, section 3.1.1)."""
    blocks = _blocks(body)
    stream = _ZSTD_MAGIC + _ZSTD_WINDOW_OF_128_KIB
    for number, block in enumerate(blocks, 1):
        header = len(block) << 3 | (number == len(blocks))
        stream += header.to_bytes(3, "little") + block
    return stream


def _blocks(body: bytes) -> list[bytes]:
    return [body[at : at + _BLOCK] for at in range(0, len(body), _BLOCK)]


_UNCOMPRESSED = {"br": _brotli, "zstd": _zstd}
