"""Floats that a batch rounds in another way are no wrong values of another request."""

from __future__ import annotations

import pytest

from v2_conformance.judging.relations.rounding import is_rounding
from v2_conformance.protocol.datatypes import from_values
from v2_conformance.suite.causes.base import FirstDifference


def difference(datatype: str, one: float | bytes, other: float | bytes) -> FirstDifference:
    left, right = (from_values(datatype, [value]).hex() for value in (one, other))
    return FirstDifference("Y", datatype, 0, 0, None, left, right, repr(one), repr(other))


@pytest.mark.parametrize(
    ("datatype", "one", "other", "rounded"),
    [
        ("FP32", 1.0, 1.0 + 2**-22, True),
        ("FP32", 1.0, 1.0 + 2**-18, False),
        ("FP16", 1.0, 1.0 + 2**-9, True),
        ("FP64", -3.0, -3.0 - 2**-50, True),
        ("FP64", 1.0, -1.0, False),
        ("FP32", float("inf"), 1.0, False),
        ("FP32", 1.0, float("nan"), False),
        ("INT32", 1, 2, False),
        ("BYTES", b"a", b"b", False),
    ],
)
def test_a_few_units_in_the_last_place_are_rounding(
    datatype: str, one: float | bytes, other: float | bytes, *, rounded: bool
) -> None:
    assert is_rounding(difference(datatype, one, other)) is rounded
