"""Content codings (RFC 9110 8.4): gzip and deflate, both ways, decoding never beyond a limit."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress

from v2_conformance.protocol.datatypes import Buffer

# The wbits that zlib knows them by. HTTP's deflate is the zlib format, with header and checksum.
_WBITS = {"gzip": 31, "deflate": 15}
CODINGS = tuple(_WBITS)
_ALIASES = {"x-gzip": "gzip"}
_LEVEL = 6
_BLOCK = 64 * 1024
_MOST_MEMBERS = 1000  # of 64 KiB each, as block-wise gzip has them, they are 64 MiB
_STEP = 1 << 20
_WEIGHT = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")  # RFC 9110 12.4.2


class CodingError(ValueError):
    """Bytes that are not what their content coding says: what is wrong, in words."""


def known(name: str) -> str | None:
    """The coding that `name` stands for, in any letter case; None for one that is not known."""
    name = name.strip().lower()
    name = _ALIASES.get(name, name)
    return name if name in _WBITS else None


def acceptable(field: str | None, among: Collection[str] = CODINGS) -> frozenset[str]:
    """The codings of those `among` that an Accept-Encoding of `field` lets a server use (RFC 9110
    12.5.3).

    None is a request without the field: it lets a server use any, wise or not. Raises CodingError
    for a weight that is not a number.
    """
    if field is None:
        return frozenset(among)
    weights: dict[str, bool] = {}
    for item in field.split(","):
        name, _, weight = item.partition(";")
        value = weight.strip().lower().removeprefix("q=") or "1"
        if not _WEIGHT.fullmatch(value):
            raise CodingError(f"expected a weight from q=0 to q=1, got {weight!a}")
        weights[known(name) or name.strip().lower()] = float(value) > 0
    default = weights.get("*", False)
    return frozenset(name for name in among if weights.get(known(name) or name, default))


def encode(coding: str, data: Buffer) -> bytes:
    """`data` in `coding`; without time or name, so that equal bytes are encoded alike."""
    return encode_pieces(coding, [data])


def store(coding: str, data: Buffer) -> bytes:
    """`data` in `coding`, but not compressed: longer than it was before."""
    stream = zlib.compressobj(zlib.Z_NO_COMPRESSION, zlib.DEFLATED, _WBITS[coding])
    return stream.compress(data) + stream.flush()


def encode_pieces(coding: str, pieces: Iterable[Buffer]) -> bytes:
    """Return what `pieces` are in `coding` when joined, without ever holding them all."""
    stream = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WBITS[coding])
    encoded = [stream.compress(piece) for piece in pieces]
    return b"".join([*encoded, stream.flush()])


def decode(coding: str, data: Buffer, limit: int) -> bytes:
    """Return what `data` decodes to, checksums verified; little more than `limit` bytes are made.

    Raises CodingError if the stream is damaged, ends early, or goes on past its end or `limit`.
    """
    return b"".join(_decoded(coding, data, limit))


def decoded_size(coding: str, data: Buffer, limit: int) -> int:
    """Return how many bytes `data` decodes to, as far as it does: little more than `limit`."""
    size = 0
    with suppress(CodingError):
        for piece in _decoded(coding, data, limit):
            size += len(piece)
    return size


def _decoded(coding: str, data: Buffer, limit: int) -> Iterator[bytes]:
    encoded = memoryview(data)
    at = size = 0
    for _ in range(_MOST_MEMBERS):
        unpacker = zlib.decompressobj(_WBITS[coding])
        while not unpacker.eof:
            # In blocks: what follows a member is copied, and there may be very many members.
            block = encoded[at : at + _BLOCK]
            try:
                piece = unpacker.decompress(block, min(_STEP, limit + 1))
            except zlib.error as error:
                raise CodingError(f"not {coding}: {error}") from error
            taken = len(block) - len(unpacker.unconsumed_tail) - len(unpacker.unused_data)
            if not piece and not taken and not unpacker.eof:
                raise CodingError(f"the {coding} stream ends early")
            at += taken
            yield piece
            size += len(piece)
            if size > limit:
                raise CodingError(f"it decodes to more than {limit} bytes")
        if at == len(encoded):
            return
        if coding != "gzip" or bytes(encoded[at : at + 2]) != b"\x1f\x8b":  # it has members
            raise CodingError(f"{len(encoded) - at} bytes follow the end of the {coding} stream")
    raise CodingError(f"the {coding} stream has more than {_MOST_MEMBERS} members")


def looks_like(data: Buffer) -> str | None:
    """The coding that `data` is in, though nothing names it; None for plain text.

    No text begins like gzip. Some does like deflate, such as "x has another shape": so that must
    also decode, to its end or to its first MiB.
    """
    start = bytes(data[:2])
    if start == b"\x1f\x8b":
        return "gzip"
    if len(start) < 2 or start[0] != 0x78 or int.from_bytes(start, "big") % 31:
        return None
    unpacker = zlib.decompressobj()
    try:
        piece = unpacker.decompress(data, _STEP)
    except zlib.error:
        return None
    return "deflate" if unpacker.eof or len(piece) == _STEP else None
