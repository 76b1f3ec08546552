"""Request bodies in a content coding, tampered with as a case says (`encoded` in a case file)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, repeat
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol import content_codings
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.suite.variations import Variation
from v2_conformance.wire.encode import from_hex

_STEP = 1 << 20


def code_body(name: str, body: Buffer, tampering: Any) -> bytes:
    """Return the bytes to send for `body` with the Content-Encoding `name`.

    `tampering` is `encoded` of a case's request, None if it has none. In a coding that is unknown
    the body goes out as it is. Raises CaseFileError.
    """
    coding = content_codings.known(name)
    if coding is None and tampering not in (None, "plain"):
        raise CaseFileError(f"`encoded`: {name!a} is not a coding that can be tampered with")
    if coding is None or tampering == "plain":
        return bytes(body)
    if tampering == "stored":
        return content_codings.store(coding, body)
    if tampering is None:
        return content_codings.encode(coding, body)
    kind, value = next(iter(tampering.items()))
    if kind == "hex":
        return from_hex(value)
    if kind in ("bomb", "blanks"):
        return _bomb(coding, bytes(body), b" " if kind == "blanks" else b"\0", value)
    encoded = content_codings.encode(coding, body)
    if value > len(encoded):
        raise CaseFileError(f"`encoded.{kind}`: the encoded body has {len(encoded)} bytes")
    at = len(encoded) - value
    if kind == "flip":
        return encoded[:at] + bytes([encoded[at] ^ 0xFF]) + encoded[at + 1 :]
    return encoded[:at]


@lru_cache(maxsize=4)
def _bomb(coding: str, start: bytes, byte: bytes, count: int) -> bytes:
    """Return `start` and this many times `byte` in `coding`, without ever holding them."""
    block = byte * _STEP
    blocks = repeat(block, count // _STEP)
    return content_codings.encode_pieces(coding, chain([start], blocks, [block[: count % _STEP]]))


# Flags of a gzip header (RFC 1952, section 2.3.1), and the code of an unknown system.
_HEADER_CHECKSUM, _EXTRA, _NAME, _COMMENT = 2, 4, 8, 16
_UNKNOWN_SYSTEM = 255


def encode_spelled(given: Sequence[Variation], body: Buffer) -> bytes | None:
    """Return `body` encoded as the variations say, None if they say nothing about it."""
    for variation in given:
        if variation.operation == "gzip":
            return b"".join(_members(bytes(body), variation.parameters))
        if variation.operation == "deflate":
            how = variation.parameters
            window = how.get("window", zlib.MAX_WBITS)
            stream = zlib.compressobj(how.get("level", -1), zlib.DEFLATED, window)
            return stream.compress(body) + stream.flush()
    return None


def _members(body: bytes, how: Mapping[str, Any]) -> Iterator[bytes]:
    count = how.get("members", 1)
    step = -(-len(body) // count) or 1
    for start in range(0, max(len(body), 1), step):
        piece = body[start : start + step]
        yield _header(how) + b"".join(_deflated(piece, how))
        yield struct.pack("<II", zlib.crc32(piece), len(piece) % 2**32)


def _header(how: Mapping[str, Any]) -> bytes:
    flags = 0
    more = b""
    if "extra" in how:
        extra = bytes.fromhex(how["extra"])
        flags |= _EXTRA
        more += struct.pack("<H", len(extra)) + extra
    for member, flag in (("name", _NAME), ("comment", _COMMENT)):
        if member in how:
            flags |= flag
            more += how[member].encode("latin-1") + b"\0"
    if how.get("header_checksum"):
        flags |= _HEADER_CHECKSUM
    fixed = struct.pack("<BBBBIBB", 0x1F, 0x8B, 8, flags, how.get("time", 0), 0, _UNKNOWN_SYSTEM)
    header = fixed + more
    if flags & _HEADER_CHECKSUM:
        header += struct.pack("<H", zlib.crc32(header) & 0xFFFF)
    return header


def _deflated(body: bytes, how: Mapping[str, Any]) -> Iterator[bytes]:
    stream = zlib.compressobj(how.get("level", -1), zlib.DEFLATED, -zlib.MAX_WBITS)
    step = how.get("flush_each", len(body) or 1)
    for start in range(0, len(body), step):
        yield stream.compress(body[start : start + step])
        if "flush_each" in how:
            yield stream.flush(zlib.Z_SYNC_FLUSH)
    yield stream.flush()
