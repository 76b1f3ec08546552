"""Tensors as bytes and as JSON: exact for every datatype, and precise where they are wrong."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from v2_conformance.protocol.datatypes import (
    DATATYPES,
    ElementError,
    check_blob,
    decode_bytes,
    element_count,
    encode_bytes,
    from_json,
    from_values,
    to_json,
    to_values,
)

FLOATS = [name for name, d in DATATYPES.items() if d.kind == "float"]
FIXED = [name for name, d in DATATYPES.items() if d.size]
shapes = st.lists(st.integers(0, 4), max_size=4)


def refusal(datatype: str, shape: list[int], data: object) -> str:
    """Why this is no tensor: `data` is its bytes, or what its JSON has."""
    read: Any = check_blob if isinstance(data, bytes) else from_json
    with pytest.raises(ElementError) as error:
        read(datatype, shape, data)
    assert len(str(error.value)) < 1500
    return str(error.value)


# Byte strings that were written down, not computed.
KNOWN: list[tuple[str, list[Any], str]] = [
    ("BOOL", [True, False], "0100"),
    ("UINT8", [0, 255], "00ff"),
    ("UINT16", [1, 0x1234], "01003412"),
    ("UINT32", [0x12345678], "78563412"),
    ("UINT64", [2**53 + 1, 2**64 - 1], "0100000000002000ffffffffffffffff"),
    ("INT8", [-128, 127], "807f"),
    ("INT16", [-2], "feff"),
    ("INT32", [-1, 258], "ffffffff02010000"),
    ("INT64", [-(2**63), 1], "00000000000000800100000000000000"),
    ("FP16", [1.0, -2.0, 65504.0, 2.0**-24], "003c00c0ff7b0100"),
    ("BF16", [1.0, -2.0, 3.140625], "803f00c04940"),
    ("FP32", [1.0, -0.0, 2.0**-149], "0000803f0000008001000000"),
    ("FP64", [1.0, -0.5], "000000000000f03f000000000000e0bf"),
    ("BYTES", [b"ab", b"", b"\x00\xff"], "020000006162000000000200000000ff"),
]


@pytest.mark.parametrize(("datatype", "values", "wire"), KNOWN, ids=[k[0] for k in KNOWN])
def test_known_values_have_known_bytes(datatype: str, values: list[Any], wire: str) -> None:
    assert from_values(datatype, values).hex() == wire
    assert to_values(datatype, bytes.fromhex(wire)) == values
    if datatype != "BYTES":
        assert from_json(datatype, [len(values)], values).hex() == wire
        assert to_json(datatype, [len(values)], bytes.fromhex(wire)) == values


@pytest.mark.parametrize("datatype", FIXED)
@given(data=st.data())
def test_any_bits_survive_json_or_have_no_form(datatype: str, data: st.DataObject) -> None:
    size = DATATYPES[datatype].size or 0
    count = data.draw(st.integers(0, 4))
    blob = data.draw(st.binary(min_size=size * count, max_size=size * count))
    if datatype == "BOOL":
        blob = bytes(byte & 1 for byte in blob)
    values = to_values(datatype, blob)
    bad = [i for i, v in enumerate(values) if isinstance(v, float) and not math.isfinite(v)]
    if bad:
        with pytest.raises(ElementError, match=f"^element {bad[0]} is .*no JSON form"):
            to_json(datatype, [count], blob)
    else:
        assert from_values(datatype, values) == blob
        assert from_json(datatype, [count], to_json(datatype, [count], blob)) == blob


@given(st.lists(st.text('a\0"\\\u00e9\u65e5\U0001f642\uffff', max_size=8), max_size=4))
def test_strings_are_the_utf8_bytes_of_their_text(texts: list[str]) -> None:
    blob = from_json("BYTES", [len(texts)], texts)
    assert decode_bytes(blob) == [text.encode() for text in texts]
    assert to_json("BYTES", [len(texts)], blob) == texts


@given(shapes, st.sampled_from(["INT16", "BYTES"]))
def test_flat_and_nested_data_are_the_same_tensor(shape: list[int], datatype: str) -> None:
    count = element_count(shape)
    values = [str(i).encode() for i in range(count)] if datatype == "BYTES" else list(range(count))
    blob = from_values(datatype, values)
    nested = to_json(datatype, shape, blob, nested=True)
    flat = to_json(datatype, shape, blob)
    assert from_json(datatype, shape, nested) == from_json(datatype, shape, flat) == blob
    if shape and datatype == "INT16":
        assert nested == np.arange(count).reshape(shape).tolist()


def test_a_scalar_is_read_bare_and_as_an_array_of_one() -> None:
    assert from_json("INT8", [], 5) == from_json("INT8", [], [5]) == b"\x05"
    assert to_json("INT8", [], b"\x05", nested=True) == 5


# BF16: round to nearest even, once, from the double.


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        (-0.0, 0x8000),
        (1 + 2**-8, 0x3F80),  # the middle goes to the even neighbour
        (1 + 3 * 2**-8, 0x3F82),
        (1 + 2**-8 + 2**-40, 0x3F81),  # just above the middle, which FP32 cannot see
        (1 + 3 * 2**-8 - 2**-40, 0x3F81),
        (-(1 + 2**-8 + 2**-40), 0xBF81),
        (2.0**-134, 0x0000),
        (2.0**-134 * 1.0000001, 0x0001),
        (3.3895313892515355e38, 0x7F7F),
        (3.4e38, 0x7F80),
        (-1e300, 0xFF80),
        (math.inf, 0x7F80),
    ],
)
def test_bf16_rounds_to_nearest_even(value: float, pattern: int) -> None:
    assert from_values("BF16", [value]) == pattern.to_bytes(2, "little")


@pytest.mark.parametrize(
    "nan", [math.nan, -math.nan, struct.unpack("<d", bytes.fromhex("010000000000f07f"))[0]]
)
@pytest.mark.parametrize("datatype", FLOATS)
def test_rounding_never_turns_a_nan_into_something_else(datatype: str, nan: float) -> None:
    assert math.isnan(to_values(datatype, from_values(datatype, [nan]))[0])


# What is wrong is said with its index and its place.

ABSURD = ([2**62] * 300, [10**4000, 10**4000], [1] * 5000 + [0, 7])


@pytest.mark.parametrize(
    ("datatype", "shape", "data", "words"),
    [
        *(
            (name, [4], [0, 1.5, value, 2], f", out of the range of {name}")
            for name in FLOATS
            for value in (10**400, -(10**309), 1e400)
        ),
        ("INT8", [3], [0, 0, 128], "element 2 is 128, out of the range of INT8 (-128 to 127)"),
        ("UINT64", [2], [-1, 0], "element 0 is -1, out of the range of UINT64"),
        ("UINT64", [1], [2**64], "out of the range of UINT64"),
        ("INT64", [1], [2**63], "out of the range of INT64"),
        ("INT32", [1], [1.5], "element 0 is 1.5; expected an integer"),
        ("INT64", [2], [1.0, 2.0**60], "element 1 is 1.152921504606847e+18; expected an integer"),
        ("INT32", [2], [1, True], "element 1 is true; expected INT32"),
        ("BOOL", [1], [1], "element 0 is 1; expected BOOL"),
        ("FP32", [1], ["1"], "element 0 is '1'; expected FP32"),
        ("BYTES", [1], [None], "element 0 is null; expected BYTES"),
        ("BYTES", [2], ["ok", "\ud800"], "element 1 is a string with an unpaired surrogate"),
        ("INT32", [2], [1, 2, 3], "expected 2 elements, got 3"),
        ("INT32", [2, 2], [[1, 2]], "expected 2 rows, got 1"),
        ("INT32", [2, 2], [[1, 2], [3]], "expected arrays nested as [2, 2]"),
        ("INT32", [2, 2], [[1, 2], 3], "expected arrays nested as [2, 2]"),
        ("INT32", [2], [[1], [2]], "element 0 is an array; expected INT32"),
        ("INT32", [], [1, 2], "expected 1 elements, got 2"),
        ("INT32", [1], "1", "expected an array, got '1'"),
        ("INT32", [1], {"0": 1}, "expected an array, got an object"),
        ("INT32", [2, 3], bytes(23), "expected 24 bytes for INT32 [2, 3] (6 x 4), got 23"),
        ("BYTES", [2], b"\1\0\0\0a\5", "element 1 at byte 5: expected a length of 4 bytes, got 1"),
        ("BYTES", [2], b"\1\0\0\0a\2\0\0\0b", "element 1 at byte 5: expected 2 bytes (0x00000002)"),
        ("BYTES", [2], b"\xff" * 4 + b"a", "element 0 at byte 0: expected 4294967295 bytes"),
        ("BYTES", [2], b"\1\0\0\0a", "expected 2 BYTES elements, got 1"),
        ("BYTES", [2], bytes(12), "expected 2 BYTES elements, got 3"),
        *(
            (name, shape, data, "expected")
            for name in ("INT32", "BYTES")
            for shape in ABSURD
            for data in (bytes(4), [1], [[1], [1]])
        ),
    ],
)
def test_what_is_no_tensor_is_a_short_error(
    datatype: str, shape: list[int], data: object, words: str
) -> None:
    assert words in refusal(datatype, shape, data)


def test_an_element_without_json_or_without_its_end_is_an_error_with_its_index() -> None:
    with pytest.raises(ElementError, match="element 1 is not UTF-8 at its byte 2"):
        to_json("BYTES", [2], encode_bytes([b"ok", b"ab\xff"]))
    with pytest.raises(ElementError, match="element 3 at byte 12: expected 4 bytes of FP32, got 3"):
        to_values("FP32", bytes(15))


# Mostly lengths that are small, so that many elements fit and one of them is cut somewhere.
pieces = st.one_of(
    st.integers(0, 5).map(lambda length: struct.pack("<I", length)), st.binary(max_size=5)
)


@given(st.lists(pieces, max_size=12).map(b"".join))
def test_any_bytes_are_elements_to_the_last_one_or_an_error(blob: bytes) -> None:
    elements, offset = [], 0
    while len(blob) - offset >= 4:
        end = offset + 4 + int.from_bytes(blob[offset : offset + 4], "little")
        if end > len(blob):
            break
        elements.append(blob[offset + 4 : end])
        offset = end
    if offset == len(blob):
        assert decode_bytes(blob) == elements
        assert encode_bytes(elements) == blob
        return
    with pytest.raises(ElementError, match=f"^element {len(elements)} at byte {offset}: "):
        decode_bytes(blob)
