"""Floats that a batch rounds in another way are no wrong values of another request."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from v2_conformance.judging.relations.rounding import is_rounding, with_rounding
from v2_conformance.protocol.datatypes import from_values
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.library import suite_cases
from v2_conformance.wire.encode.deployment import Address, DeployedModel, Tolerance
from v2_conformance.wire.encode.requests import Prepared, prepare


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


def prepared(datatype: str) -> Prepared:
    name = f"P2/blob-follows-json[{datatype}]"
    case = next(one for one in suite_cases() if one.id == name)
    assert isinstance(case, RequestCase)
    role = f"identity/{datatype}"
    return prepare(case, Address("h", ""), DeployedModel(role, "m", ("INPUT0",), ("OUTPUT0",), "1"))


def test_only_floats_may_be_rounded_and_a_given_tolerance_stays() -> None:
    integers, floats = prepared("INT32"), prepared("FP32")
    assert with_rounding(integers) == integers
    rounded = with_rounding(floats)
    assert all(one.tolerance is not None for one in rounded.expected)
    given = tuple(replace(one, tolerance=Tolerance(atol=5.0)) for one in floats.expected)
    tolerant = replace(floats, expected=given)
    assert with_rounding(tolerant) == tolerant
