"""Floats that a batch rounds in another way are no wrong values of another request."""

from __future__ import annotations

from msgspec.structs import replace

from v2_conformance.judging.known_good import with_rounding
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.wire.encode.deployment import Address, DeployedModel, Tolerance
from v2_conformance.wire.encode.requests import Prepared, prepare


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
