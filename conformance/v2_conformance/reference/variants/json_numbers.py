"""Variants of how numbers and elements are written in JSON."""

from __future__ import annotations

import base64
import re
from decimal import Decimal
from math import isfinite
from typing import Any

import numpy as np

from v2_conformance.protocol.datatypes import DATATYPES, ElementError, decode_bytes, to_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.request_reader import JsonObject
from v2_conformance.reference.variants.registry import variant

_DATA = re.compile(r'"data":\[[^\]"]*\]')  # without strings
_NUMBER = re.compile(r"(?<![\d.eE+-])-?\d+(\.\d+)?(?=[,\]])")


class Respelled(Behaviour):
    """Writes numbers of JSON data in other words."""

    def dump_document(self, document: JsonObject) -> bytes:
        text = super().dump_document(document).decode()
        return _DATA.sub(lambda data: _NUMBER.sub(self.number, data[0]), text).encode()

    def number(self, found: re.Match[str]) -> str:
        """The same number in other words; `found[1]` is its fraction."""
        return found[0]


@variant(
    "numbers-with-fraction",
    allowed_by="RFC 8259, section 6",
    text="Integers in JSON data have a fraction, whole floats have none.",
)
class _NumbersWithFraction(Respelled):
    def number(self, found: re.Match[str]) -> str:
        if not found[1]:
            return f"{found[0]}.0"
        return found[0].removesuffix(".0")


@variant(
    "numbers-with-exponent",
    allowed_by="RFC 8259, section 6",
    text="Numbers in JSON data have an exponent, as in 1.5E+2 for 150.",
)
class _NumbersWithExponent(Respelled):
    def number(self, found: re.Match[str]) -> str:
        return f"{Decimal(found[0]):E}"


@variant(
    "shortest-floats",
    allowed_by="docs/disputes.md, D11: the number of digits is not said",
    text="An FP32 in JSON has the fewest digits that make the same FP32.",
)
class _ShortestFloats(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        data = super().output_data(tensor)
        if tensor.datatype != "FP32":
            return data
        return [float(str(np.float32(value))) for value in data]


@variant(
    "six-digit-floats",
    allowed_by="docs/disputes.md, D11: the number of digits is not said",
    text="Floats in JSON have six significant digits, as printf writes them.",
)
class _SixDigitFloats(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        data = super().output_data(tensor)
        if tensor.datatype not in ("FP32", "FP64"):
            return data
        return [float(f"{value:.6g}") for value in data]


@variant(
    "base64-for-other-bytes",
    allowed_by="docs/disputes.md, B14",
    text="BYTES elements that are not UTF-8 come in base64, in JSON that is valid.",
)
class _Base64ForOtherBytes(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        try:
            return super().output_data(tensor)
        except ElementError:
            if tensor.datatype != "BYTES":
                raise
            return [base64.b64encode(element).decode() for element in decode_bytes(tensor.blob)]


class WritesNonFinite(Behaviour):
    """Has words for floats that JSON has no number for."""

    nan: object = None
    infinity: object = None

    def output_data(self, tensor: Tensor) -> Any:
        if DATATYPES[tensor.datatype].kind != "float":
            return super().output_data(tensor)
        return [
            value
            if isfinite(value)
            else self.nan
            if value != value
            else self.infinity
            if value > 0 or self.infinity is None
            else f"-{self.infinity}"
            for value in map(float, to_values(tensor.datatype, tensor.blob))
        ]


@variant(
    "nan-as-null",
    allowed_by="docs/disputes.md, P9: values that JSON cannot write",
    text="NaN and infinities are null in JSON.",
)
class _NanAsNull(WritesNonFinite):
    pass


@variant(
    "nan-as-string",
    allowed_by="docs/disputes.md, P9: values that JSON cannot write",
    text="NaN and infinities are strings in JSON, as protobuf writes them.",
)
class _NanAsString(WritesNonFinite):
    nan = "NaN"
    infinity = "Infinity"
