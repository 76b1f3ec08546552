"""The first byte or word of a message that is not JSON is marked."""

from __future__ import annotations

import time

import pytest

from v2_conformance.formats.sections import not_json


def marked(data: bytes) -> tuple[bytes, str] | None:
    found = not_json(data)
    return None if found is None else (data[found.start : found.end], found.words)


@pytest.mark.parametrize(
    ("data", "wrong", "words"),
    [
        (b'{"a": [1.5, Infinity]}', b"Infinity", "not JSON: Infinity"),
        (b'{"a":-Infinity}', b"-Infinity", "not JSON: -Infinity"),
        (b'{"NaN": "NaN", "b": [NaN]}', b"NaN", "not JSON: NaN"),
        (b'{"a": True}', b"T", "not JSON: Expecting value"),
        (b"{'a': 1}", b"'", "not JSON: Expecting property name enclosed in double quotes"),
        (b'{"a": 01}', b"1", "not JSON: Expecting ',' delimiter"),
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


@pytest.mark.parametrize("piece", [b'"', b'"\\', b"[", b"{", b"1 ", b'\\"', b'{"outputs":['])
def test_hostile_json_takes_no_time(piece: bytes) -> None:
    data = b'{"a":' + piece * (250_000 // len(piece))
    began = time.process_time()
    not_json(data)
    assert time.process_time() - began < 2
