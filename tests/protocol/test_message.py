"""The strict reading of JSON, and where the parts of a message lie."""

from __future__ import annotations

import contextlib
import json
import math
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from v2_conformance.protocol.message import (
    MAX_JSON_DEPTH,
    MessageError,
    RepeatedMemberError,
    compose,
    dump_json,
    json_object,
    occurrences,
    parse_json,
    parse_json_noting,
)


def refused(data: bytes) -> str:
    with pytest.raises(MessageError) as error:
        parse_json(data)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300
    return str(error.value)


@pytest.mark.parametrize("data", [b'{"a": NaN}', b'{"a": Infinity}', b'{"a": [-Infinity]}'])
def test_numbers_that_json_does_not_have_are_refused(data: bytes) -> None:
    assert "is not JSON" in refused(data)


def test_a_duplicate_member_is_refused_at_any_depth() -> None:
    assert "member 'a' twice" in refused(b'{"a": 1, "b": 2, "a": 1}')
    assert "member 'x' twice" in refused(b'{"a": [{"x": 1, "x": 2}]}')


@pytest.mark.parametrize("at", [1, 7])
def test_invalid_utf8_is_refused_with_its_offset(at: int) -> None:
    assert f"not UTF-8 at byte {at}" in refused(b'{"a": "b"}'[:at] + b"\xff" + b'{"a": "b"}'[at:])


def test_a_byte_order_mark_is_refused() -> None:
    assert "BOM" in refused(b'\xef\xbb\xbf{"a": 1}')


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32-le"])
def test_other_encodings_are_refused(encoding: str) -> None:
    refused('{"a": "é"}'.encode(encoding))


def test_the_offset_of_a_syntax_error_counts_bytes_not_characters() -> None:
    assert "at byte 10:" in refused('{"é日": x}'.encode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"{",
        b"{}{}",
        b"{}x",
        b"{}\x00",
        b"{,}",
        b'{"a": 1,}',
        b"{'a': 1}",
        b'{"a": 01}',
        b'{"a": "\x01"}',
        b'{"a": "\t"}',
        b"\x0b{}",
        b"{}\xc2\xa0",
        b'{"a": 0x10}',
        b'{"a": +1}',
        b'{"a": .5}',
        rb'{"a": "\x41"}',
    ],
)
def test_what_is_not_json_is_refused(data: bytes) -> None:
    refused(data)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"[]", "an array"),
        (b'"text"', "a string"),
        (b"3", "a number"),
        (b"3.5", "a number"),
        (b"null", "null"),
        (b"true", "a boolean"),
    ],
)
def test_json_other_than_an_object_is_refused(data: bytes, kind: str) -> None:
    assert refused(data) == f"expected a JSON object, got {kind}"


@pytest.mark.parametrize("data", [b" \t\r\n{} \t\r\n", bytearray(b"{}"), memoryview(b"{}")])
def test_white_space_and_buffers_are_read(data: bytes | bytearray | memoryview) -> None:
    assert parse_json(data) == {}


@pytest.mark.parametrize("piece", [b"[", b'{"a":', b'[{"a":'])
def test_nesting_of_a_hundred_thousand_levels_is_refused(piece: bytes) -> None:
    assert "nested deeper" in refused(piece * 100_000)
    assert "nested deeper" in refused(b'{"a": ' + piece * 100_000)


def test_depth_is_bounded_exactly_and_brackets_in_strings_do_not_count() -> None:
    inner = MAX_JSON_DEPTH - 1
    assert parse_json(b'{"a": ' + b"[" * inner + b"]" * inner + b"}")
    assert "nested deeper" in refused(b'{"a": ' + b"[" * (inner + 1) + b"]" * (inner + 1) + b"}")
    text = '\\"' + "[" * 1000
    assert parse_json(dump_json({"a": text})) == {"a": text}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("start", [b"", b'{"a": "'])
def test_a_string_that_never_ends_takes_no_time_for_each_quote_in_it(start: bytes) -> None:
    """Were every quote tried as the beginning of a string, this would take hours."""
    assert "JSON" in refused(start + b"[" * 100 + b'"' + b'\\"' * 2_000_000)


