"""Finds the forms of secrets in bytes: in time and memory that grow with their length alone.

Escapes (percent, JSON, HTML, quoted-printable …) are undone, up to three of them one in another,
and each match is traced back to the bytes that carry it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from typing import NamedTuple

from v2_conformance.redaction.forms import ALNUM, LITERAL, Needle, squeezed

_ROUNDS = 3
_BLOCK = 4096
# Large tensors are searched in parts, which takes less memory. No form of a secret is as long as
# what two parts share.
_WINDOW, _OVERLAP = 4 << 20, 64 << 10
# A part that is shorter than this stands in too many innocent places.
_LEAST_PART = 12
_PARTED = frozenset({LITERAL, "base64", "hex"})
_KEPT = re.compile(b"[%b]" % ALNUM)
_ESCAPES = re.compile(
    rb"""(?ix)
    % (?:u00)? ([0-9a-f]{2})
    | \\ (?: u\{ 0{0,6} ([0-9a-f]{1,6}) \} | U000000 ([0-9a-f]{2}) | u ([0-9a-f]{4})
           | x ([0-9a-f]{2}) )
    | \\ ([0-3][0-7]{2})
    | & (?: \#x 0{0,8} ([0-9a-f]{1,6}) | \#0{0,8} ([0-9]{1,7}) ) ;?
    | & ([a-z][a-z0-9]{1,30};)
    | \\ (["'\\/nrt])
    """
)
_MARKS = (b"%", b"\\", b"&")
_HEX_GROUPS = (1, 2, 3, 4, 5, 7)
_OCTAL, _NUMBER, _NAME, _ONE = 6, 8, 9, 10
_QUOTED_PRINTABLE = re.compile(rb"=(?:([0-9A-Fa-f]{2})|[ \t]*\r?\n)")
_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


class Span(NamedTuple):
    """Bytes from `start` to `end` that show a secret in `form`."""

    start: int
    end: int
    form: str


@dataclass(frozen=True)
class Needles:
    """All that is looked for: needles, and `raw` values that have next to no letters or digits.

    `parted` are the texts of those of which a half is looked for, too.
    """

    all: tuple[Needle, ...] = ()
    raw: tuple[bytes, ...] = ()
    parted: frozenset[bytes] = frozenset()

    @cached_property
    def exact(self) -> tuple[Needle, ...]:
        """Those in which the letter case matters."""
        return tuple(needle for needle in self.all if needle.exact)

    @cached_property
    def folded(self) -> tuple[Needle, ...]:
        """The others."""
        return tuple(needle for needle in self.all if not needle.exact)

    @cached_property
    def longest(self) -> int:
        """The length of the longest."""
        return max((len(needle.text) for needle in self.all), default=0)

    def __bool__(self) -> bool:
        return bool(self.all or self.raw)


def find(text: bytes, needles: Needles, *, parts: bool = False) -> list[Span]:
    """Where `text` shows a secret, in `text`'s own bytes, sorted; with `parts`, also where it shows
    at least half of a long one, from its start or up to its end."""
    found: set[Span] = set()
    for start in range(0, len(text), _WINDOW):
        part = text[start : start + _WINDOW + _OVERLAP]
        spans = located(part, lambda letters: _hits(letters, needles))
        if parts:
            spans += located(part, lambda letters: _parts(letters, needles))
        spans += (span for value in needles.raw for span in _raw(part, value))
        found.update(Span(s.start + start, s.end + start, s.form) for s in spans)
    return sorted(_with_backslashes(text, span) for span in found)


def located(text: bytes, hits: Callable[[bytes], Iterable[Span]]) -> list[Span]:
    """Return what `hits` finds in the letters and digits of `text` and of what its escapes stand
    for, as spans of `text`."""
    found = []
    for layers, view in views(text):
        spans = _placed(view, list(hits(squeezed(view))))
        for layer in reversed(layers):
            spans = layer.outer(spans) if spans else spans
        found += spans
    return found


def _raw(text: bytes, value: bytes) -> Iterator[Span]:
    for layers, view in views(text):
        spans = [Span(at, at + len(value), LITERAL) for at in _all(view, value)]
        for layer in reversed(layers):
            spans = layer.outer(spans) if spans else spans
        yield from spans


def views(text: bytes) -> Iterator[tuple[tuple[Unescaped, ...], bytes]]:
    """`text` and what it becomes as its escapes are undone, with the layers between."""
    layers: tuple[Unescaped, ...] = ()
    view = text
    for _ in range(_ROUNDS + 1):
        yield layers, view
        printable = _quoted_printable(view)
        if printable is not None:
            yield (*layers, printable), printable.text
        if not any(mark in view for mark in _MARKS) or _ESCAPES.search(view) is None:
            return
        layer = Unescaped(view, _ESCAPES, _character)
        layers, view = (*layers, layer), layer.text


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


def _quoted_printable(text: bytes) -> Unescaped | None:
    if b"=" not in text or _QUOTED_PRINTABLE.search(text) is None:
        return None
    return Unescaped(text, _QUOTED_PRINTABLE, lambda m: bytes.fromhex((m[1] or b"").decode()))


def _character(escape: re.Match[bytes]) -> bytes:
    """The character that an escape stands for; some that no secret has become a zero byte."""
    at = escape.lastindex or _ONE
    digits = escape[at].decode()
    if at in _HEX_GROUPS:
        return _encoded(int(digits, 16))
    if at == _OCTAL:
        return _encoded(int(digits, 8))
    if at == _NUMBER:
        return _encoded(int(digits))
    if at == _NAME:
        character = unescape(f"&{digits}")
        return escape[0] if character.startswith("&") and len(character) > 1 else character.encode()
    return _CONTROLS.get(escape[at], escape[at])


def _encoded(code_point: int) -> bytes:
    if code_point > 0x10FFFF or 0xD800 <= code_point < 0xE000:
        return b"\0"
    return chr(code_point).encode()


def _hits(letters: bytes, needles: Needles) -> Iterator[Span]:
    for text, wanted in ((letters, needles.exact), (letters.lower(), needles.folded)):
        for needle in wanted:
            for at in _all(text, needle.text):
                yield Span(at + needle.shown, at + len(needle.text), needle.form)


def _parts(letters: bytes, needles: Needles) -> Iterator[Span]:
    for text, wanted in ((letters, needles.exact), (letters.lower(), needles.folded)):
        for needle in wanted:
            value = needle.text
            if value not in needles.parted:
                continue
            first, last = halves(needle)
            for at in _all(text, first):
                length = _common(text[at : at + len(value)], value)
                yield Span(at, at + length, needle.form)
            for at in _all(text, last):
                end = at + len(last)
                before = text[max(0, end - len(value)) : end]
                yield Span(end - _common(before[::-1], value[::-1]), end, needle.form)


def halves(needle: Needle) -> tuple[bytes, ...]:
    """The least of a secret that is one from its start, and up to its end; none of a short one."""
    value = needle.text
    least = max(_LEAST_PART, (len(value) + 1) // 2)
    if needle.shown or needle.form not in _PARTED or len(value) <= least:
        return ()
    return value[:least], value[-least:]


def _common(one: bytes, other: bytes) -> int:
    """Return how many bytes two texts have in common at their starts."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))


def _all(text: bytes, value: bytes) -> Iterator[int]:
    at = text.find(value)
    while at >= 0:
        yield at
        at = text.find(value, at + len(value))


def _placed(text: bytes, spans: Sequence[Span]) -> list[Span]:
    """Spans of the letters and digits in `text`, as spans of `text`."""
    if not spans:
        return []
    wanted = sorted({at for span in spans for at in (span.start, span.end - 1)})
    places: dict[int, int] = {}
    before = 0
    for start in range(0, len(text), _BLOCK):
        block = text[start : start + _BLOCK]
        kept = len(squeezed(block))
        first, last = bisect_left(wanted, before), bisect_left(wanted, before + kept)
        if first < last:
            offsets = [match.start() + start for match in _KEPT.finditer(block)]
            places.update((at, offsets[at - before]) for at in wanted[first:last])
        before += kept
    return [Span(places[s.start], places[s.end - 1] + 1, s.form) for s in spans]


def _with_backslashes(text: bytes, span: Span) -> Span:
    """The span with the backslashes before it, lest an escape be left without its end."""
    start = span.start
    while start and text[start - 1 : start] == b"\\":
        start -= 1
    return span._replace(start=start)


def merged(spans: Iterable[Span]) -> list[Span]:
    """Sorted spans without those that lie within another."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if not found or span.end > found[-1].end:
            found.append(span)
    return found
