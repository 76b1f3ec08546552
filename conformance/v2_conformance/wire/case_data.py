"""Reads the content of a case file, with a clear message for each mistake of its author.

A file is checked against its schema before its axes are filled in, so that a value read here can
still be of any JSON type. Any other error while a case is encoded is a bug in the suite.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from v2_conformance.errors import CaseFileError

_LONGEST = 60
_JSON = "the JSON"


def mapping(value: object, what: str, known: Collection[str] | None = None) -> Mapping[str, Any]:
    """Return `value` if it is a mapping with no members other than those `known`."""
    if not isinstance(value, dict):  # as YAML and JSON are read; checking for a Mapping is slow
        raise unexpected(what, "a mapping", value)
    if known is not None:
        for name in value:
            if name not in known:
                listed = _listed(known) or "none"
                raise CaseFileError(f"{what}: unknown member {name!a:.60}; expected {listed}")
    return value


def only_member(value: object, what: str, known: Collection[str]) -> tuple[str, Any]:
    """Return name and value of the only member of a mapping, which is one of those `known`."""
    found = mapping(value, what, known)
    if len(found) != 1:
        raise unexpected(what, f"only {_listed(known)}", list(found))
    return next(iter(found.items()))


def refuse(given: Mapping[str, Any], names: Iterable[str], why: str) -> None:
    """Raise CaseFileError if `given` has one of these members, which would not be sent because of
    `why`."""
    for name in names:
        if name in given:
            raise CaseFileError(f"`{name}` would not be sent: {why}")


def array(value: object, what: str) -> Sequence[Any]:
    """Return `value` if it is a list."""
    if not isinstance(value, list):
        raise unexpected(what, "a list", value)
    return value


def text(value: object, what: str) -> str:
    """Return `value` if it is text that UTF-8 can encode."""
    if not isinstance(value, str):
        raise unexpected(what, "text", value)
    if not value.isascii():
        utf8(value, what)
    return value


def utf8(value: str, what: str) -> bytes:
    """Return `value` in UTF-8, which cannot encode a lone surrogate."""
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        lone = ascii(value[error.start])
        raise CaseFileError(f"{what}: {lone} is half of a surrogate pair") from error


def integer(value: object, what: str, *, least: int | None = None, most: int | None = None) -> int:
    """Return `value` if it is an integer from `least` to `most`."""
    if type(value) is not int:
        raise unexpected(what, "an integer", value)
    if least is not None and value < least:
        raise unexpected(what, f"at least {least}", value)
    if most is not None and value > most:
        raise unexpected(what, f"at most {most}", value)
    return value


def one_of(value: object, what: str, known: Sequence[str]) -> str:
    """Return `value` if it is one of the words `known`."""
    if not isinstance(value, str) or value not in known:
        raise unexpected(what, _listed(known), value)
    return value


def from_hex(value: object, what: str) -> bytes:
    """Return the bytes that `value` has in hexadecimal, with or without spaces between them. Bytes
    in the place of digits, which the bench has of its own, are returned as they are.
    """
    if isinstance(value, bytes):
        return value
    try:
        return bytes.fromhex(text(value, what))
    except ValueError as error:
        raise unexpected(what, "two hexadecimal digits for each byte", value) from error


def write_json(document: object, *, indent: int | None = None) -> bytes:
    """Return UTF-8 JSON, compact unless `indent` is given."""
    if indent is None:
        return utf8(_COMPACT.encode(document), _JSON)
    written = json.dumps(document, ensure_ascii=False, indent=indent, default=_no_json)
    return utf8(written, _JSON)


def _no_json(value: object) -> NoReturn:
    raise unexpected(_JSON, "JSON", value)  # YAML has more types


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_no_json)


def unexpected(what: str, wanted: str, got: object) -> CaseFileError:
    """Return the error for an unexpected value, with as much of `got` as fits on a line."""
    shown = ascii(got)
    if len(shown) > _LONGEST:
        shown = shown[:_LONGEST] + "…"
    return CaseFileError(f"{what}: expected {wanted}, got {shown}")


def _listed(words: Collection[str]) -> str:
    *others, last = words or [""]
    return f"{', '.join(others)} or {last}" if others else last
