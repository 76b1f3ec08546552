"""Faults of BYTES elements in JSON, of text in them, and of long ones (B)."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from v2_conformance.protocol.datatypes import (
    ElementError,
    decode_bytes,
)
from v2_conformance.protocol.message import COMPACT, Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_mutants.faults.shared.blobs import change_elements, is_bytes
from v2_mutants.registry import What, fault, only, then


def _writes_elements(write: Callable[[bytes], str]) -> What[Any]:
    """A server that writes each element of a BYTES output in JSON as `write` does."""
    return only(("BYTES",), lambda right, tensor: [write(one) for one in decode_bytes(tensor.blob)])


def _out_json(change: Callable[[str], str]) -> What[Any]:
    """A server that changes each string of a BYTES output in JSON."""
    return only(("BYTES",), lambda right, tensor: [change(text) for text in right()])


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
fault("json-strings-base64", "B5", Behaviour.output_data)(
    "BYTES outputs in JSON are base64 strings.",
    _writes_elements(lambda element: base64.b64encode(element).decode()),
)
fault("non-utf8-json-replaced", "B14", Behaviour.output_data)(
    "In JSON, bytes of BYTES outputs that are not UTF-8 become replacement characters.",
    _writes_elements(lambda element: element.decode(errors="replace")),
)


fault("text-stripped", "B4", Behaviour.bytes_blob)(
    "White space at the ends of binary elements is lost.",
    then(lambda checked, entry, blob: change_elements(checked, bytes.strip)),
)


fault("delete-left-out-of-json-texts", "B5", Behaviour.output_data)(
    "BYTES outputs in JSON lack the character U+007F.",
    _out_json(lambda text: text.replace("\x7f", "")),
)


@fault.several("surrogates-written", "B14")
class _SurrogatesWritten(Behaviour):
    """Surrogates that are encoded like characters get into JSON; other bytes are refused."""

    def output_data(self, tensor: Tensor) -> Any:
        try:
            return super().output_data(tensor)
        except ElementError:
            try:
                return [one.decode("utf-8", "surrogatepass") for one in decode_bytes(tensor.blob)]
            except UnicodeDecodeError:
                return super().output_data(tensor)

    def json_text(self, value: object) -> bytes:
        return COMPACT.encode(value).encode("utf-8", "surrogatepass")
