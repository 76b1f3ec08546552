"""Floats that differ in their last places, as when a server runs concurrent requests as one batch.

How a matrix product is rounded depends on how many rows it has. So a right server may answer a
request that it runs together with others a little differently, which is no mixing up of requests.
"""

from __future__ import annotations

from math import isfinite

from msgspec.structs import replace

from v2_conformance.judging.judge import judge
from v2_conformance.protocol.datatypes import to_values
from v2_conformance.suite.cases import RelationCase, RequestCase
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.wire.encode.deployment import Tolerance
from v2_conformance.wire.encode.requests import Expected, Prepared
from v2_conformance.wire.exchange import Exchange

_UNITS = 8
_LAST_PLACE = {"FP16": 2.0**-10, "BF16": 2.0**-7, "FP32": 2.0**-23, "FP64": 2.0**-52}


def only_rounded(case: RequestCase, prepared: Prepared, exchange: Exchange) -> bool:
    """Return True if the answer of an arbitrary model differs from the right one in nothing but a
    few units in the last place of an output's largest number.
    """
    if not isinstance(case, RelationCase):
        return False
    return judge(case, with_rounding(prepared), exchange).outcome.harmless


def with_rounding(prepared: Prepared) -> Prepared:
    """Return a request whose answer may differ by a few units in the last place of an output's
    largest number.
    """
    return replace(prepared, expected=tuple(map(_tolerant, prepared.expected)))


def is_rounding(found: FirstDifference) -> bool:
    """Return True if two floats differ by a few units in the last place."""
    unit = _LAST_PLACE.get(found.datatype)
    if unit is None:
        return False
    sides = (bytes.fromhex(side) for side in (found.expected, found.got))
    one, other = (float(to_values(found.datatype, side)[0]) for side in sides)
    largest = max(abs(one), abs(other))
    return isfinite(largest) and abs(one - other) <= _UNITS * unit * largest


def _tolerant(item: Expected) -> Expected:
    unit = _LAST_PLACE.get(item.tensor.datatype)
    if unit is None or item.tolerance is not None:
        return item
    values = filter(isfinite, to_values(item.tensor.datatype, item.tensor.blob))
    largest = max(map(abs, values), default=0.0)
    return replace(item, tolerance=Tolerance(atol=_UNITS * unit * largest))
