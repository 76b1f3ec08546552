"""What is wrong in JSON is marked: the byte, the word, or the element that differs."""

from __future__ import annotations

import json
import time

import pytest

from v2_conformance.formats.json_marks import wrong_in_json
from v2_conformance.suite.causes.base import FirstDifference


def marked(data: bytes, difference: FirstDifference | None = None) -> tuple[bytes, str] | None:
    found = wrong_in_json(data, difference)
    return None if found is None else (data[found.start : found.end], found.words)


@pytest.mark.parametrize(
    ("data", "wrong", "words"),
    [
        (b'{"a": [1.5, Infinity]}', b"Infinity", "not JSON: Infinity"),
        (b'{"a":-Infinity}', b"-Infinity", "not JSON: -Infinity"),
        (b'{"NaN": "NaN", "b": [NaN]}', b"NaN", "not JSON: NaN"),
        (b'{"a": True}', b"True", "not JSON: True"),
        (b"{'a': 1}", b"'a'", "not JSON: 'a'"),
        (b'{"a": 01}', b"01", "not JSON: 01"),
        (b'{"a": "\xe9"}', b"\xe9", "not UTF-8 at byte 7"),
        (b'{"a": [1 2]}', b"2", "not JSON: Expecting ',' delimiter"),
        ('{"é": [1,]}'.encode(), b"]", "not JSON: Expecting value"),
        (b'{"a": 1} {', b"{", "not JSON: Extra data"),
        (b'{"a": "b', b'"', "not JSON: Unterminated string starting at"),
    ],
)
def test_what_is_no_json_is_marked(data: bytes, wrong: bytes, words: str) -> None:
    assert marked(data) == (wrong, words)


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": "\\" NaN \\\\", "b": [1e5, -0.5, true, false, null]}',
        b"{",
        b'{"a":' + b"[" * 9999,
        b"",
    ],
)
def test_what_is_json_or_only_cut_off_is_not(data: bytes) -> None:
    assert marked(data) is None


def different(output: str, element: int, body_offset: int | None = None) -> FirstDifference:
    return FirstDifference(output, "INT32", element, 4 * element, body_offset, "", "", "", "")


OUTPUTS = {
    "id": "data",
    "parameters": {"name": "Y", "data": [7]},
    "outputs": [
        {"name": "X", "data": [1, 2, 3], "shape": [3]},
        {"data": [[10, 11], [12, 13]], "name": "Y", "shape": [2, 2], "parameters": {"data": [0]}},
        {"name": "Z", "shape": [1], "data": ["a,]"]},
    ],
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("output", "element", "wrong"), [("X", 0, b"1"), ("Y", 2, b"12"), ("Z", 0, b'"a,]"')]
)
def test_the_element_that_differs_is_marked(
    output: str, element: int, wrong: bytes, indent: int | None
) -> None:
    data = json.dumps(OUTPUTS, indent=indent).encode()
    words = f"first differing element: {element} of {output}"
    assert marked(data, different(output, element)) == (wrong, words)


def test_an_element_that_is_not_there_or_came_in_a_blob_is_not_marked() -> None:
    data = json.dumps(OUTPUTS).encode()
    assert marked(data, different("W", 0)) is None
    assert marked(data, different("X", 3)) is None
    assert marked(data, different("X", 0, body_offset=9)) is None


@pytest.mark.parametrize("piece", [b'"', b'"\\', b"[", b"{", b"1 ", b'\\"', b'{"outputs":['])
def test_hostile_json_takes_no_time(piece: bytes) -> None:
    data = b'{"a":' + piece * (250_000 // len(piece))
    began = time.process_time()
    wrong_in_json(data, different("X", 0))
    assert time.process_time() - began < 2
