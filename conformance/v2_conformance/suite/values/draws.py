"""The values that a run draws for a case from its seed, so that no run can be answered from an
older one.

A draw maps values one to one and keeps what a case is about: the sign and the highest bit of every
number, the length of every text, what is a letter or a digit, which elements and bytes are equal.
So whatever a case shows with one seed it shows with every other.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from v2_conformance.protocol.datatypes import DATATYPES, decode_bytes, encode_bytes, from_values

_PLAIN = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]*")
# Hexadecimal digits stay so, and a number neither gets nor loses a leading zero. Each class has the
# factors that have none in common with its length.
_CLASSES: Mapping[str, tuple[int, ...]] = {
    "123456789": (1, 2, 4, 5, 7, 8),
    "abcdef": (1, 5),
    "ghijklmnopqrstuvwxyz": (1, 3, 7, 9, 11, 13, 17, 19),
}
# A server may write floats with six digits in JSON (D11), too few for a quarter of some numbers.
_SCALES = (0.5, 1, 2, 4, 8)
_FRACTIONS = 127  # elements before they repeat, as integers in `patterns`: a prime
_BITS = 61
_WORD = 8


@dataclass(frozen=True)
class Draw:
    """The values drawn for one case, from a `key` of its own."""

    key: bytes

    def _below(self, most: int, what: str) -> int:
        """Return a number below `most`, which is independent of those for anything else."""
        digest = hashlib.blake2b(what.encode(), key=self.key, digest_size=8).digest()
        return int.from_bytes(digest, "big") % most

    @cached_property
    def _bytes(self) -> bytes:
        """A permutation of bytes for `bytes.translate`. The highest bit stays."""
        factor, offset = 2 * self._below(64, "byte factor") + 1, self._below(128, "byte offset")
        return bytes((x & 128) | ((factor * x + offset) & 127) for x in range(256))

    @cached_property
    def _letters(self) -> bytes:
        """A permutation of ASCII letters and digits for `bytes.translate`, in each of _CLASSES."""
        table = bytearray(range(256))
        for letters, factors in _CLASSES.items():
            factor = factors[self._below(len(factors), f"factor {letters}")]
            offset = self._below(len(letters), f"offset {letters}")
            for i, letter in enumerate(letters):
                new = letters[(factor * i + offset) % len(letters)]
                table[ord(letter)], table[ord(letter.upper())] = ord(new), ord(new.upper())
        return bytes(table)

    def text(self, given: str) -> str:
        """Return another text for one of letters, digits and hyphens; any other as it is."""
        if not _PLAIN.fullmatch(given):
            return given
        return given.encode().translate(self._letters).decode()

    def elements(self, blob: bytes) -> bytes:
        """Return a BYTES tensor with other letters and digits in its elements."""
        return encode_bytes([element.translate(self._letters) for element in decode_bytes(blob)])

    def counted(self, datatype: str, blob: bytes) -> bytes:
        """Return a tensor of the pattern `counting` with other values."""
        spec = DATATYPES[datatype]
        if spec.kind == "float":
            return self._fractions(datatype, blob)
        if spec.kind == "bool":
            bits = self._below(1 << _BITS, "bits")
            period = bytes((bits >> i) & 1 for i in range(_BITS))
            # The first two differ in most tensors, which shows an answer of a single value.
            return (blob[:2] + period * (len(blob) // _BITS + 1))[: len(blob)]
        return blob.translate(self._bytes)

    def counted_in_json(self, datatype: str, blob: bytes) -> bytes:
        """Return a tensor of the pattern `counting_in_json` with other values."""
        if datatype not in ("INT64", "UINT64"):
            return self.counted(datatype, blob)
        made = bytearray(blob.translate(self._bytes))
        for place in (6, 7):  # what keeps them below 2^53
            made[place::_WORD] = blob[place::_WORD]
        return bytes(made)

    def turned(self, datatype: str, blob: bytes) -> bytes:
        """Return a tensor with its elements rotated."""
        size = DATATYPES[datatype].size or 1
        first = size * self._below(max(len(blob) // size, 1), "turn")
        return blob[first:] + blob[:first]

    def _fractions(self, datatype: str, blob: bytes) -> bytes:
        size = DATATYPES[datatype].size or 1
        factor, offset = 2 * self._below(32, "factor") + 1, self._below(64, "offset")
        numbers = _fractions(datatype, 1)
        scaled = _fractions(datatype, _SCALES[self._below(len(_SCALES), "scale")])
        place = {number: i for i, number in enumerate(numbers)}
        period = b"".join(
            scaled[(i & 64) | ((factor * i + offset) & 63)]
            for i in (
                place[blob[at : at + size]]
                for at in range(0, min(len(blob), size * _FRACTIONS), size)
            )
        )
        return (period * (len(blob) // max(len(period), 1) + 1))[: len(blob)]


@cache
def _fractions(datatype: str, scale: float) -> tuple[bytes, ...]:
    """Return the numbers that `counting` has for a float datatype in their order, scaled."""
    return tuple(from_values(datatype, [((i - 64) / 8 + 0.0625) * scale]) for i in range(128))


@lru_cache(maxsize=256)
def draw_for(seed: int | None, case_id: str) -> Draw | None:
    """Return what a run with this seed draws for a case; None, without a seed, for nothing."""
    if seed is None:
        return None
    key = hashlib.blake2b(f"{seed} {case_id}".encode(), digest_size=16).digest()
    return Draw(key)
