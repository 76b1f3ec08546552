"""Variants of how numbers and elements are written in JSON."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from decimal import Decimal
from math import isfinite
from typing import Any

import numpy as np

from v2_conformance.protocol.datatypes import DATATYPES, ElementError, decode_bytes, to_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.request_reader import JsonObject
from v2_mutants.registry import Right, What, variant

_DATA = re.compile(r'"data":\[[^\]"]*\]')  # without strings
_NUMBER = re.compile(r"(?<![\d.eE+-])-?\d+(\.\d+)?(?=[,\]])")
_DIGITS = "docs/disputes.md, D11: the number of digits is not said"
_NO_NUMBER = "docs/disputes.md, P9: values that JSON cannot write"


def respelled(number: Callable[[re.Match[str]], str]) -> What[bytes]:
    """Return what writes the numbers of JSON data in other words: group 1 is the fraction."""

    def what(right: Right[bytes], document: JsonObject) -> bytes:
        return _DATA.sub(lambda data: _NUMBER.sub(number, data[0]), right().decode()).encode()

    return what


def non_finite(words: Callable[[float], object]) -> What[Any]:
    """Return what has words for floats that JSON has no number for."""

    def what(right: Right[Any], tensor: Tensor) -> Any:
        if DATATYPES[tensor.datatype].kind != "float":
            return right()
        values = map(float, to_values(tensor.datatype, tensor.blob))
        return [value if isfinite(value) else words(value) for value in values]

    return what


def floats(change: Callable[[float], float], *datatypes: str) -> What[Any]:
    """Return what writes the floats of some datatypes otherwise."""

    def what(right: Right[Any], tensor: Tensor) -> Any:
        data = right()
        return [*map(change, data)] if tensor.datatype in datatypes else data

    return what


variant("numbers-with-fraction", "RFC 8259, section 6", Behaviour.dump_document)(
    "Integers in JSON data have a fraction, whole floats have none.",
    respelled(lambda found: found[0].removesuffix(".0") if found[1] else f"{found[0]}.0"),
)
variant("numbers-with-exponent", "RFC 8259, section 6", Behaviour.dump_document)(
    "Numbers in JSON data have an exponent, as in 1.5E+2 for 150.",
    respelled(lambda found: f"{Decimal(found[0]):E}"),
)
variant("shortest-floats", _DIGITS, Behaviour.output_data)(
    "An FP32 in JSON has the fewest digits that make the same FP32.",
    floats(lambda value: float(str(np.float32(value))), "FP32"),
)
variant("six-digit-floats", _DIGITS, Behaviour.output_data)(
    "Floats in JSON have six significant digits, as printf writes them.",
    floats(lambda value: float(f"{value:.6g}"), "FP32", "FP64"),
)


@variant("base64-for-other-bytes", "docs/disputes.md, B14", Behaviour.output_data)
def _(right: Right[Any], tensor: Tensor) -> Any:
    """BYTES elements that are not UTF-8 come in base64, in JSON that is valid."""
    try:
        return right()
    except ElementError:
        if tensor.datatype != "BYTES":
            raise
        return [base64.b64encode(element).decode() for element in decode_bytes(tensor.blob)]


variant("nan-as-null", _NO_NUMBER, Behaviour.output_data)(
    "NaN and infinities are null in JSON.",
    non_finite(lambda value: None),
)
variant("nan-as-string", _NO_NUMBER, Behaviour.output_data)(
    "NaN and infinities are strings in JSON, as protobuf writes them.",
    non_finite(json.dumps),
)
