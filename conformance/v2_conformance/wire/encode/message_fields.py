"""The fields of a request or an answer as a case says: type, header length, and its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from v2_conformance.protocol.names import HEADER_LENGTH, JSON_TYPE, OCTET_STREAM
from v2_conformance.wire.case_data import array, mapping, refuse, text, unexpected

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
        fields.append(("Content-Type", text(content_type, "`content_type`")))
    fields += _header_lengths(given.get("header_length", {} if binary else "absent"), length, blobs)
    fields += codings
    for name, value in mapping(given.get("headers", {}), "`headers`").items():
        written = _computed(value, length, blobs, "`headers`")
        fields.append((text(name, "`headers`"), written))
    return fields


def _header_lengths(given: object, length: int, blobs: int) -> list[tuple[str, str]]:
    """Return the fields that `header_length` stands for."""
    if given == "absent":
        return []
    if given == {}:  # as in almost every case
        return [(HEADER_LENGTH, str(length))]
    given = mapping(given, "`header_length`", ("name", "value", "values"))
    if "values" in given:
        refuse(given, ("value",), "`values` has those of all fields")
    name = text(given.get("name", HEADER_LENGTH), "`header_length.name`")
    one = [given.get("value", _TRUE_LENGTH)]
    values = array(given.get("values", one), "`header_length.values`")
    return [(name, _computed(value, length, blobs, "`header_length`")) for value in values]


def _computed(value: object, length: int, blobs: int, what: str) -> str:
    """Return the value of a field, with the true lengths filled in."""
    if value == _TRUE_LENGTH:
        return str(length)
    known = {"length": length, "blobs": blobs, "body": length + blobs}

    def write(match: re.Match[str]) -> str:
        number = known[match[1]] + int(match[2] or 0)
        notation = _NOTATIONS.get(match[3] or "", str)
        return match[0] if match[3] and match[3] not in _NOTATIONS else notation(number)

    computed = _LENGTH.sub(write, text(value, what))
    if "${" in computed:
        form = "${length}, ${blobs} or ${body}, with +n or -n or a notation in it at most"
        raise unexpected(what, form, value)
    return computed
