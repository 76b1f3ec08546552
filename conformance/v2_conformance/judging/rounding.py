"""Floats that differ in their last places, as when a server runs concurrent requests as one batch.

How a matrix product is rounded depends on how many rows it has. So a right server may answer a
request that it runs together with others a little differently, which is no mixing up of requests.
"""

from __future__ import annotations

from math import isfinite

from msgspec.structs import replace

from v2_conformance.protocol.datatypes import to_values
from v2_conformance.wire.encode.deployment import Tolerance
from v2_conformance.wire.encode.requests import Expected, Prepared

_UNITS = 8
_LAST_PLACE = {"FP16": 2.0**-10, "BF16": 2.0**-7, "FP32": 2.0**-23, "FP64": 2.0**-52}


def with_rounding(prepared: Prepared) -> Prepared:
    """Return a request whose answer may differ by a few units in the last place of an output's
    largest number.
    """
    return replace(prepared, expected=tuple(map(_tolerant, prepared.expected)))


def _tolerant(item: Expected) -> Expected:
    unit = _LAST_PLACE.get(item.tensor.datatype)
    if unit is None or item.tolerance is not None:
        return item
    values = filter(isfinite, to_values(item.tensor.datatype, item.tensor.blob))
    largest = max(map(abs, values), default=0.0)
    return replace(item, tolerance=Tolerance(atol=_UNITS * unit * largest))
