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
    blob_size,
    check_blob,
    decode_bytes,
    element_count,
    encode_bytes,
    from_json,
    from_values,
    to_array,
    to_json,
    to_values,
)

INTEGERS = [name for name, d in DATATYPES.items() if d.kind == "int"]
FLOATS = [name for name, d in DATATYPES.items() if d.kind == "float"]
FIXED = [name for name, d in DATATYPES.items() if d.size]
shapes = st.lists(st.integers(0, 4), max_size=4)


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


@pytest.mark.parametrize("datatype", INTEGERS)
def test_integers_survive_both_forms_over_their_whole_range(datatype: str) -> None:
    size = DATATYPES[datatype].size or 0
    signed = datatype.startswith("INT")
    low, high = (-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1) if signed else (0, 256**size - 1)

    @given(st.lists(st.integers(low, high), max_size=5))
    def check(values: list[int]) -> None:
        blob = from_values(datatype, values)
        assert blob == b"".join(v.to_bytes(size, "little", signed=signed) for v in values)
        assert to_values(datatype, blob) == values
        assert from_json(datatype, [len(values)], to_json(datatype, [len(values)], blob)) == blob

    check()
    for index, value in ((0, low - 1), (2, high + 1)):
        values = [0, 0, 0]
        values[index] = value
        with pytest.raises(ElementError, match=rf"element {index} is {value}, out of the range"):
            from_values(datatype, values)
        with pytest.raises(ElementError, match=rf"element {index} is {value}, out of the range"):
            from_json(datatype, [3], values)


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


@given(st.lists(st.binary(max_size=300), max_size=6))
def test_bytes_elements_are_exact_whatever_they_hold(elements: list[bytes]) -> None:
    blob = encode_bytes(elements)
    assert blob == b"".join(struct.pack("<I", len(e)) + e for e in elements)
    assert decode_bytes(blob, len(elements)) == elements
    assert to_values("BYTES", memoryview(blob)) == elements
    assert from_values("BYTES", elements) == blob


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
        (1.0, 0x3F80),
        (-0.0, 0x8000),
        (1 + 2**-8, 0x3F80),  # the middle goes to the even neighbour
        (1 + 3 * 2**-8, 0x3F82),
        (1 + 2**-8 + 2**-40, 0x3F81),  # just above the middle, which FP32 cannot see
        (1 + 3 * 2**-8 - 2**-40, 0x3F81),
        (-(1 + 2**-8 + 2**-40), 0xBF81),
        (2.0**-133, 0x0001),
        (2.0**-134, 0x0000),
        (2.0**-134 * 1.0000001, 0x0001),
        (3.3895313892515355e38, 0x7F7F),
        (3.4e38, 0x7F80),
        (1e300, 0x7F80),
        (-1e300, 0xFF80),
        (math.inf, 0x7F80),
        (-math.inf, 0xFF80),
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


@pytest.mark.parametrize("datatype", FLOATS)
@pytest.mark.parametrize("value", [10**400, -(10**309), 1e400, 1e308 * 10])
def test_number_beyond_the_datatype_is_an_error(datatype: str, value: float) -> None:
    with pytest.raises(ElementError, match=f"^element 2 is .*, out of the range of {datatype}"):
        from_json(datatype, [4], [0, 1.5, value, 2])


@pytest.mark.parametrize(
    ("datatype", "values"),
    [
        ("BOOL", [True, 1]),
        ("BOOL", [True, "true"]),
        ("INT32", [1, True]),
        ("INT32", [1, "1"]),
        ("INT32", [1, None]),
        ("FP32", [1, False]),
        ("FP32", [1.0, "NaN"]),
        ("BYTES", ["a", 1]),
        ("BYTES", ["a", {"b64": ""}]),
        ("INT32", [1, 1.5]),
        ("UINT64", [1, 1e19]),
        ("UINT64", [1, 2.0**53 * 2]),  # not known to be exact
    ],
)
def test_value_of_another_kind_is_an_error(datatype: str, values: list[Any]) -> None:
    with pytest.raises(ElementError, match=r"^element 1 is "):
        from_json(datatype, [2], values)


