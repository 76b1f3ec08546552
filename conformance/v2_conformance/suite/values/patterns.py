"""Named value patterns: the bits depend on name, datatype, count and draw alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from typing import Any, Literal

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import (
    DATATYPES,
    decode_bytes,
    encode_bytes,
    from_values,
    to_values,
)
from v2_conformance.suite.values.draws import Draw
from v2_conformance.terminal_safe_text import did_you_mean

Pattern = Callable[[str, int], bytes]
"""Makes the blob of so many elements of a datatype. Raises CaseFileError."""

# Odd, so its multiples visit every value; no two bytes alike, so a swapped or shifted one shows.
_COUNTING_STEP = 0x9E3779B97F4A7C15
# After this many elements the values repeat, so that a report can deflate a long tensor. They are
# primes: whatever is shifted by a buffer's length, a power of two, still shows.
_INTEGERS = 1021
_FRACTIONS = 127
_FEW = 1024  # elements; longer tensors are not kept to be used again


# The bits of binary floats: of the exponent and of the mantissa.
_FLOAT_FORMATS = {"FP16": (5, 10), "BF16": (8, 7), "FP32": (8, 23), "FP64": (11, 52)}


def value_pattern(
    name: str, datatype: str, count: int, *, skip: int = 0, draw: Draw | None = None
) -> bytes:
    """The blob of `count` elements of the pattern `name`. A short pattern is repeated.

    With `skip`, it starts that many elements later, so that concurrent requests differ; with a
    `draw`, it has the values that a run drew. Raises CaseFileError for a pattern that is unknown or
    not for this datatype.
    """
    blob = _written(name, datatype, count, skip)
    if draw is None or name in _AS_WRITTEN:
        return blob
    if DATATYPES[datatype].kind == "bytes":
        return draw.elements(blob)
    if name == "counting":
        return draw.counted(datatype, blob)
    if name == "counting_in_json":
        return draw.counted_in_json(datatype, blob)
    return draw.turned(datatype, blob)


def _written(name: str, datatype: str, count: int, skip: int) -> bytes:
    make = VALUE_PATTERNS.get(name)
    if make is None:
        hint = did_you_mean(
            name, VALUE_PATTERNS, f"the patterns are {', '.join(sorted(VALUE_PATTERNS))}"
        )
        raise CaseFileError(f"unknown value pattern {name!r}: {hint}")
    blob = _made(name, datatype, count + skip) if count <= _FEW else make(datatype, count + skip)
    if not skip:
        return blob
    size = DATATYPES[datatype].size
    if size is None:
        return encode_bytes(decode_bytes(blob)[skip:])
    return blob[skip * size :]


@lru_cache(maxsize=512)
def _made(name: str, datatype: str, count: int) -> bytes:
    """Most cases of a datatype have the same few short tensors."""
    return VALUE_PATTERNS[name](datatype, count)


def _filled(datatype: str, period: bytes, count: int) -> bytes:
    size = count * (DATATYPES[datatype].size or 1)
    return (period * (size // len(period) + 1))[:size]


def _repeated(datatype: str, values: list[Any], count: int) -> bytes:
    return _filled(datatype, from_values(datatype, values), count)


def _from_bits(datatype: str, elements: list[int], count: int) -> bytes:
    size = DATATYPES[datatype].size or 1
    return _filled(datatype, b"".join(bits.to_bytes(size, "little") for bits in elements), count)


def _counting(datatype: str, count: int) -> bytes:
    """Finite values with different bytes in each; up to 1021 integers differ."""
    if DATATYPES[datatype].kind == "bytes":
        return encode_bytes([f"element-{i}-{'x' * (i * 7 % 13)}".encode() for i in range(count)])
    return _filled(datatype, _counted(datatype), count)


@cache
def _counted(datatype: str) -> bytes:
    spec = DATATYPES[datatype]
    if spec.kind == "bool":
        return bytes(((i * i + i // 3 + 1) % 3 == 1) for i in range(9))
    if spec.kind == "int":
        import numpy as np  # not before it is needed: it takes long

        size = spec.size or 1
        mixed = np.arange(1, _INTEGERS + 1, dtype="<u8")
        mixed *= np.uint64(_COUNTING_STEP)
        mixed >>= np.uint64(64 - 8 * size)
        integers: bytes = mixed.astype(f"<u{size}", copy=False).tobytes()
        return integers
    # Fractions with few bits: exact in every float datatype, and in decimal.
    return from_values(datatype, [((i * 37) % 128 - 64) / 8 + 0.0625 for i in range(_FRACTIONS)])


def _counting_in_json(datatype: str, count: int) -> bytes:
    """As `counting`, but with 64-bit integers below 2^53, which every JSON parser keeps (D11)."""
    if datatype not in ("INT64", "UINT64"):
        return _counting(datatype, count)
    values = [value >> 11 for value in to_values("UINT64", _counted("UINT64"))]
    least = 0 if datatype == "UINT64" else -(2**52)
    return _repeated(datatype, [value + least for value in values], count)


def _extremes(datatype: str, count: int) -> bytes:
    kind = DATATYPES[datatype].kind
    if kind == "float":
        corners = _float_corners(datatype)
        return _from_bits(datatype, corners["finite"] + corners["infinite"], count)
    return _finite_extremes(datatype, count)


def _finite_extremes(datatype: str, count: int) -> bytes:
    spec = DATATYPES[datatype]
    if spec.kind == "bytes":
        return _ascii(datatype, count)
    if spec.kind == "bool":
        return _repeated(datatype, [True, False, False, True, True], count)
    if spec.kind == "float":
        return _from_bits(datatype, _float_corners(datatype)["finite"], count)
    width = 8 * (spec.size or 1)
    signed = 1 << (width - 1)
    asymmetric = int.from_bytes(bytes(range(1, width // 8 + 1)), "big")
    corners = [0, 1, (1 << width) - 1, signed, signed - 1, asymmetric, signed | asymmetric]
    return _from_bits(datatype, corners, count)


@cache
def _float_corners(datatype: str) -> Mapping[str, list[int]]:
    exponent, mantissa = _FLOAT_FORMATS[datatype]
    sign = 1 << (exponent + mantissa)
    infinity = ((1 << exponent) - 1) << mantissa
    largest, smallest_normal = infinity - 1, 1 << mantissa
    fraction = (1 << mantissa) - 1
    one_third = ((1 << (exponent - 1)) - 3) << mantissa | int("01" * 32, 2) & fraction
    positive = [0, 1, smallest_normal - 1, smallest_normal, one_third, largest]
    quiet = infinity | 1 << (mantissa - 1)
    return {
        "finite": [sign, *positive, *(sign | bits for bits in positive[1:])],
        "infinite": [infinity, sign | infinity],
        "quiet": [quiet | 1, sign | quiet | 0x2A, quiet | ((1 << (mantissa - 1)) - 1)],
        "signaling": [infinity | 1, sign | infinity | 0x15],
    }


def _nans(kind: Literal["quiet", "signaling"], datatype: str, count: int) -> bytes:
    if datatype not in _FLOAT_FORMATS:
        raise CaseFileError(f"{datatype} has no NaN")
    return _from_bits(datatype, _float_corners(datatype)[kind], count)


def _beyond_double(datatype: str, count: int) -> bytes:
    if datatype not in ("INT64", "UINT64"):
        raise CaseFileError(f"{datatype} has no integers that a double cannot represent")
    values = [2**53 + 1, 2**62 + 3, 2**63 - 1]
    values += [2**64 - 1, 2**63 + 1] if datatype == "UINT64" else [-(2**53) - 1, -(2**63) + 1]
    return _repeated(datatype, values, count)


def _tenths(datatype: str, count: int) -> bytes:
    """Floats of three digits, none of which is exact in binary."""
    if DATATYPES[datatype].kind != "float":
        raise CaseFileError(f"this value pattern is only for floats, not for {datatype}")
    return _repeated(datatype, [number + 0.1 for number in range(16, 29)], count)


def _ones(datatype: str, count: int) -> bytes:
    return from_values(datatype, [b"\x01" if datatype == "BYTES" else 1]) * count


def _not_json(datatype: str, count: int) -> bytes:
    """Bytes that can neither continue nor end a JSON text, and are not NULs."""
    size = DATATYPES[datatype].size
    if size is None:
        raise CaseFileError("this value pattern is not for BYTES, whose blobs start with a length")
    return _filled("UINT8", bytes(range(0xC1, 0xC8)), size * count)


def _bytes_elements(*items: bytes) -> Pattern:
    def make(datatype: str, count: int) -> bytes:
        if datatype != "BYTES":
            raise CaseFileError(f"this value pattern is only for BYTES, not for {datatype}")
        whole, rest = divmod(count, len(items))
        return encode_bytes(items) * whole + encode_bytes(items[:rest])

    return make


def _elements_of(*sizes: int) -> Pattern:
    """Elements of so many bytes, made only when asked for: they may be long."""
    return lambda datatype, count: _bytes_elements(*map(_long, sizes))(datatype, count)


def _long(size: int) -> bytes:
    period = bytes(33 + i * 31 % 89 for i in range(89))
    return (period * (size // 89 + 1))[:size]


_ascii = _bytes_elements(b"a", b"bc", b"conformance", b"0", b"with space", b"x" * 40)

VALUE_PATTERNS: dict[str, Pattern] = {
    "counting": _counting,
    "counting_in_json": _counting_in_json,
    "extremes": _extremes,
    "finite_extremes": _finite_extremes,
    "quiet_nans": partial(_nans, "quiet"),
    "signalling_nans": partial(_nans, "signaling"),
    "beyond_double": _beyond_double,
    "tenths": _tenths,
    "ones": _ones,
    "not_json": _not_json,
    "ascii": _ascii,
    "unicode": _bytes_elements("é".encode(), "日本語".encode(), "🙂 plain".encode(), b"ascii"),
    "all_bytes": _bytes_elements(bytes(range(256)), b"\xff\xfe\xfd", b"\x80", b"\xc3\x28"),
    "empty_elements": _bytes_elements(b"", b"ab", b"", b"", b"c", b""),
    "only_empty": _bytes_elements(b""),
    "nuls": _bytes_elements(b"a\x00b", b"tail\x00", b"\x00", b"\x00\x00lead", b"two\x00\x00"),
    "ascii_258": _bytes_elements(b"abcdefghijklmnopqrstuvwxyz"[:25] * 10 + b"ABCDEFGH", b"xy"),
    "around_a_byte": _bytes_elements(*(_long(size) for size in (127, 128, 200, 255, 257))),
    "sizes_of_buffers": _elements_of(*(2**n - less for n in range(8, 17) for less in (1, 0))),
    "alike": _bytes_elements(_long(80) + b"a", _long(80) + b"b"),
    "long_element": _bytes_elements(_long(70_000), b"end"),
    **{
        f"element_of_{size}": _elements_of(size)
        for size in (1100, 65_000, 70_000, 1_000_000, 1_100_000, 64_000_000)
    },
    "one_byte": _bytes_elements(*(bytes([i]) for i in range(33, 127))),
    "invalid_utf8": _bytes_elements(b"\xff\xfe", b"ok"),
}
# Every byte of these is what they are about.
_AS_WRITTEN = frozenset({"ones", "not_json", "invalid_utf8"})
