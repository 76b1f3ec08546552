"""Parses the JSON of responses, which a hostile server can make of millions of values."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import (
    MessageError,
    check_depth,
    occurrences,
    parse_json,
    parse_json_noting,
)

_MOST_ENTRIES = 200_000
"""Arrays, objects and members that a response may have. Tensors of that many dimensions of data, or
outputs, are in no case; each takes some hundred bytes of memory."""
_MOST_STRINGS = 1_000_000  # four bytes of a BYTES tensor each, in the longest one
_MOST_NUMBERS = 1_500_000  # a MiB of one-byte elements, and some
_SHORT = 32 * 1024  # bytes; longer ones are not cached
_BYTES_FOR_EACH = 8  # beyond that: for a tensor of 64 MiB, the largest possible answer
# A string without an end goes on to the end: else each quote in it would be tried as a beginning.
_STRING_OR_MARK = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{:,]', re.DOTALL)


def parse_response_json(data: Buffer, *, unique: bool = True) -> dict[str, Any]:
    """Parse as parse_json does. Also raises MessageError for more values than any
    response needs.
    """
    if not unique:
        return parse_noting(data)[0]
    raw = bytes(data)
    _check_number_of_values(raw)
    return parse_json(raw)


def parse_noting(data: Buffer) -> tuple[dict[str, Any], str | None]:
    """Parse as parse_json_noting and parse_response_json do. The result is shared and must not be
    changed: an answer is judged, and later observed with all others.
    """
    raw = bytes(data)
    return _parse_again(raw) if len(raw) <= _SHORT else _parse(raw)


def _parse(raw: bytes) -> tuple[dict[str, Any], str | None]:
    _check_number_of_values(raw)
    return parse_json_noting(raw)


_parse_again = lru_cache(maxsize=16)(_parse)


def _check_number_of_values(raw: bytes) -> None:
    size = len(raw)
    if size <= _MOST_ENTRIES:  # each takes a byte at least
        return
    most = max(_MOST_NUMBERS, size // _BYTES_FOR_EACH)
    if (
        occurrences(raw, "[{:") <= _MOST_ENTRIES
        and (size <= 2 * _MOST_STRINGS or occurrences(raw, '"') <= 2 * _MOST_STRINGS)
        and (size <= most or occurrences(raw, ",") <= most)
    ):
        return
    entries = strings = commas = 0
    # Strings may have any of these characters. Latin-1, in which all bytes are some character.
    for match in _STRING_OR_MARK.finditer(raw.decode("latin-1")):
        mark = match[0][0]
        if mark == '"':
            strings += 1
        elif mark == ",":
            commas += 1
        else:
            entries += 1
        if entries > _MOST_ENTRIES or strings > _MOST_STRINGS or commas > most:
            check_depth(raw, raw.decode("latin-1"))  # deep JSON is left unread, and decides nothing
            raise MessageError("the JSON has more values than any response needs")