@pytest.mark.parametrize(
    ("shape", "data", "words"),
    [
        ([2], [1], "expected 2 elements, got 1"),
        ([2], [1, 2, 3], "expected 2 elements, got 3"),
        ([0], [1], "expected 0 elements, got 1"),
        ([2, 2], [[1, 2]], "expected 2 rows, got 1"),
        ([2, 2], [[1, 2], [3]], "expected arrays nested as [2, 2]"),
        ([2, 2], [[1, 2], 3], "expected arrays nested as [2, 2]"),
        ([4], [[1, 2], [3, 4]], "expected 4 rows, got 2"),
        ([2], [[1], [2]], "element 0 is an array; expected INT32"),
        ([], [1, 2], "expected 1 elements, got 2"),
        ([1], 1, "expected an array, got 1"),
        ([1], "1", "expected an array, got '1'"),
        ([1], {"0": 1}, "expected an array, got an object"),
    ],
)
def test_data_of_another_shape_is_an_error(shape: list[int], data: object, words: str) -> None:
    with pytest.raises(ElementError) as error:
        from_json("INT32", shape, data)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("blob", "words"),
    [
        ("0100000061 05", "element 1 at byte 5: expected a length of 4 bytes, got 1"),
        ("0100000061 050000", "element 1 at byte 5: expected a length of 4 bytes, got 3"),
        ("0100000061 02000000 62", "element 1 at byte 5: expected 2 bytes (0x00000002), as its"),
        ("ffffffff 61", "element 0 at byte 0: expected 4294967295 bytes (0xffffffff)"),
        ("00000000 00000001", "element 1 at byte 4: expected 16777216 bytes"),
        ("01000000 61", "expected 2 BYTES elements, got 1"),
        ("00000000 00000000 00000000", "expected 2 BYTES elements, got 3"),
        ("", "expected 2 BYTES elements, got 0"),
    ],
)
def test_a_broken_bytes_blob_is_an_error_with_index_and_offset(blob: str, words: str) -> None:
    with pytest.raises(ElementError) as error:
        check_blob("BYTES", [2], bytes.fromhex(blob))
    assert words in str(error.value)


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
        return
    with pytest.raises(ElementError, match=f"^element {len(elements)} at byte {offset}: "):
        decode_bytes(blob)


def test_bytes_that_are_not_utf8_are_an_error_with_index_and_offset() -> None:
    blob = encode_bytes([b"ok", b"ab\xff"])
    with pytest.raises(ElementError, match="element 1 is not UTF-8 at its byte 2"):
        to_json("BYTES", [2], blob)


def test_an_unpaired_surrogate_is_an_error_with_its_index() -> None:
    with pytest.raises(ElementError, match="element 1 is a string with an unpaired surrogate"):
        from_json("BYTES", [2], ["ok", "\ud800"])


@pytest.mark.parametrize("datatype", [name for name in FIXED if DATATYPES[name].size != 1])
def test_a_cut_element_is_an_error_with_index_and_offset(datatype: str) -> None:
    size = DATATYPES[datatype].size or 0
    with pytest.raises(
        ElementError, match=f"element 3 at byte {3 * size}: expected {size} bytes of "
    ):
        to_values(datatype, bytes(4 * size - 1))


@pytest.mark.parametrize("datatype", FIXED)
def test_a_blob_of_another_size_is_an_error_that_says_the_right_one(datatype: str) -> None:
    size = DATATYPES[datatype].size or 0
    check_blob(datatype, [2, 3], bytes(6 * size))
    assert blob_size(datatype, [2, 3]) == 6 * size
    for wrong in (6 * size - 1, 6 * size + 1, 0):
        with pytest.raises(ElementError) as error:
            check_blob(datatype, [2, 3], bytes(wrong))
        right = f"expected {6 * size} bytes for {datatype} [2, 3] (6 x {size}), got {wrong}"
        assert str(error.value) == right


@pytest.mark.parametrize("shape", [[2**62] * 300, [10**4000, 10**4000], [1] * 5000 + [0, 7]])
@pytest.mark.parametrize("datatype", ["INT32", "BYTES"])
def test_an_absurd_shape_is_a_short_error(datatype: str, shape: list[int]) -> None:
    for check in (lambda: check_blob(datatype, shape, b"\0" * 4),
                  lambda: from_json(datatype, shape, [1]),
                  lambda: from_json(datatype, shape, [[1], [1]])):  # fmt: skip
        with pytest.raises(ElementError) as error:
            check()
        assert len(str(error.value)) < 1500


def test_element_count_never_overflows() -> None:
    assert element_count([]) == 1
    assert element_count([2**62, 4, 0]) == 0
    assert element_count([2**62, 16]) == 2**66


def test_an_array_shares_the_blobs_memory() -> None:
    blob = bytearray(8)
    array = to_array("INT32", blob)
    blob[4] = 7
    assert array.tolist() == [0, 7]
    with pytest.raises(ElementError):
        to_array("BYTES", b"")


@pytest.mark.parametrize("count", [4095, 4096, 4097, 50_000])
def test_many_elements_are_exact(count: int) -> None:
    elements = [bytes([i % 256]) * (i % 3) for i in range(count)]
    blob = encode_bytes(elements)
    assert blob == b"".join(struct.pack("<I", len(e)) + e for e in elements)
    assert decode_bytes(blob, count) == elements
