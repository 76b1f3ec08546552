"""Faults of texts in JSON: long ones that are cut, and characters that are lost."""

from __future__ import annotations

from typing import Any

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.request_reader import RequestInput
from v2_mutants.faults.shared.blobs import change_elements, is_bytes
from v2_mutants.registry import Right, What, fault


def _written(change: Any) -> What[Any]:
    def what(right: Right[Any], tensor: Tensor) -> Any:
        data = right()
        return [change(text) for text in data] if tensor.datatype == "BYTES" else data

    return what


def _read_up_to(length: int) -> What[Buffer]:
    def what(right: Right[Buffer], entry: RequestInput) -> Buffer:
        blob = right()
        return change_elements(blob, lambda text: text[:length]) if is_bytes(entry) else blob

    return what


fault("json-texts-written-up-to-1000", "B12", Behaviour.output_data)(
    "BYTES outputs in JSON have at most the first 1,000 characters of each element.",
    _written(lambda text: text[:1000]),
)
fault("json-texts-read-up-to-1024", "B12", Behaviour.json_blob)(
    "Of each string in a JSON input, at most 1,024 bytes are read.", _read_up_to(1024)
)
fault("json-texts-read-up-to-32-kib", "B12", Behaviour.json_blob)(
    "Of each string in a JSON input, at most 32 KiB are read.", _read_up_to(2**15)
)
fault("megabyte-json-texts-cut", "B12", Behaviour.output_data)(
    "BYTES outputs in JSON have at most the first 512 KiB of each element.",
    _written(lambda text: text[: 2**19]),
)
fault("delete-left-out-of-json-texts", "B5", Behaviour.output_data)(
    "BYTES outputs in JSON lack the character U+007F.",
    _written(lambda text: text.replace("\x7f", "")),
)
fault("line-separators-as-spaces-in-json-texts", "B5", Behaviour.output_data)(
    "BYTES outputs in JSON have a space for U+2028 and U+2029.",
    _written(lambda text: text.replace("\u2028", " ").replace("\u2029", " ")),
)
