"""JSON header + blobs ⇄ HTTP body, with the byte range of every part."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NoReturn

import msgspec

from v2_conformance.protocol.datatypes import Buffer, Shape

# Deeper than any V2 message by far, and far from the interpreter's recursion limit.
MAX_JSON_DEPTH = 64
COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
"""Writes JSON without white space, and no more escapes than it needs."""
_NEGATIVE_ZERO = re.compile(r"-0(?![0-9.eE])")
# A string without an end goes on to the end; otherwise each quote in it would be tried as a start.
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
_EXACT_IN_DOUBLE = 2**53
_BEYOND_64_BITS = 2**64
_KINDS = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


class MessageError(ValueError):
    """A body that is not a V2 message: what is wrong, in words."""


class TooDeepError(MessageError):
    """JSON that is nested deeper, or has a longer number, than is read here; it may be right."""


class NotUtf8Error(MessageError):
    """JSON that is not UTF-8 at byte `at`; nothing else of it was looked at."""

    def __init__(self, at: int) -> None:
        super().__init__(f"the JSON is not UTF-8 at byte {at}")
        self.at = at


class RepeatedMemberError(MessageError):
    """An object of the JSON has the member `member` more than once."""

    def __init__(self, member: str) -> None:
        super().__init__(f"the JSON has the member {member[:60]!a} twice in one object")
        self.member = member


class Tensor(msgspec.Struct, frozen=True):
    """A tensor's whole value; `blob` is its little-endian, row-major binary form."""

    name: str
    datatype: str
    shape: Shape
    blob: Buffer


class Part(msgspec.Struct, frozen=True):  # made faster than a frozen dataclass
    """A byte range of a body: `kind` is "json", "blob" or "slack", `name` the blob's tensor."""

    kind: str
    name: str
    start: int
    end: int


def parameters_of(entry: object) -> Mapping[str, Any]:
    """The `parameters` of a part of a message's JSON, as far as they are an object."""
    result = entry.get("parameters") if isinstance(entry, dict) else None
    return result if isinstance(result, dict) else {}


def json_object(body: bytes, *, strict: bool = True) -> tuple[dict[str, Any], int] | None:
    """The JSON object at the start of a body and where it ends, in bytes; None if there is none.

    Anything can follow it. It is read tolerantly, but numbers keep their value: see parse_json.
    Without `strict`, strings may have control characters.
    """
    text = body.decode("latin-1")  # one character a byte, whatever follows the JSON
    start = len(text) - len(text.lstrip(" \t\r\n"))
    if not text.startswith("{", start):
        return None
    try:
        reader = json.JSONDecoder(strict=strict, parse_int=_integer_hook(text), parse_float=_number)
        document, end = reader.raw_decode(text, start)
        if not text[start:end].isascii():
            document, _ = reader.raw_decode(body[start:end].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return document, end


def dump_json(document: object, indent: int | None = None) -> bytes:
    """Return UTF-8 JSON, compact unless `indent` is given, non-ASCII characters as they are: P10
    tells bytes from characters.
    """
    if indent is None:
        return COMPACT.encode(document).encode()
    return json.dumps(document, ensure_ascii=False, indent=indent).encode()


def compose(
    head: bytes, document: bytes, blobs: Sequence[tuple[str, Buffer]]
) -> tuple[bytes, tuple[Part, ...]]:
    """HTTP head, JSON and blobs in one copy; the parts' ranges count from the body's start."""
    parts = [Part("json", "", 0, len(document))]
    for name, blob in blobs:
        start = parts[-1].end
        parts.append(Part("blob", name, start, start + len(blob)))
    return b"".join([head, document, *(blob for _, blob in blobs)]), tuple(parts)


def parse_json(data: Buffer) -> dict[str, Any]:
    """A JSON object, strictly (P9): UTF-8 without BOM, no NaN or Infinity, no duplicate members.

    Numbers keep their value: -0 is a float, and an integer in 64 bits is an int, however it is
    written. Raises MessageError, of duplicates RepeatedMemberError. Nesting beyond MAX_JSON_DEPTH
    is refused before it is parsed: TooDeepError, as is a number of more digits than Python reads.
    """
    document, repeated = parse_json_noting(data)
    if repeated is not None:
        raise RepeatedMemberError(repeated)
    return document


def parse_json_noting(data: Buffer) -> tuple[dict[str, Any], str | None]:
    """See parse_json; and return the first member that occurs twice in an object, None if none is,
    of which the last one counts (RFC 8259, section 4). Raises MessageError.
    """
    repeated: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        document = dict(pairs)
        if len(document) != len(pairs) and not repeated:
            repeated.append(_repeated(pairs))
        return document

    raw = bytes(data)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise NotUtf8Error(error.start) from error
    check_depth(raw, text)
    try:
        document = json.loads(
            text,
            object_pairs_hook=note,
            parse_constant=_no_constant,
            parse_int=_integer_hook(text),
            parse_float=_number,
        )
    except json.JSONDecodeError as error:
        at = len(text[: error.pos].encode())
        raise MessageError(f"not JSON at byte {at}: {error.msg}") from error
    except MessageError:
        raise
    except (ValueError, RecursionError) as error:
        raise TooDeepError("the JSON has a number of over 4,300 digits") from error
    if not isinstance(document, dict):
        raise MessageError(f"expected a JSON object, got {_KINDS[type(document)]}")
    return document, repeated[0] if repeated else None


def occurrences(data: bytes, characters: str) -> int:
    """Return how often these ASCII characters occur in UTF-8 text."""
    return sum(map(data.count, characters.encode()))


def _integer_hook(text: str) -> Callable[[str], float] | None:
    """Return what reads integers if -0 may be among the numbers: it stands in the text, if only in
    a string. Else the parser's own is faster.
    """
    return _integer if "-" in text and _NEGATIVE_ZERO.search(text) is not None else None


def _integer(text: str) -> float:
    """An integer as JSON writes it; -0 is a float, since Python's int has no negative zero."""
    return -0.0 if text == "-0" else int(text)


def _number(text: str) -> float:
    """A number with a fraction or exponent; a double would round an integer beyond 2^53."""
    value = float(text)
    if abs(value) < _EXACT_IN_DOUBLE or not math.isfinite(value):
        return value
    exact = Decimal(text)
    whole = abs(exact) < _BEYOND_64_BITS and exact == exact.to_integral_value()
    return int(exact) if whole else value


def check_depth(data: bytes, text: str) -> None:
    """Raise TooDeepError if the JSON in `data`, which is `text`, is nested deeper than is read."""
    if occurrences(data, "[{") <= MAX_JSON_DEPTH:
        return
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        bracket = match[0]
        depth += (bracket in "[{") - (bracket in "]}")
        if depth > MAX_JSON_DEPTH:
            raise TooDeepError(f"the JSON is nested deeper than {MAX_JSON_DEPTH} levels")


def _repeated(pairs: list[tuple[str, Any]]) -> str:
    seen: set[str] = set()
    return next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]


def _no_constant(name: str) -> NoReturn:
    raise MessageError(f"{name} is not JSON")
