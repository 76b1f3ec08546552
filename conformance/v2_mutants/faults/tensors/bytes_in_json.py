"""Faults of BYTES tensors whose elements are strings in JSON (B)."""

from __future__ import annotations

import base64
import json
from typing import Any

from v2_conformance.protocol.datatypes import decode_bytes
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.request_reader import JsonObject
from v2_mutants.faults.shared.blobs import change_elements, is_bytes
from v2_mutants.registry import fault, then

fault("json-strings-read-as-latin-1", "B5", Behaviour.json_blob)(
    "Strings in JSON inputs are encoded as Latin-1, not UTF-8.",
    then(
        lambda blob, entry: (
            blob
            if not is_bytes(entry)
            else change_elements(
                blob, lambda element: element.decode().encode("latin-1", "replace")
            )
        )
    ),
)
fault("json-strings-written-as-latin-1", "B5", Behaviour.output_data)(
    "BYTES outputs in JSON are decoded as Latin-1, not UTF-8.",
    then(
        lambda data, tensor: (
            data
            if tensor.datatype != "BYTES"
            else [text.encode().decode("latin-1") for text in data]
        )
    ),
)
fault("json-strings-base64", "B5", Behaviour.output_data)(
    "BYTES outputs in JSON are base64 strings.",
    lambda right, tensor: (
        right()
        if tensor.datatype != "BYTES"
        else [base64.b64encode(element).decode() for element in decode_bytes(tensor.blob)]
    ),
)
fault("non-utf8-json-replaced", "B14", Behaviour.output_data)(
    "In JSON, bytes of BYTES outputs that are not UTF-8 become replacement characters.",
    lambda right, tensor: (
        right()
        if tensor.datatype != "BYTES"
        else [element.decode(errors="replace") for element in decode_bytes(tensor.blob)]
    ),
)


@fault.several("non-utf8-json-raw", "B14")
class _NonUtf8JsonRaw(Behaviour):
    """In JSON, bytes of BYTES outputs that are not UTF-8 are written as they are."""

    def output_data(self, tensor: Tensor) -> Any:
        if tensor.datatype != "BYTES":
            return super().output_data(tensor)
        return [element.decode(errors="surrogateescape") for element in decode_bytes(tensor.blob)]

    def dump_document(self, document: JsonObject) -> bytes:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        return text.encode(errors="surrogateescape")
