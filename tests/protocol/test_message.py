"""The strict reading of JSON, and where the parts of a message lie."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from v2_conformance.protocol.message import (
    MAX_JSON_DEPTH,
    MessageError,
    RepeatedMemberError,
    dump_json,
    json_object,
    parse_json,
    parse_json_noting,
)


def refused(data: bytes) -> str:
    with pytest.raises(MessageError) as error:
        parse_json(data)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300
    return str(error.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"a": NaN}', "is not JSON"),
        (b'{"a": [-Infinity]}', "is not JSON"),
        (b'{"a": 1, "b": 2, "a": 1}', "member 'a' twice"),
        (b'{"a": [{"x": 1, "x": 2}]}', "member 'x' twice"),
        (b'{"a": "\xff"}', "not UTF-8 at byte 7"),
        (b'\xef\xbb\xbf{"a": 1}', "BOM"),
        ('{"a": "é"}'.encode("utf-16"), ""),
        ('{"é日": x}'.encode(), "at byte 10:"),  # bytes, not characters
        *((data, "") for data in (b"", b"{", b"{}{}", b"{}\x00", b'{"a": 1,}', b"{'a': 1}")),
        *((data, "") for data in (b'{"a": 01}', b'{"a": "\t"}', b"{}\xc2\xa0", b'{"a": .5}')),
        (b"[]", "expected a JSON object, got an array"),
        (b'"text"', "expected a JSON object, got a string"),
        (b"3.5", "expected a JSON object, got a number"),
        (b"null", "expected a JSON object, got null"),
        (b"true", "expected a JSON object, got a boolean"),
    ],
)
def test_what_is_no_object_of_json_is_refused(data: bytes, words: str) -> None:
    assert words in refused(data)


DEPTH = MAX_JSON_DEPTH - 1  # below the object


@pytest.mark.parametrize("length", [0, (1 << 20) - 1, 1 << 20, 3 << 20])
@pytest.mark.parametrize("escape", [b"", b'"\\u0041", '])
def test_depth_is_bounded_exactly_and_brackets_in_strings_do_not_count(
    length: int, escape: bytes
) -> None:
    before = b'{"a": "\\"' + b"[]" * length + b'", "b": '
    enough, more = (before + b"[" * n + escape + b"1" + b"]" * n + b"}" for n in (DEPTH, DEPTH + 1))
    parse_json(enough)
    for data in (more, before + b"[" * 100_000, b'{"a":' * 100_000):
        assert "nested deeper" in refused(data)


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
        ("0", 0),
        ("-05.0", None),
        ("-9007199254740993.0", -(2**53) - 1),
        ("18446744073709551615e0", 2**64 - 1),
        ("184467440737095516150E-1", 2**64 - 1),
        ("1e2", 100.0),
        ("9007199254740993.5", 9007199254740994.0),
        ("1.8446744073709551616e19", 2.0**64),
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
    assert parse_json_noting(b'{"a": 1, "a": {"b": 2, "b": 3}}') == ({"a": {"b": 3}}, "b")
    with pytest.raises(RepeatedMemberError) as error:
        parse_json(b'{"a": {"b": 2, "b": 3}}')
    assert error.value.member == "b"


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