def test_an_integer_of_ten_thousand_digits_is_refused_or_exact() -> None:
    data = b'{"a": ' + b"9" * 10_000 + b"}"
    if hasattr(sys, "set_int_max_str_digits"):
        assert "over 4,300 digits" in refused(data)
    else:
        assert parse_json(data) == {"a": 10**10_000 - 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-0", -0.0),
        ("-0.0", -0.0),
        ("-0e5", -0.0),
        ("0", 0),
        ("-1", -1),
        ("-05.0", None),
        ("9007199254740993.0", 2**53 + 1),
        ("-9007199254740993.0", -(2**53) - 1),
        ("9.223372036854775807e18", 2**63 - 1),
        ("18446744073709551615e0", 2**64 - 1),
        ("184467440737095516150E-1", 2**64 - 1),
        ("1e2", 100.0),
        ("9007199254740993.5", 9007199254740994.0),
        ("1.8446744073709551616e19", 2.0**64),
        ("1e308", 1e308),
        ("1e-999999999", 0.0),
    ],
)
def test_numbers_keep_their_value_however_they_are_written(text: str, value: float | None) -> None:
    data = b'{"a": [%b, 1.5]}' % text.encode()
    if value is None:
        with pytest.raises(MessageError):
            parse_json(data)
        return
    tolerant = json_object(data + b" and more")
    assert tolerant is not None
    for document in (parse_json(data), tolerant[0]):
        found = document["a"][0]
        assert found == value
        assert str(found) == str(value)  # the type and the sign of zero


def test_repeated_members_are_allowed_on_demand_and_the_last_counts() -> None:
    assert parse_json(b'{"a": 1, "a": {"b": 2, "b": 3}}', unique=False) == {"a": {"b": 3}}
    with pytest.raises(RepeatedMemberError) as error:
        parse_json(b'{"a": {"b": 2, "b": 3}}')
    assert error.value.member == "b"


@given(st.binary(max_size=64))
def test_no_bytes_at_all_raise_anything_else(data: bytes) -> None:
    with contextlib.suppress(MessageError):
        parse_json(data)


TEXT = st.text('a\0\n"\\\u00e9\u65e5\U0001f642{[', max_size=6)
# In between, what is written is a whole number, though not the one that the double is.
FLOATS = st.floats(-(2.0**53), 2.0**53) | st.floats(2.0**65, 1e308) | st.floats(-1e308, -(2.0**65))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@settings(max_examples=50)
@given(st.dictionaries(TEXT, json_values, max_size=2))
def test_what_is_dumped_is_read_again(document: dict[str, object]) -> None:
    assert parse_json(dump_json(document)) == document
    assert json.loads(dump_json(document)) == document


def test_a_repeated_member_is_noticed_in_long_arrays_and_between_texts() -> None:
    twice = b'{"x":1,"x":{}}'
    for data in (
        b'{"a":[' + b",".join([b"{}"] * 2000 + [twice]) + b"]}",
        b'{"a":[1,' + twice + b"]}",
        b'{"a":"\\u003a","b":' + twice + b"}",
        b'{"a":{"b":[' + twice + b"]}}",
    ):
        assert parse_json_noting(data)[1] == "x"


@pytest.mark.parametrize("repeated", [1, 30_000])
@given(st.text(alphabet='[{:",é-0', max_size=20))
def test_characters_are_counted_in_short_and_in_long_texts(repeated: int, text: str) -> None:
    data = (text * repeated).encode()
    for wanted in ("[", "[{", ":,", '"'):
        assert occurrences(data, wanted) == sum(map((text * repeated).count, wanted))


def test_negative_zero_is_kept_beside_other_dashes() -> None:
    (zero,) = parse_json(b'{"a-b": [-0]}')["a-b"]
    assert math.copysign(1, zero) == -1
    assert parse_json(b'{"a-b": [-1, 0]}') == {"a-b": [-1, 0]}


@given(st.binary(max_size=9), st.binary(max_size=9), st.lists(st.binary(max_size=9), max_size=4))
def test_parts_leave_no_gap(head: bytes, document: bytes, blobs: list[bytes]) -> None:
    wire, parts = compose(head, document, [(str(i), blob) for i, blob in enumerate(blobs)])
    body = wire[len(head) :]
    assert wire[: len(head)] == head
    assert [body[part.start : part.end] for part in parts] == [document, *blobs]
    assert [part.start for part in parts[1:]] == [part.end for part in parts[:-1]]
    assert parts[-1].end == len(body)


@pytest.mark.parametrize("length", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_depth_is_seen_wherever_a_long_text_is_looked_at_in_parts(length: int) -> None:
    before = b'{"a": "' + b"]" * length + b'", "b": '
    for escape in (b"", b'"\\u0041", '):
        enough, more = (b"[" * n + escape + b"1" + b"]" * n + b"}" for n in (63, 64))
        parse_json(before + enough)
        assert "nested deeper" in refused(before + more)
