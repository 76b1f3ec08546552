"""Faults of BYTES tensors whose elements are strings in JSON (B)."""

from __future__ import annotations

import base64
import json
from typing import Any

from v2_conformance.protocol.datatypes import Buffer, decode_bytes
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.shared.blobs import change_elements, is_bytes
from v2_conformance.reference.request_reader import JsonObject, RequestInput


@fault(
    "json-strings-read-as-latin-1",
    breaks="B5",
    text="Strings in JSON inputs are encoded as Latin-1, not UTF-8.",
)
class _JsonStringsReadAsLatin1(Behaviour):
    def json_blob(self, entry: RequestInput) -> Buffer:
        blob = super().json_blob(entry)
        if not is_bytes(entry):
            return blob
        return change_elements(blob, lambda element: element.decode().encode("latin-1", "replace"))


@fault(
    "json-strings-written-as-latin-1",
    breaks="B5",
    text="BYTES outputs in JSON are decoded as Latin-1, not UTF-8.",
)
class _JsonStringsWrittenAsLatin1(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        data = super().output_data(tensor)
        if tensor.datatype != "BYTES":
            return data
        return [text.encode().decode("latin-1") for text in data]


@fault(
    "json-strings-base64",
    breaks="B5",
    text="BYTES outputs in JSON are base64 strings.",
)
class _JsonStringsBase64(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        if tensor.datatype != "BYTES":
            return super().output_data(tensor)
        return [base64.b64encode(element).decode() for element in decode_bytes(tensor.blob)]


@fault(
    "non-utf8-json-replaced",
    breaks="B14",
    text="In JSON, bytes of BYTES outputs that are not UTF-8 become replacement characters.",
)
class _NonUtf8JsonReplaced(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        if tensor.datatype != "BYTES":
            return super().output_data(tensor)
        return [element.decode(errors="replace") for element in decode_bytes(tensor.blob)]


@fault(
    "non-utf8-json-raw",
    breaks="B14",
    text="In JSON, bytes of BYTES outputs that are not UTF-8 are written as they are.",
)
class _NonUtf8JsonRaw(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        if tensor.datatype != "BYTES":
            return super().output_data(tensor)
        return [element.decode(errors="surrogateescape") for element in decode_bytes(tensor.blob)]

    def dump_document(self, document: JsonObject) -> bytes:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        return text.encode(errors="surrogateescape")
