"""Faults of BYTES elements in JSON, of text in them, and of long ones (B)."""

from __future__ import annotations

import base64
import html
import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from v2_conformance.protocol.datatypes import (
    Buffer,
    ElementError,
    decode_bytes,
    element_count,
    encode_bytes,
)
from v2_conformance.protocol.message import COMPACT, Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.request_reader import RequestInput
from v2_conformance.suite.models import TensorSpec
from v2_mutants.faults.shared.blobs import change_elements, column_major, is_bytes
from v2_mutants.registry import Right, What, fault, only, replacing, then


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
fault("json-strings-written-as-latin-1", "B5", Behaviour.output_data)(
    "BYTES outputs in JSON are decoded as Latin-1, not UTF-8.",
    _out_json(lambda text: text.encode().decode("latin-1")),
)
fault("json-strings-base64", "B5", Behaviour.output_data)(
    "BYTES outputs in JSON are base64 strings.",
    _writes_elements(lambda element: base64.b64encode(element).decode()),
)
fault("non-utf8-json-replaced", "B14", Behaviour.output_data)(
    "In JSON, bytes of BYTES outputs that are not UTF-8 become replacement characters.",
    _writes_elements(lambda element: element.decode(errors="replace")),
)


_writes_surrogates = replacing(
    Behaviour,
    Behaviour.output_data,
    _writes_elements(lambda element: element.decode(errors="surrogateescape")),
)
fault("non-utf8-json-raw", "B14", Behaviour.dump_document, base=_writes_surrogates)(
    "In JSON, bytes of BYTES outputs that are not UTF-8 are written as they are.",
    lambda right, document: json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(
        errors="surrogateescape"
    ),
)


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
    ("compatible", "Full-width letters in JSON are read as ASCII",
     lambda text: re.sub("[\uff01-\uff5e]", lambda one: chr(ord(one[0]) - 0xFEE0), text)),
    ("like-numbers-as-numbers", "Digits in strings in JSON lose the zeros before them",
     lambda text: str(int(text)) if re.fullmatch("[0-9]+", text) else text),
    ("null-as-nothing", "The strings null and NULL in JSON are empty",
     lambda text: "" if text.lower() == "null" else text),
    ("uuids-in-lower-case", "UUIDs in strings in JSON are read in lower case",
     lambda text: text.lower() if re.fullmatch("[0-9A-F]{8}(-[0-9A-F]{4}){3}-.*", text) else text),
    ("like-base64-decoded", "Padded base64 in strings in JSON is decoded",
     lambda text: base64.b64decode(text).decode() if re.fullmatch("[A-Za-z]+==", text) else text),
    ("like-nan-as-null", "The strings nan and NaN in JSON are empty",
     lambda text: "" if text.lower() == "nan" else text),
    ("without-joiners", "The character U+200D in strings in JSON is lost",
     lambda text: text.replace("\u200d", "")),
    ("without-private-use", "U+FFFD is read for characters for private use in JSON",
     lambda text: re.sub("[\ue000-\uf8ff]", "\ufffd", text)),
    ("without-noncharacters", "U+FFFD is read for U+FFFE and U+FFFF in JSON",
     lambda text: re.sub("[\ufffe\uffff]", "\ufffd", text)),
):  # fmt: skip
    fault(f"json-text-{_name}", "B5", Behaviour.json_blob)(f"{_text}.", _in_json(_changed))

fault("json-text-escaped-for-html", "B5", Behaviour.output_data)(
    "Strings in JSON outputs are escaped for HTML.", _out_json(html.escape)
)
fault("json-text-lines-ended-with-lf", "B5", Behaviour.output_data)(
    "CR in strings in JSON outputs is lost.", _out_json(lambda text: text.replace("\r", ""))
)


def _read_up_to(length: int) -> What[Buffer]:
    def what(right: Right[Buffer], entry: RequestInput) -> Buffer:
        blob = right()
        return change_elements(blob, lambda text: text[:length]) if is_bytes(entry) else blob

    return what


fault("json-texts-written-up-to-1000", "B12", Behaviour.output_data)(
    "BYTES outputs in JSON have at most the first 1,000 characters of each element.",
    _out_json(lambda text: text[:1000]),
)
fault("json-texts-read-up-to-1024", "B12", Behaviour.json_blob)(
    "Of each string in a JSON input, at most 1,024 bytes are read.", _read_up_to(1024)
)
fault("json-texts-read-up-to-32-kib", "B12", Behaviour.json_blob)(
    "Of each string in a JSON input, at most 32 KiB are read.", _read_up_to(2**15)
)

for _name, _requirement, _text, _of in (
    ("megabyte-json-texts-cut", "B12",
     "BYTES outputs in JSON have at most the first 512 KiB of each element.",
     lambda text: text[: 2**19]),
    ("delete-left-out-of-json-texts", "B5", "BYTES outputs in JSON lack the character U+007F.",
     lambda text: text.replace("\x7f", "")),
    ("last-characters-replaced-in-json-texts", "B5",
     "BYTES outputs in JSON have U+FFFD for characters from U+100000 to U+10FFFF.",
     lambda text: re.sub("[\U00100000-\U0010ffff]", "\ufffd", text)),
    ("line-separators-as-spaces-in-json-texts", "B5",
     "BYTES outputs in JSON have a space for U+2028 and U+2029.",
     lambda text: text.replace("\u2028", " ").replace("\u2029", " ")),
):  # fmt: skip
    fault(_name, _requirement, Behaviour.output_data)(_text, _out_json(_of))


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


@fault("large-bytes-matrix-transposed", "B8", Behaviour.output_tensor)
def _(right: Right[Tensor], output: TensorSpec, tensor: Tensor) -> Tensor:
    """A BYTES matrix of more than 16 rows and columns comes back column by column."""
    result = right()
    if result.datatype != "BYTES" or len(result.shape) != 2 or min(result.shape) <= 16:
        return result
    return column_major(result)


@fault("empty-elements-behind-the-last-ignored", "B9", Behaviour.bytes_blob)
def _(right: Right[Buffer], entry: RequestInput, blob: Buffer) -> Buffer:
    """Empty elements behind those that the shape has are ignored."""
    each, count = decode_bytes(blob), element_count(entry.shape)
    return right() if any(each[count:]) else right(blob=encode_bytes(each[:count]))


fault("texts-cut-at-65535", "B12", Behaviour.json_blob)(
    "A string in JSON is cut after 65,535 bytes, as with a length of 16 bits.",
    then(
        lambda blob, entry: (
            change_elements(blob, lambda element: element[:65535]) if is_bytes(entry) else blob
        )
    ),
)
