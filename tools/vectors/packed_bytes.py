"""Bytes as a vector has them: base64, and long ones as pieces that repeat."""

from __future__ import annotations

import base64
import zlib
from functools import lru_cache

from tools.vectors.types import Bytes, Piece
from v2_conformance.protocol.datatypes import Buffer

LONGEST = 12 * 1024
"""Bytes of base64 that one text of a vector may have; what is longer after packing is left out."""

_SHORT = 2048
_BEGINNING = 48
_LONGEST_PERIOD = 9 * 1024
_SQUEEZED = 4
_TOGETHER = 256
_FEWEST = 4  # repetitions that are worth a piece


class TooLongError(ValueError):
    """Bytes that no rule makes short."""


def packed(data: Buffer) -> Bytes:
    """Return `data` in base64, or as pieces if it is long and repeats. Raises TooLongError."""
    return _packed(bytes(data))


@lru_cache(maxsize=64)
def _packed(data: bytes) -> Bytes:
    if len(data) <= _SHORT:
        return _base64(data)
    if _SQUEEZED * len(zlib.compress(data, 1)) > len(data):  # it hardly repeats
        pieces: tuple[Piece, ...] = (Piece(_base64(data), 1),)
    else:
        pieces = _pieces(data)
    if sum(len(piece.data) for piece in pieces) > LONGEST:
        raise TooLongError
    return pieces if len(pieces) > 1 or pieces[0].times > 1 else pieces[0].data


def unpacked(given: Bytes) -> bytes:
    """Return the bytes that `packed` was given."""
    if isinstance(given, str):
        return base64.b64decode(given)
    return b"".join(base64.b64decode(piece.data) * piece.times for piece in given)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _pieces(data: bytes) -> tuple[Piece, ...]:
    found: list[Piece] = []
    plain = at = 0
    while at < len(data) - _BEGINNING:
        period = data.find(data[at : at + _BEGINNING], at + 1, at + _LONGEST_PERIOD) - at
        times = _times(data, at, period) if period > 0 else 0
        if times < _FEWEST or times * period < 8 * _BEGINNING:
            at += 1
            if at - plain > LONGEST:
                raise TooLongError
            continue
        if plain < at:
            found.append(Piece(_base64(data[plain:at]), 1))
        found.append(Piece(_base64(data[at : at + period]), times))
        plain = at = at + times * period
    if plain < len(data):
        found.append(Piece(_base64(data[plain:]), 1))
    return tuple(found)


def _times(data: bytes, at: int, period: int) -> int:
    """Return how often the first `period` bytes from `at` on come in a row."""
    once = data[at : at + period]
    times = 0
    for together in (once * _TOGETHER, once):
        count = len(together) // period
        while data.startswith(together, at + times * period):
            times += count
    return times
