"""Faults of the JSON that a client sends (K14 in JSON, K20, K35)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.reference.client.requests_made import JsonObject
from v2_conformance.reference.client.task import Call, CallerInput, CallerOutput
from v2_conformance.reference.client_faults.registry import client_fault

# --- elements ---------------------------------------------------------------------------------


@client_fault(
    "json-integers-as-doubles", breaks="K14", text="Integers become doubles before they are JSON."
)
class _IntegersAsDoubles(PlainClient):
    def json_integer(self, value: int) -> Any:
        return int(float(value))


@client_fault(
    "json-integers-in-32-bits",
    breaks="K14",
    text="Integers are cut to 32 bits before they are JSON.",
)
class _IntegersIn32Bits(PlainClient):
    def json_integer(self, value: int) -> Any:
        return int(np.array([value % 2**32], "<u4").view("<i4")[0])


@client_fault(
    "json-floats-in-six-digits", breaks="K14", text="Floats are written as JSON with six digits."
)
class _FloatsInSixDigits(PlainClient):
    def json_float(self, value: float) -> Any:
        return float(f"{super().json_float(value):g}")


@client_fault(
    "json-fp32-through-fp16",
    breaks="K14",
    text="FP32 is rounded to FP16 on the way to JSON.",
)
class _Fp32AsFp16(PlainClient):
    def json_float(self, value: float) -> Any:
        with np.errstate(over="ignore"):
            rounded = float(np.float16(super().json_float(value)))
        return rounded if np.isfinite(rounded) else value


@client_fault("json-bool-as-text", breaks="K14", text="BOOL is sent as the strings true and false.")
class _BoolAsText(PlainClient):
    def json_bool(self, value: bool) -> Any:
        return "true" if value else "false"


@client_fault("json-bool-as-number", breaks="K14", text="BOOL is sent in JSON as 1 and 0.")
class _BoolAsNumber(PlainClient):
    def json_bool(self, value: bool) -> Any:
        return int(value)


@client_fault("json-nan", breaks="K20", text="NaN is sent as the bare word NaN.")
class _Nan(PlainClient):
    def json_float(self, value: float) -> Any:
        return value

    def dump(self, document: JsonObject) -> bytes:
        return json.dumps(document, ensure_ascii=False).encode()


@client_fault("json-nan-as-null", breaks="K20", text="What JSON cannot say is sent as null.")
class _NanAsNull(PlainClient):
    def json_float(self, value: float) -> Any:
        return value if np.isfinite(value) else None


@client_fault("json-infinity-as-largest", breaks="K20", text="Infinity is sent as 1e308.")
class _InfinityAsLargest(PlainClient):
    def json_float(self, value: float) -> Any:
        return float(np.nan_to_num(value))


@client_fault(
    "json-text-replaced",
    breaks="K20",
    text="What is not UTF-8 is sent as the replacement character.",
)
class _TextReplaced(PlainClient):
    def json_text(self, element: bytes) -> Any:
        return element.decode(errors="replace")


@client_fault(
    "json-text-latin-1", breaks="K20", text="What is not UTF-8 is sent as Latin-1's text."
)
class _TextLatin1(PlainClient):
    def json_text(self, element: bytes) -> Any:
        try:
            return element.decode()
        except UnicodeDecodeError:
            return element.decode("latin-1")


@client_fault(
    "json-text-as-numbers", breaks="K20", text="What is not UTF-8 is sent as a list of bytes."
)
class _TextAsNumbers(PlainClient):
    def json_text(self, element: bytes) -> Any:
        try:
            return element.decode()
        except UnicodeDecodeError:
            return list(element)


# --- the object -------------------------------------------------------------------------------


@client_fault(
    "json-shape-as-text", breaks="K35", text="The dimensions of a shape are strings of digits."
)
class _ShapeAsText(PlainClient):
    def json_shape(self, tensor: CallerInput) -> Any:
        return [str(dimension) for dimension in tensor.shape]


@client_fault("json-shape-missing", breaks="K35", text="An input has no shape.")
class _ShapeMissing(PlainClient):
    def input_object(self, tensor: CallerInput, blob: bytes | None) -> JsonObject:
        entry = super().input_object(tensor, blob)
        del entry["shape"]
        return entry


@client_fault(
    "json-datatype-of-numpy", breaks="K35", text="A datatype has the name that numpy gives it."
)
class _DatatypeOfNumpy(PlainClient):
    def json_datatype(self, tensor: CallerInput) -> Any:
        numpy = DATATYPES[tensor.datatype].numpy
        return "object" if numpy is None else np.dtype(numpy).name


@client_fault("json-datatype-missing", breaks="K35", text="An input has no datatype.")
class _DatatypeMissing(PlainClient):
    def input_object(self, tensor: CallerInput, blob: bytes | None) -> JsonObject:
        entry = super().input_object(tensor, blob)
        del entry["datatype"]
        return entry


@client_fault("json-inputs-by-name", breaks="K35", text="`inputs` is an object with names as keys.")
class _InputsByName(PlainClient):
    def document(self, call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
        document = super().document(call, blobs)
        document["inputs"] = {entry.pop("name"): entry for entry in document["inputs"]}
        return document


@client_fault("json-outputs-as-names", breaks="K35", text="`outputs` is a list of names.")
class _OutputsAsNames(PlainClient):
    def output_object(self, output: CallerOutput) -> Any:
        return output.name


@client_fault("json-id-as-number", breaks="K35", text="An id of digits is sent as a number.")
class _IdAsNumber(PlainClient):
    def document(self, call: Call, blobs: Sequence[bytes | None]) -> JsonObject:
        document = super().document(call, blobs)
        if str(document.get("id")).isdigit():
            document["id"] = int(document["id"])
        return document


@client_fault("json-in-latin-1", breaks="K35", text="The JSON is sent in Latin-1.")
class _InLatin1(PlainClient):
    def dump(self, document: JsonObject) -> bytes:
        return json.dumps(document, ensure_ascii=False).encode("latin-1", errors="replace")


@client_fault("json-with-byte-order-mark", breaks="K35", text="The JSON begins with a BOM.")
class _WithByteOrderMark(PlainClient):
    def dump(self, document: JsonObject) -> bytes:
        return b"\xef\xbb\xbf" + super().dump(document)


@client_fault("json-of-python", breaks="K35", text="The JSON is a dictionary as Python prints it.")
class _OfPython(PlainClient):
    def dump(self, document: JsonObject) -> bytes:
        return str(document).encode()


@client_fault("json-with-trailing-comma", breaks="K35", text="The JSON ends with a comma too many.")
class _WithTrailingComma(PlainClient):
    def dump(self, document: JsonObject) -> bytes:
        return super().dump(document)[:-1] + b",}"


@client_fault(
    "json-data-nested-wrongly", breaks="K35", text="JSON data is nested one level too deep."
)
class _NestedWrongly(PlainClient):
    def json_data(self, tensor: CallerInput) -> list[Any]:
        return [super().json_data(tensor)]
