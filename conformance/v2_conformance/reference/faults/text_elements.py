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
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.shared.blobs import change_elements, is_bytes
from v2_conformance.reference.request_reader import RequestInput


def _in_blobs(change: Callable[[bytes], bytes]) -> type[Behaviour]:
    """A server that changes each element of a binary BYTES input."""

    class InBlobs(Behaviour):
        def bytes_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
            return change_elements(super().bytes_blob(entry, blob), change)

    return InBlobs


def _in_json(change: Callable[[str], str]) -> type[Behaviour]:
    """A server that changes each string of BYTES data in JSON."""

    class InJson(Behaviour):
        def json_blob(self, entry: RequestInput) -> Buffer:
            if is_bytes(entry) and isinstance(entry.data, list):
                data = [change(item) if isinstance(item, str) else item for item in entry.data]
                entry = replace(entry, data=data)
            return super().json_blob(entry)

    return InJson


def _out_json(change: Callable[[str], str]) -> type[Behaviour]:
    """A server that changes each string of a BYTES output in JSON."""

    class OutJson(Behaviour):
        def output_data(self, tensor: Tensor) -> Any:
            data = super().output_data(tensor)
            return list(map(change, data)) if tensor.datatype == "BYTES" else data

    return OutJson


for _name, _text, _change in (
    ("stripped", "White space at the ends of binary elements is lost", bytes.strip),
    (
        "lines-ended-with-lf",
        "CRLF in binary elements becomes LF",
        lambda element: element.replace(b"\r\n", b"\n"),
    ),
    (
        "used-as-format",
        "Binary elements are format strings",
        lambda element: element.replace(b"%%", b"%"),
    ),
):
    fault(f"text-{_name}", breaks="B4", text=f"{_text}.")(_in_blobs(_change))

for _name, _text, _made in (
    ("stripped", "White space at the ends of strings in JSON is lost", _in_json(str.strip)),
    (
        "composed",
        "Strings in JSON are read in Unicode's composed form",
        _in_json(lambda text: unicodedata.normalize("NFC", text)),
    ),
    ("percent-decoded", "Strings in JSON are read as a URL's", _in_json(unquote)),
    ("escaped-for-html", "Strings in JSON outputs are escaped for HTML", _out_json(html.escape)),
    (
        "lines-ended-with-lf",
        "CR in strings in JSON outputs is lost",
        _out_json(lambda text: text.replace("\r", "")),
    ),
):
    fault(f"json-text-{_name}", breaks="B5", text=f"{_text}.")(_made)
