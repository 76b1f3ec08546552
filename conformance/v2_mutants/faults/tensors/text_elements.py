"""Faults of BYTES elements that are text: it is tidied up on its way (B)."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.request_reader import RequestInput
from v2_mutants.faults.shared.blobs import change_elements, is_bytes
from v2_mutants.registry import Right, What, fault


def _in_blobs(change: Callable[[bytes], bytes]) -> What[Buffer]:
    """A server that changes each element of a binary BYTES input."""
    return lambda right, entry, blob: change_elements(right(), change)


def _in_json(change: Callable[[str], str]) -> What[Buffer]:
    """A server that changes each string of BYTES data in JSON."""

    def what(right: Right[Buffer], entry: RequestInput) -> Buffer:
        if is_bytes(entry) and isinstance(entry.data, list):
            data = [change(item) if isinstance(item, str) else item for item in entry.data]
            entry = replace(entry, data=data)
        return right(entry)

    return what


def _out_json(change: Callable[[str], str]) -> What[Any]:
    """A server that changes each string of a BYTES output in JSON."""

    def what(right: Right[Any], tensor: Tensor) -> Any:
        data = right()
        return list(map(change, data)) if tensor.datatype == "BYTES" else data

    return what


for _name, _text, _change in (
    ("stripped", "White space at the ends of binary elements is lost", bytes.strip),
    ("lines-ended-with-lf", "CRLF in binary elements becomes LF",
     lambda element: element.replace(b"\r\n", b"\n")),
    ("used-as-format", "Binary elements are format strings",
     lambda element: element.replace(b"%%", b"%")),
):  # fmt: skip
    fault(f"text-{_name}", "B4", Behaviour.bytes_blob)(f"{_text}.", _in_blobs(_change))

for _name, _text, _changed in (
    ("stripped", "White space at the ends of strings in JSON is lost", str.strip),
    ("composed", "Strings in JSON are read in Unicode's composed form",
     lambda text: unicodedata.normalize("NFC", text)),
    ("percent-decoded", "Strings in JSON are read as a URL's", unquote),
):  # fmt: skip
    fault(f"json-text-{_name}", "B5", Behaviour.json_blob)(f"{_text}.", _in_json(_changed))

fault("json-text-escaped-for-html", "B5", Behaviour.output_data)(
    "Strings in JSON outputs are escaped for HTML.", _out_json(html.escape)
)
fault("json-text-lines-ended-with-lf", "B5", Behaviour.output_data)(
    "CR in strings in JSON outputs is lost.", _out_json(lambda text: text.replace("\r", ""))
)
