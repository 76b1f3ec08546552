"""Where the JSON of a message is wrong: a byte, a word, or the element that differs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.visible_text import on_one_line, short

_MOST = 256 * 1024  # bytes; longer JSON is not searched
_LONGEST = 40
# A string that does not end is a token, too, so that each byte is read once.
_TOKEN = re.compile(rb'"(?:[^"\\]+|\\.)*"?|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
_WORD = re.compile(rb"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_PUNCTUATION = frozenset(b"[]{},:")


class Mark(NamedTuple):
    """Bytes `start` to `end` of the JSON, and what is wrong with them."""

    start: int
    end: int
    words: str


def wrong_in_json(data: bytes, difference: FirstDifference | None) -> Mark | None:
    """Return the first place where `data` is no JSON, else the differing element. Never raises."""
    if len(data) > _MOST:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return Mark(error.start, error.end, f"not UTF-8 at byte {error.start}")
    for found in _TOKEN.finditer(data):
        word = found[0]
        if word[0] not in _PUNCTUATION and word[:1] != b'"' and not _WORD.fullmatch(word):
            shown = on_one_line(short(word.decode(), _LONGEST))
            return Mark(*found.span(), f"not JSON: {shown}")
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        at = len(text[: error.pos].encode())
        return (
            Mark(at, min(at + 1, len(data)), f"not JSON: {error.msg}") if at < len(data) else None
        )
    except (ValueError, RecursionError):  # valid, but beyond what Python reads
        return None
    in_json = difference is not None and difference.body_offset is None
    return _differing(data, difference) if difference and in_json else None


def _differing(data: bytes, difference: FirstDifference) -> Mark | None:
    for name, count, span in _elements(data, difference.element):
        if count > difference.element and on_one_line(name) == on_one_line(difference.output):
            words = f"first differing element: {difference.element} of {on_one_line(name)}"
            return Mark(*span, words)
    return None


def _elements(data: bytes, element: int) -> Iterator[tuple[str, int, tuple[int, int]]]:
    """Yield for each output its name, how many elements its data have, and where `element` is."""
    # For each open container the key of the value, b"" before the colon, None in arrays.
    path: list[bytes | None] = []
    name, count, span, last = "", 0, (0, 0), b""
    for found in _TOKEN.finditer(data):
        token = found[0]
        in_outputs = path[:2] == [b'"outputs"', None]
        if token in (b"{", b"["):
            path.append(b"" if token == b"{" else None)
            if in_outputs and len(path) == 3:
                name, count = "", 0
        elif token in (b"}", b"]"):
            if in_outputs and len(path) == 3:
                yield name, count, span
            del path[-1:]
        elif token == b"," and path and path[-1] is not None:
            path[-1] = b""
        elif token == b":" and path:
            path[-1] = last
        elif token not in (b",", b":"):
            last = token
            if in_outputs and path[2:] == [b'"name"']:
                name = str(json.loads(token))
            elif in_outputs and path[2:3] == [b'"data"'] and path[-1] != b"":
                span = found.span() if count == element else span
                count += 1
