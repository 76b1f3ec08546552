"""A tensor's data in JSON: the same text, however it is made."""

from __future__ import annotations

import json

import pytest

from v2_conformance.protocol.datatypes import (
    DATATYPES,
    ElementError,
    encode_bytes,
    from_values,
    to_json,
)
from v2_conformance.suite.values.patterns import value_pattern
from v2_conformance.wire.encode.inputs import json_data

LONG = 5000  # elements: more than any pattern has before it repeats


def flat(datatype: str, blob: bytes) -> bytes:
    return json_data(datatype, (), blob)


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
    values = to_json(datatype, (count,), blob)
    written = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    assert flat(datatype, blob) == written.encode()


def test_what_has_no_json_is_an_error_with_its_index() -> None:
    with pytest.raises(ElementError, match=f"element {LONG} is nan"):
        flat("FP32", from_values("FP32", [0.5] * LONG + [float("nan")]))
    text = encode_bytes([b"x" * 10] * LONG + [b"ab\xff"])
    with pytest.raises(ElementError, match=f"element {LONG} is not UTF-8 at its byte 2"):
        flat("BYTES", text)
