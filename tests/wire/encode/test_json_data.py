"""A tensor's data in JSON: the same values and text, however they are made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from v2_conformance.protocol.datatypes import (
    DATATYPES,
    ElementError,
    encode_bytes,
    from_values,
    to_json,
)
from v2_conformance.suite.values.patterns import value_pattern
from v2_conformance.wire.encode.json_data import JsonData, json_data

LONG = 5000  # elements: more than any pattern has before it repeats


def in_text(values: Any) -> bytes:
    """Values as Python's own encoder writes them."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()


def flat(datatype: str, blob: bytes, *, shared: bool = False) -> JsonData:
    return json_data(datatype, (), blob, nested=False, shared=shared)


PATTERNS = [
    *((datatype, name) for datatype in DATATYPES for name in ("counting", "finite_extremes")),
    *(("BYTES", name) for name in ("unicode", "nuls", "only_empty", "empty_elements", "one_byte")),
    ("INT64", "beyond_double"),
    ("FP64", "ones"),
]


@pytest.mark.parametrize(("datatype", "pattern"), PATTERNS)
@pytest.mark.parametrize("count", [0, 1, 6, LONG])
def test_data_is_what_each_element_is_in_json(datatype: str, pattern: str, count: int) -> None:
    blob = value_pattern(pattern, datatype, count)
    data = flat(datatype, blob)
    assert repr(data.values) == repr(to_json(datatype, (count,), blob))
    assert b"".join(data.text) == in_text(data.values)


def test_bytes_that_repeat_within_an_element_are_no_elements() -> None:
    elements = [b"\4\0\0\0"] * LONG  # each looks like its own length
    data = flat("BYTES", encode_bytes(elements))
    assert data.values == [element.decode() for element in elements]
    assert b"".join(data.text) == in_text(data.values)


@pytest.mark.parametrize(("datatype", "last"), [("INT16", [-1]), ("FP64", [0.1]), ("BYTES", [b""])])
def test_data_that_only_begins_again_keeps_its_end(datatype: str, last: list[Any]) -> None:
    blob = value_pattern("finite_extremes", datatype, LONG) + from_values(datatype, last)
    data = flat(datatype, blob)
    assert data.values == to_json(datatype, (LONG + 1,), blob)
    assert b"".join(data.text) == in_text(data.values)


@pytest.mark.parametrize("times", [1, 3])
def test_what_has_no_json_is_an_error_with_its_first_index(times: int) -> None:
    period = [0.5] * (LONG - 1) + [float("nan")]
    with pytest.raises(ElementError, match=f"element {LONG - 1} is nan"):
        flat("FP32", from_values("FP32", period) * times)
    text = encode_bytes([b"x" * 10] * (LONG - 1) + [b"ab\xff"])
    with pytest.raises(ElementError, match=f"element {LONG - 1} is not UTF-8 at its byte 2"):
        flat("BYTES", text * times)
    with pytest.raises(ElementError, match=f"element {LONG * times} at byte"):
        flat("BYTES", encode_bytes([b"x" * 10]) * (LONG * times) + b"\xff")
