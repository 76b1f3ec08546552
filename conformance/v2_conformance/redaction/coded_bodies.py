"""Bodies in a content coding: read as far as they go, and coded again in exactly as many bytes."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_ZLIB, _GZIP, _RAW = 15, 31, -15
_GZIP_HEAD = b"\x1f\x8b\x08"
_COMMENT = 0x10  # the flag of a gzip member that has one (RFC 1952 2.3.1)
_STEP = 1 << 18
_ENCODERS = tuple(
    (level, strategy)
    for level in (9, 6, 8, 7, 5, 4, 3, 2, 1)
    for strategy in (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_FIXED, zlib.Z_RLE)
)
_STORED = b"\x00\x00\x00\xff\xff"
# Files that pack others: zip, 7z, rar, zstd, lz4, compress.
_UNREAD = (
    b"PK\x03\x04",
    b"7z\xbc\xaf",
    b"Rar!\x1a",
    b"\x28\xb5\x2f\xfd",
    b"\x04\x22\x4d\x18",
    b"\x1f\x9d\x90",
)
_NAMED = ("gzip", "x-gzip", "deflate")


@dataclass(frozen=True)
class Decoded:
    """Content of a coded body; `clean` if all of it could be read, and can be coded again.

    With `more`, it holds more than was read.
    """

    text: bytes
    wbits: int | None
    clean: bool
    more: bool = False


def decoded(body: bytes, codings: tuple[str, ...], limit: int) -> Decoded | None:
    """Return what is in a body, no more than `limit` bytes; None if it is in no content coding.

    Its first bytes count as well as its Content-Encoding: a reader's tools look at them.
    """
    if body.startswith(_GZIP_HEAD):
        return _inflated(body, _GZIP, limit)
    if body[:1] == b"\x78" and int.from_bytes(body[:2], "big") % 31 == 0:
        return _inflated(body, _ZLIB, limit)
    for magic, opened in _OTHERS.items():
        if body.startswith(magic):
            text = _read(opened(), body, limit)
            return Decoded(text, None, False, len(text) >= limit)
    if body.startswith(_UNREAD):
        return Decoded(b"", None, False, True)
    coding = next((one for one in reversed(codings) if one != "identity"), None)
    if coding is None:
        return None
    if coding == "deflate":
        return _inflated(body, _RAW, limit)
    return None if coding in _NAMED else Decoded(b"", None, False)


def is_coded(data: bytes, pieces: tuple[tuple[int, int], ...]) -> bool:
    """Return True if a body, in `pieces` of `data`, begins as if it were in a content coding."""
    start = pieces[0][0] if pieces else len(data)
    return data.startswith((_GZIP_HEAD, b"\x78", *_OTHERS, *_UNREAD), start)


def unreadable(codings: tuple[str, ...]) -> bool:
    """Return True if a body may be in a coding that can hide anything from us, such as br."""
    return any(coding not in _NAMED and coding != "identity" for coding in codings)


def _inflated(body: bytes, wbits: int, limit: int) -> Decoded:
    pieces: list[bytes] = []
    size = 0
    data = body
    while True:
        unpacker = zlib.decompressobj(wbits)
        try:
            for piece in _pieces(unpacker, data, limit + 1 - size):
                pieces.append(piece)
                size += len(piece)
        except zlib.error:
            return Decoded(b"".join(pieces), wbits, False)
        data = unpacker.unused_data
        if size > limit or not unpacker.eof or not data:
            clean = unpacker.eof and not data and size <= limit
            return Decoded(b"".join(pieces), wbits, clean, size > limit)
        if wbits != _GZIP or not data.startswith(_GZIP_HEAD[:2]):
            return Decoded(b"".join(pieces), wbits, False)


def _pieces(unpacker: zlib._Decompress, data: bytes, room: int) -> Iterator[bytes]:
    while not unpacker.eof and room > 0:
        piece = unpacker.decompress(data, min(_STEP, room))
        data = unpacker.unconsumed_tail
        if not piece and not data:
            return
        room -= len(piece)
        yield piece


def _read(unpacker: bz2.BZ2Decompressor | lzma.LZMADecompressor, body: bytes, limit: int) -> bytes:
    try:
        return unpacker.decompress(body, limit)
    except (OSError, EOFError, lzma.LZMAError):
        return b""


_OTHERS: dict[bytes, Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]] = {
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ": lzma.LZMADecompressor,
}


def coded_again(text: bytes, wbits: int, length: int) -> bytes | None:
    """`text` in the same coding, in exactly `length` bytes; None if that cannot be."""
    for level, strategy in _ENCODERS:
        packer = zlib.compressobj(level, zlib.DEFLATED, _RAW, 9, strategy)
        packed = packer.compress(text) + packer.flush()
        made = _padded(text, packed, wbits, length)
        if made is not None:
            return made
    return None


def _padded(text: bytes, packed: bytes, wbits: int, length: int) -> bytes | None:
    if wbits == _GZIP:
        tail = zlib.crc32(text).to_bytes(4, "little") + (len(text) % (1 << 32)).to_bytes(
            4, "little"
        )
        room = length - 10 - len(packed) - len(tail)
        if room < 0:
            return None
        comment = b"*" * (room - 1) + b"\0" if room else b""
        flags = _COMMENT if room else 0
        return _GZIP_HEAD + bytes((flags, 0, 0, 0, 0, 2, 255)) + comment + packed + tail
    head, tail = (b"\x78\xda", zlib.adler32(text).to_bytes(4, "big")) if wbits > 0 else (b"", b"")
    filling = _empty_blocks(length - len(head) - len(packed) - len(tail))
    return None if filling is None else head + filling + packed + tail


def _empty_blocks(length: int) -> bytes | None:
    """`length` bytes of deflate blocks (RFC 1951 3.2.3) that hold nothing, None if there are none.

    A stored one takes five bytes. One or two fixed ones of ten bits, with a stored one behind them,
    take six or seven, which makes up what is left over.
    """
    for filling in (b"", *_FILLINGS):
        rest = length - len(filling)
        if rest >= 0 and rest % 5 == 0:
            return filling + _STORED * (rest // 5)
    return None


_SIX, _SEVEN = (
    sum(0b10 << (10 * n) for n in range(fixed)).to_bytes(lead, "little") + _STORED[1:]
    for fixed, lead in ((1, 2), (2, 3))
)
_FILLINGS = (_SIX, _SEVEN, _SIX + _SEVEN, _SEVEN + _SEVEN)
