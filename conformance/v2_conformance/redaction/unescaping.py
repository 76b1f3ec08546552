"""Reads a text as a reader would: its escapes undone, one in another, and its marks left out."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from html import unescape
from typing import NamedTuple

_ROUNDS = 3
_TAG = re.compile(rb"</?[A-Za-z][^<>]{0,200}>")
_ESCAPES = re.compile(
    rb"""(?ix)
    % ([0-9a-f]{2}) | \\ x ([0-9a-f]{2})
    | \\ ([0-3]?[0-7]{1,2})
    | % u ([0-9a-f]{4})
    | \\ (?: u\{ 0{0,6} ([0-9a-f]{1,6}) \} | U000([0-9a-f]{5}) | u ([0-9a-f]{4}) )
    | & \#x 0{0,8} ([0-9a-f]{1,6}) ;? | & \#0{0,8} ([0-9]{1,7}) ;?
    | & ([a-z][a-z0-9]{1,30};)
    | \\ N\{ ([a-z][a-z0-9 -]{1,80}) \}
    | \\ (["'\\/nrt])
    """
)
_MARKS = (b"%", b"\\", b"&")
_BYTES = {1: 16, 2: 16, 3: 8}  # groups that are a byte, and its base
_POINTS = {4: 16, 5: 16, 6: 16, 7: 16, 8: 16, 9: 10}
_ENTITY, _NAMED, _ONE = 10, 11, 12
_PAIR = re.compile(rb"(?i)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})")
_QUOTED_PRINTABLE = re.compile(rb"=(?:([0-9A-Fa-f]{2})|[ \t]*\r?\n)")
# Characters that look like a letter or a digit of ASCII: wide, bold, circled, raised or invisible.
_ALIKE = re.compile(
    rb"\xef[\xbc\xbd][\x80-\xbf]|\xf0\x9d[\x90-\x9f][\x80-\xbf]|\xf0\x9f[\x84\x85][\x80-\xbf]"
    rb"|\xe2[\x81-\x93][\x80-\xbf]|\xe1[\xb4-\xb6][\x80-\xbf]|\xf3\xa0[\x80\x81][\x80-\xbf]"
)
_TAG_CHARACTERS = 0xE0000
_TRUTH = re.compile(rb"(?i)\b(?:true|false)\b")
# What od, xxd, gdb, Wireshark and the like write: an address, the dump, what it looks like as text.
_DUMP = re.compile(
    rb"(?:\b0x[0-9A-Fa-f]{4,16}|\b0[0-9A-Fa-f]{3,15}|\b[0-9A-Fa-f]{4,16}(?=[:|]))"
    rb"(?:[ ]<[^<>\r\n]{1,80}>)?[:|]?[ \t]+([^\r\n]{2,200})"
)
_LOOKS = re.compile(
    rb"[ \t]+[|>][^\r\n]*|[ \t]{2,}(?!-?[0-9]+(?:[ \t]|\Z))[^ \t\r\n](?:[ \t]?[^ \t\r\n]){0,15}\Z"
)
_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


class Span(NamedTuple):
    """Bytes from `start` to `end` that show a secret in `form`."""

    start: int
    end: int
    form: str


def views(text: bytes) -> Iterator[tuple[tuple[Unescaped, ...], bytes]]:
    """`text` and what it becomes as its escapes are undone, with the layers between; the first and
    the last of these also without what else a reader looks past."""
    layers: tuple[Unescaped, ...] = ()
    view = text
    yield layers, view
    yield from _looked_past(layers, view)
    for _ in range(_ROUNDS):
        if not any(mark in view for mark in _MARKS) or _ESCAPES.search(view) is None:
            break
        if _PAIR.search(view):
            layers = (*layers, Unescaped(view, _PAIR, _of_pair))
            view = layers[-1].text
        layers = (*layers, Unescaped(view, _ESCAPES, _character))
        view = layers[-1].text
        yield layers, view
    if layers:
        yield from _looked_past(layers, view)


def _looked_past(
    layers: tuple[Unescaped, ...], view: bytes
) -> Iterator[tuple[tuple[Unescaped, ...], bytes]]:
    for mark, pattern, decode in _MARKUP:
        if mark in view and pattern.search(view) is not None:
            layer = Unescaped(view, pattern, decode)
            yield (*layers, layer), layer.text


class Unescaped:
    """`text` is `inner` with its escapes undone."""

    def __init__(
        self, inner: bytes, escapes: re.Pattern[bytes], decode: Callable[[re.Match[bytes]], bytes]
    ) -> None:
        self._inner = inner
        self._escapes = escapes
        self._decode = decode
        self.text = escapes.sub(decode, inner)

    def outer(self, spans: Sequence[Span]) -> list[Span]:
        """The same spans in `inner`."""
        wanted = sorted({at for span in spans for at in (span.start, span.end - 1)})
        places = dict(zip(wanted, self._places(wanted), strict=True))
        return [Span(places[s.start][0], places[s.end - 1][1], s.form) for s in spans]

    def _places(self, wanted: Sequence[int]) -> list[tuple[int, int]]:
        places: list[tuple[int, int]] = []
        made = passed = 0  # offsets in `text` and in `inner`
        for escape in self._escapes.finditer(self._inner):
            plain = escape.start() - passed
            until = bisect_left(wanted, made + plain, len(places))
            places += [(passed + at - made, passed + at - made + 1)
                       for at in wanted[len(places) : until]]  # fmt: skip
            made, passed = made + plain + len(self._decode(escape)), escape.end()
            until = bisect_left(wanted, made, len(places))
            places += [escape.span()] * (until - len(places))
        rest = wanted[len(places) :]
        return places + [(passed + at - made, passed + at - made + 1) for at in rest]


def _character(escape: re.Match[bytes]) -> bytes:
    """The character that an escape stands for; some that no secret has become a zero byte."""
    at = escape.lastindex or _ONE
    digits = escape[at].decode()
    if at in _BYTES:
        return bytes((int(digits, _BYTES[at]),))
    if at in _POINTS:
        return _encoded(int(digits, _POINTS[at]))
    if at == _ENTITY:
        character = unescape(f"&{digits}")
        return escape[0] if character.startswith("&") and len(character) > 1 else character.encode()
    if at == _NAMED:
        return unicodedata.lookup(digits).encode() if _is_name(digits) else escape[0]
    return _CONTROLS.get(escape[at], escape[at])


@cache
def _is_name(name: str) -> bool:
    try:
        return bool(unicodedata.lookup(name))
    except KeyError:
        return False


def _of_pair(pair: re.Match[bytes]) -> bytes:
    """The character of two surrogates."""
    high, low = int(pair[1], 16), int(pair[2], 16)
    return _encoded(0x10000 + ((high & 0x3FF) << 10 | low & 0x3FF))


def _encoded(code_point: int) -> bytes:
    if code_point > 0x10FFFF or 0xD800 <= code_point < 0xE000:
        return b"\0"
    return chr(code_point).encode()


def _alike(match: re.Match[bytes]) -> bytes:
    return _ascii(match[0])


@cache
def _ascii(character: bytes) -> bytes:
    """Return the ASCII that a character looks like, or the character if there is none."""
    try:
        text = character.decode()
    except UnicodeDecodeError:
        return character
    if ord(text) >= _TAG_CHARACTERS:
        return bytes((ord(text) - _TAG_CHARACTERS,))
    normal = unicodedata.normalize("NFKC", text)
    return normal.encode() if normal.isascii() else character


def _dumped(line: re.Match[bytes]) -> bytes:
    """The dump of a line alone."""
    return _LOOKS.sub(b"", line[1])


_MARKUP: tuple[tuple[bytes, re.Pattern[bytes], Callable[[re.Match[bytes]], bytes]], ...] = (
    (b"=", _QUOTED_PRINTABLE, lambda match: bytes.fromhex((match[1] or b"").decode())),
    (b"<", _TAG, lambda tag: b""),
    (b"rue", _TRUTH, lambda match: b"1" if match[0][0] in b"tT" else b"0"),
    (b"0", _DUMP, _dumped),
    (b"", _ALIKE, _alike),
)
