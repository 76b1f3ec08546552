"""The fields of a request or an answer as a case says: type, header length, and its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.names import HEADER_LENGTH, JSON_TYPE, OCTET_STREAM

_LENGTH = re.compile(r"\$\{(length|blobs|body)([+-]\d+)?(?::([a-z]+))?\}")
_TRUE_LENGTH = "${length}"
_DIGITS = "0123456789"
# Ways to write a number other than plain decimal digits.
_NOTATIONS: Mapping[str, Callable[[int], str]] = {
    "hex": hex,
    "digits": lambda n: f"{n:x}",
    "octal": lambda n: f"0{n:o}",
    "spaced": lambda n: f"{str(n)[:-1]} {n % 10}",
    "grouped": lambda n: f"{str(n)[:-1]}_{n % 10}",
    "exponent": lambda n: f"{n / 100:g}e2",
    "arabic": lambda n: str(n).translate(str.maketrans(_DIGITS, "٠١٢٣٤٥٦٧٨٩")),
    "fullwidth": lambda n: str(n).translate(str.maketrans(_DIGITS, "０１２３４５６７８９")),
}


def message_fields(
    given: Mapping[str, Any],
    length: int,
    blobs: int,
    codings: Iterable[tuple[str, str]],
    *,
    binary: bool,
) -> list[tuple[str, str]]:
    """Return Content-Type, the header length for these bytes of JSON and blobs, `codings`, and the
    case's own fields. Raises CaseFileError.

    Type and header length are those of binary data as soon as a tensor is in binary form, even if
    its blob is empty: no document allows leaving them out, so a reader may rely on them.
    """
    fields: list[tuple[str, str]] = []
    content_type = given.get("content_type", OCTET_STREAM if binary else JSON_TYPE)
    if content_type is not None:
        fields.append(("Content-Type", content_type))
    lengths = given.get("header_length", {} if binary else "absent")
    if lengths != "absent":
        name = lengths.get("name", HEADER_LENGTH)
        values = lengths.get("values", [lengths.get("value", _TRUE_LENGTH)])
        fields += [(name, _computed(value, length, blobs)) for value in values]
    fields += codings
    headers = given.get("headers", {})
    fields += [(name, _computed(value, length, blobs)) for name, value in headers.items()]
    return fields


def _computed(value: str, length: int, blobs: int) -> str:
    """Return the value of a field, with the true lengths filled in."""
    if value == _TRUE_LENGTH:
        return str(length)
    known = {"length": length, "blobs": blobs, "body": length + blobs}

    def write(match: re.Match[str]) -> str:
        number = known[match[1]] + int(match[2] or 0)
        notation = _NOTATIONS.get(match[3] or "", str)
        return match[0] if match[3] and match[3] not in _NOTATIONS else notation(number)

    computed = _LENGTH.sub(write, value)
    if "${" in computed:
        raise CaseFileError(
            f"{value[:60]!a}: expected ${{length}}, ${{blobs}} or ${{body}}, with +n or -n or a "
            "notation in it at most"
        )
    return computed
