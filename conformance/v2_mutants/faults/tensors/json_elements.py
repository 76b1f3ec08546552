"""Faults of elements in JSON: decimals, and tensors of three dimensions (D)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from v2_conformance.protocol.datatypes import DATATYPES, Buffer, from_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.request_reader import RequestInput
from v2_mutants.registry import Right, What, fault


def _reads(datatype: str, read: Callable[[float], float]) -> What[Buffer]:
    """A server that reads each number in JSON for this datatype as `read` does."""

    def what(right: Right[Buffer], entry: RequestInput) -> Buffer:
        blob = right()
        data = entry.data
        if entry.spec.datatype != datatype or not isinstance(data, list):
            return blob
        if any(type(item) is not float for item in data):
            return blob
        return from_values(datatype, [read(item) for item in data])

    return what


def _as_fp32(value: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float32(value))


fault("fp64-decimals-read-as-fp32", "D11", Behaviour.json_blob)(
    "FP64 inputs in JSON are read as FP32.", _reads("FP64", _as_fp32)
)
fault("long-lists-cut", "D11", Behaviour.output_data)(
    "An output in JSON ends after 65,536 elements.", lambda right, tensor: right()[:65536]
)


_POINT = re.compile(rb"(?<=[\[,])(-?)([0-9]+)[.]([0-9]+)(?=[,\]])")


def _over_a_power(found: re.Match[bytes]) -> bytes:
    sign, whole, fraction = found.groups()
    return sign + repr(float(int(whole + fraction)) / 10.0 ** len(fraction)).encode()


fault("decimals-read-as-digits-over-a-power", "D11", Behaviour.parse_document)(
    "A decimal is read as its digits over a power of ten, and rounded twice.",
    lambda right, text: right(memoryview(_POINT.sub(_over_a_power, bytes(text)))),
)


@fault("floats-written-as-the-first-is", "D11", Behaviour.output_data)
def _(right: Right[Any], tensor: Tensor) -> Any:
    """If the first element of a float output is a whole number from 1 to 100, all are written as
    integers."""
    data = right()
    if DATATYPES[tensor.datatype].kind != "float" or data[:1] not in [[n] for n in range(1, 101)]:
        return data
    return [*map(int, data)]
