"""How exact a server writes floats in JSON, from what it wrote."""

from __future__ import annotations

import pytest

from v2_conformance.judging.learning import lost_digits
from v2_conformance.protocol.datatypes import from_values
from v2_conformance.protocol.message import Tensor


def written(datatype: str, *values: float) -> list[Tensor]:
    return [Tensor("OUT", datatype, (len(values),), from_values(datatype, values))]


@pytest.mark.parametrize(
    ("tensors", "rtol"),
    [
        (written("FP32", 1.29688, -0.5, 3.40282e38), 1e-5),
        (written("FP64", 0.1, 0.333333), 1e-5),
        (written("FP64", 0.333333333333333), 1e-14),
        (written("FP64", 2.0), 1e-5),
        (written("FP32", 0.5) + written("FP64", 1 / 3), 1e-5),
        (written("FP32", 3.4028234663852886e38), None),
        (written("FP64", 1 / 3, 0.5), None),
        (written("FP64", float("inf")), None),
        (written("INT32", 5), None),
        ([], None),
    ],
)
def test_blobs_may_differ_by_the_digits_that_json_lacks(
    tensors: list[Tensor], rtol: float | None
) -> None:
    found = lost_digits(tensors)
    assert (None if found is None else found.rtol) == (
        None if rtol is None else pytest.approx(rtol)
    )
