"""Named value patterns: the same bits for the same name, datatype and count, in every release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import DATATYPES, decode_bytes, encode_bytes, from_values

# Odd, so that multiples of it visit every value; its bytes are all different, so a swapped or
# shifted byte shows.
_STEP = 0x9E3779B97F4A7C15

_FLOAT_BITS: dict[str, tuple[int, int, int]] = {  # width, exponent bits, mantissa bits
    "FP16": (16, 5, 10),
    "BF16": (16, 8, 7),
    "FP32": (32, 8, 23),
    "FP64": (64, 11, 52),
}


def pattern(name: str, datatype: str, count: int, *, skip: int = 0) -> bytes:
    """The blob of `count` elements of the pattern `name`; a short pattern is repeated.

    With `skip` it begins that many elements later, so that requests sent together differ.
    Raises CaseFileError for a pattern that is unknown or not for this datatype.
    """
    make = _PATTERNS.get(name)
    if make is None:
        known = ", ".join(sorted(_PATTERNS))
        raise CaseFileError(f"there is no value pattern {name!r}; there are: {known}")
    blob = make(datatype, count + skip)
    if not skip:
        return blob
    size = DATATYPES[datatype].size
    if size is None:
        return encode_bytes(decode_bytes(blob)[skip:])
    return blob[skip * size :]


def _repeat(items: list[Any], count: int) -> list[Any]:
    return [items[i % len(items)] for i in range(count)]


def _of_bits(datatype: str, patterns: list[int], count: int) -> bytes:
    size = DATATYPES[datatype].size or 1
    return b"".join(bits.to_bytes(size, "little") for bits in _repeat(patterns, count))


def _counting(datatype: str, count: int) -> bytes:
    """Finite, all different as far as the datatype goes, no two bytes of an element alike."""
    kind = DATATYPES[datatype].kind
    if kind == "bytes":
        return encode_bytes([f"element-{i}-{'x' * (i * 7 % 13)}".encode() for i in range(count)])
    if kind == "bool":
        return bytes(((i * i + i // 3 + 1) % 3 == 1) for i in range(count))
    if kind == "int":
        size = DATATYPES[datatype].size or 1
        mixed = np.arange(1, count + 1, dtype="<u8")
        mixed *= np.uint64(_STEP)
        mixed >>= np.uint64(64 - 8 * size)
        integers: bytes = mixed.astype(f"<u{size}", copy=False).tobytes()
        return integers
    # Dyadic fractions of few bits: exact in every float datatype, and in decimal.
    return from_values(datatype, [((i * 37) % 128 - 64) / 8 + 0.0625 for i in range(count)])


def _extremes(datatype: str, count: int) -> bytes:
    """The corners of the datatype, infinities included."""
    kind = DATATYPES[datatype].kind
    if kind == "float":
        bits = _float_corners(datatype)
        return _of_bits(datatype, bits["finite"] + bits["infinite"], count)
    return _finite_extremes(datatype, count)


def _finite_extremes(datatype: str, count: int) -> bytes:
    """The corners of the datatype that JSON can say."""
    spec = DATATYPES[datatype]
    if spec.kind == "bytes":
        return _ascii(datatype, count)
    if spec.kind == "bool":
        return from_values(datatype, _repeat([True, False, False, True, True], count))
    if spec.kind == "float":
        return _of_bits(datatype, _float_corners(datatype)["finite"], count)
    width = 8 * (spec.size or 1)
    signed = 1 << (width - 1)
    asymmetric = int.from_bytes(bytes(range(1, width // 8 + 1)), "big")
    corners = [0, 1, (1 << width) - 1, signed, signed - 1, asymmetric, signed | asymmetric]
    return _of_bits(datatype, corners, count)


def _float_corners(datatype: str) -> dict[str, list[int]]:
    width, exponent, mantissa = _FLOAT_BITS[datatype]
    sign = 1 << (width - 1)
    infinity = ((1 << exponent) - 1) << mantissa
    largest, smallest_normal = infinity - 1, 1 << mantissa
    one_third = (((1 << (exponent - 1)) - 3) << mantissa) | int("01" * 32, 2) & (
        (1 << mantissa) - 1
    )
    positive = [0, 1, smallest_normal - 1, smallest_normal, one_third, largest]
    quiet = infinity | 1 << (mantissa - 1)
    return {
        "finite": [sign, *positive, *(sign | bits for bits in positive[1:])],
        "infinite": [infinity, sign | infinity],
        "quiet": [quiet | 1, sign | quiet | 0x2A, quiet | ((1 << (mantissa - 1)) - 1)],
        "signalling": [infinity | 1, sign | infinity | 0x15],
    }


def _corners(name: str) -> Callable[[str, int], bytes]:
    def make(datatype: str, count: int) -> bytes:
        if datatype not in _FLOAT_BITS:
            raise CaseFileError(f"{datatype} has no NaN")
        return _of_bits(datatype, _float_corners(datatype)[name], count)

    return make


def _beyond_double(datatype: str, count: int) -> bytes:
    """64-bit integers that a double cannot hold."""
    if datatype not in ("INT64", "UINT64"):
        raise CaseFileError(f"{datatype} has no integers beyond a double's")
    values = [2**53 + 1, 2**62 + 3, 2**63 - 1]
    values += [2**64 - 1, 2**63 + 1] if datatype == "UINT64" else [-(2**53) - 1, -(2**63) + 1]
    return from_values(datatype, _repeat(values, count))


def _ones(datatype: str, count: int) -> bytes:
    return from_values(datatype, [b"\x01" if datatype == "BYTES" else 1] * count)


def _not_json(datatype: str, count: int) -> bytes:
    """Blobs whose first byte can neither continue nor end a JSON text, nor be a NUL."""
    size = DATATYPES[datatype].size
    if size is None:
        raise CaseFileError("a BYTES blob starts with a length")
    return bytes(0xC1 + i % 7 for i in range(size * count))


def _elements(*items: bytes) -> Callable[[str, int], bytes]:
    def make(datatype: str, count: int) -> bytes:
        if datatype != "BYTES":
            raise CaseFileError("this value pattern is for BYTES only")
        return encode_bytes(_repeat(list(items), count))

    return make


_ascii = _elements(b"a", b"bc", b"conformance", b"0", b"with space", b"x" * 40)

_PATTERNS: dict[str, Callable[[str, int], bytes]] = {
    "counting": _counting,
    "extremes": _extremes,
    "finite_extremes": _finite_extremes,
    "quiet_nans": _corners("quiet"),
    "signalling_nans": _corners("signalling"),
    "beyond_double": _beyond_double,
    "ones": _ones,
    "not_json": _not_json,
    "ascii": _ascii,
    "unicode": _elements("é".encode(), "日本語".encode(), "🙂 plain".encode(), b"ascii"),
    "all_bytes": _elements(bytes(range(256)), b"\xff\xfe\xfd", b"\x80", b"\xc3\x28"),
    "empty_elements": _elements(b"", b"ab", b"", b"", b"c", b""),
    "only_empty": _elements(b""),
    "nuls": _elements(b"a\x00b", b"tail\x00", b"\x00", b"\x00\x00lead", b"two\x00\x00"),
    "ascii_258": _elements(b"abcdefghijklmnopqrstuvwxyz"[:25] * 10 + b"ABCDEFGH", b"xy"),
    "long_element": _elements(bytes(33 + i * 31 % 89 for i in range(70_000)), b"end"),
    "one_byte": _elements(*(bytes([i]) for i in range(33, 127))),
    "invalid_utf8": _elements(b"\xff\xfe", b"ok"),
}
PATTERNS = tuple(_PATTERNS)
