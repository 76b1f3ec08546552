"""Content codings (RFC 9110 8.4): gzip and deflate, both ways, decoding never beyond a limit."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from v2_conformance.protocol.datatypes import Buffer

# The wbits that zlib knows them by. HTTP's deflate is the zlib format, with header and checksum.
_WBITS = {"gzip": 31, "deflate": 15}
CODINGS = tuple(_WBITS)
_ALIASES = {"x-gzip": "gzip"}
_LEVEL = 6
_STEP = 1 << 20


class CodingError(ValueError):
    """Bytes that are not what their content coding says: what is wrong, in words."""


def known(name: str) -> str | None:
    """The coding that `name` stands for, in any letter case; None for one that is not known."""
    name = name.strip().lower()
    name = _ALIASES.get(name, name)
    return name if name in _WBITS else None


def acceptable(field: str | None) -> frozenset[str]:
    """The codings that an Accept-Encoding of `field` lets a server use (RFC 9110 12.5.3).

    None is a request without the field: it lets a server use any, wise or not.
    """
    if field is None:
        return frozenset(CODINGS)
    weights: dict[str, bool] = {}
    for item in field.split(","):
        name, _, weight = item.partition(";")
        value = weight.strip().lower().removeprefix("q=")
        weights[known(name) or name.strip().lower()] = value == "" or float(value) > 0
    return frozenset(name for name in CODINGS if weights.get(name, weights.get("*", False)))


def encode(coding: str, data: Buffer) -> bytes:
    """`data` in `coding`; without time or name, so that equal bytes are encoded alike."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WBITS[coding])
    return packer.compress(data) + packer.flush()


def decode(coding: str, data: Buffer, limit: int) -> bytes:
    """What `data` decodes to, checksums verified; never more than `limit` bytes are made.

    Raises CodingError where the stream is damaged, ends early, or goes on past its end or `limit`.
    """
    pieces: list[bytes] = []
    size = 0
    for piece in _decoded(coding, bytes(data), limit):
        size += len(piece)
        if size > limit:
            raise CodingError(f"it decodes to more than {limit} bytes")
        pieces.append(piece)
    return b"".join(pieces)


def _decoded(coding: str, data: bytes, limit: int) -> Iterator[bytes]:
    while True:
        unpacker = zlib.decompressobj(_WBITS[coding])
        while not unpacker.eof:
            try:
                piece = unpacker.decompress(data, min(_STEP, limit + 1))
            except zlib.error as error:
                raise CodingError(f"not {coding}: {error}") from error
            if not piece and not unpacker.eof and not unpacker.unconsumed_tail:
                raise CodingError(f"the {coding} stream ends early")
            yield piece
            data = unpacker.unconsumed_tail
        data = unpacker.unused_data
        if not data:
            return
        if coding != "gzip" or data[:2] != b"\x1f\x8b":  # gzip may have several members
            raise CodingError(f"{len(data)} bytes follow the end of the {coding} stream")


def looks_like(data: Buffer) -> str | None:
    """The coding that `data` seems to be in by its first two bytes, which no JSON begins with."""
    start = bytes(data[:2])
    if start == b"\x1f\x8b":
        return "gzip"
    if len(start) == 2 and start[0] == 0x78 and int.from_bytes(start, "big") % 31 == 0:
        return "deflate"
    return None


def stream(name: str, body: Buffer, change: str | Mapping[str, Any]) -> bytes:
    """The bytes that go out for `body` with the Content-Encoding `name`, tampered with by `change`.

    `change` is `encoded` of a case's request. With an unknown coding the body goes as it is.
    """
    coding = known(name)
    if coding is None or change == "plain":
        return bytes(body)
    if not isinstance(change, Mapping):
        raise ValueError(f"`encoded` is {change!r}")
    if "hex" in change:
        return bytes.fromhex(change["hex"])
    if "bomb" in change:
        return _bomb(coding, bytes(body), change["bomb"])
    encoded = encode(coding, body)
    if "flip" in change:
        at = len(encoded) - change["flip"]
        return encoded[:at] + bytes([encoded[at] ^ 0xFF]) + encoded[at + 1 :]
    drop = change.get("drop", 0)
    if drop > len(encoded):
        raise ValueError("more is dropped than there is")
    return encoded[: len(encoded) - drop]


@lru_cache(maxsize=4)
def _bomb(coding: str, start: bytes, zeros: int) -> bytes:
    """`start` and so many zero bytes in `coding`, without ever holding them."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WBITS[coding])
    pieces = [packer.compress(start)]
    block = bytes(_STEP)
    pieces += [packer.compress(block) for _ in range(zeros // _STEP)]
    pieces.append(packer.compress(block[: zeros % _STEP]))
    return b"".join([*pieces, packer.flush()])
