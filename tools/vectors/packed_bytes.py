"""Bytes as a vector has them: base64, and long ones as pieces that repeat."""

from __future__ import annotations

import base64
import zlib
from functools import lru_cache
from typing import Any

from v2_conformance.protocol.datatypes import Buffer

Bytes = str | list[dict[str, Any]]
"""Base64, or pieces: their `data` in base64, and how many `times` it comes."""

LONGEST = 12 * 1024
"""Bytes of base64 that one text of a vector may have; what is longer after packing is left out."""

_SHORT = 2048
_BEGINNING = 48
_LONGEST_PERIOD = 9 * 1024
_SQUEEZED = 4
_TOGETHER = 256
_FEWEST = 4  # repetitions that are worth a piece


class NoVectorError(ValueError):
    """A case is no vector. Its text says why: what it shows depends on the *company* of other
    requests or connections, it is about *http* or *long*, or asks *nothing* that a message shows.
    """


def packed(data: Buffer) -> Bytes:
    """Return `data` in base64, or as pieces if it is long and repeats. Raises NoVectorError."""
    return _packed(bytes(data))


@lru_cache(maxsize=64)
def _packed(data: bytes) -> Bytes:
    if len(data) <= _SHORT:
        return _base64(data)
    if _SQUEEZED * len(zlib.compress(data, 1)) > len(data):  # it hardly repeats
        pieces = [_piece(data, 1)]
    else:
        pieces = _pieces(data)
    if sum(len(piece["data"]) for piece in pieces) > LONGEST:
        raise NoVectorError("long")
    return pieces if len(pieces) > 1 or pieces[0]["times"] > 1 else str(pieces[0]["data"])


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _piece(data: bytes, times: int) -> dict[str, Any]:
    return {"data": _base64(data), "times": times}


def _pieces(data: bytes) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    plain = at = 0
    while at < len(data) - _BEGINNING:
        period = data.find(data[at : at + _BEGINNING], at + 1, at + _LONGEST_PERIOD) - at
        times = _times(data, at, period) if period > 0 else 0
        if times < _FEWEST or times * period < 8 * _BEGINNING:
            at += 1
            if at - plain > LONGEST:
                raise NoVectorError("long")
            continue
        if plain < at:
            results.append(_piece(data[plain:at], 1))
        results.append(_piece(data[at : at + period], times))
        plain = at = at + times * period
    if plain < len(data):
        results.append(_piece(data[plain:], 1))
    return results


def _times(data: bytes, at: int, period: int) -> int:
    """Return how often the first `period` bytes from `at` on come in a row."""
    once = data[at : at + period]
    times = 0
    for together in (once * _TOGETHER, once):
        count = len(together) // period
        while data.startswith(together, at + times * period):
            times += count
    return times
