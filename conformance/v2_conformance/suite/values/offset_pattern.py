"""Bytes that follow from their offset alone: a tensor of any length can be made, sent and compared
in pieces, and a piece that is missing, repeated or in another place shows.

The word of eight bytes at offset 8 × i is (i + 1) × 0x9E3779B97F4A7C15 modulo 2^64, little-endian.
The factor is odd, so no two words of a tensor are the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it takes long to import, and few runs need it
    import numpy as np

BLOCK = 1 << 20
"""The pattern is made in pieces of this many bytes."""

_STEP = 0x9E3779B97F4A7C15
_WORD = 8
_MODULUS = 1 << 64


@lru_cache(maxsize=1)
def _first_block() -> np.ndarray[Any, Any]:
    import numpy as np

    words: np.ndarray[Any, Any] = np.arange(1, BLOCK // _WORD + 1, dtype="<u8")
    words *= np.uint64(_STEP)
    return words


def pattern_block(number: int) -> memoryview:
    """Block `number` of the pattern, from 0: its bytes from offset `number` × BLOCK on."""
    import numpy as np

    skipped = np.uint64(number * (BLOCK // _WORD) * _STEP % _MODULUS)
    return memoryview((_first_block() + skipped).data).cast("B")


def pattern_blocks(size: int) -> Iterator[memoryview]:
    """The first `size` bytes of the pattern, block by block."""
    for number in range((size + BLOCK - 1) // BLOCK):
        yield pattern_block(number)[: size - number * BLOCK]


def pattern_bytes(start: int, end: int) -> bytes:
    """The bytes of the pattern from offset `start` to `end`."""
    first = start // BLOCK
    last = max(first + 1, (end + BLOCK - 1) // BLOCK)
    data = b"".join(pattern_block(number) for number in range(first, last))
    return data[start - first * BLOCK : end - first * BLOCK]


@lru_cache(maxsize=8)
def pattern_digest(size: int) -> str:
    """The SHA-256 of the first `size` bytes of the pattern, in hex."""
    digest = hashlib.sha256()
    for block in pattern_blocks(size):
        digest.update(block)
    return digest.hexdigest()
