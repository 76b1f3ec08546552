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

from v2_conformance.redaction.forms import LITERAL, SHORTEST, Needle, Reading, squeezed

_ROUNDS = 3
_BLOCK = 4096
# Large tensors are searched in parts, which takes less memory. No form of a secret is as long as
# what two parts share.
_WINDOW, _OVERLAP = 4 << 20, 64 << 10
# A part that is shorter than this stands in too many innocent places.
_LEAST_PART = 12
_PARTED = frozenset({LITERAL, "base64", "hex"})
_KEPT = {reading: re.compile(b"[%b]" % reading.value) for reading in Reading}
_TAG = re.compile(rb"</?[A-Za-z][^<>]{0,200}>")
_ESCAPES = re.compile(
    rb"""(?ix)
    % (?:u00)? ([0-9a-f]{2})
    | \\ (?: u\{ 0{0,6} ([0-9a-f]{1,6}) \} | U000000 ([0-9a-f]{2}) | u ([0-9a-f]{4})
           | x ([0-9a-f]{2}) )
    | \\ ([0-3]?[0-7]{1,2})
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
    """All that is looked for: needles, and `raw` bytes of which each one counts.

    `parted` are those of which a half is looked for as well.
    """

    all: tuple[Needle, ...] = ()
    raw: tuple[bytes, ...] = ()
    parted: frozenset[Needle] = frozenset()

    def of(self, reading: Reading) -> tuple[Needle, ...]:
        """Those that are looked for in a reading."""
        return self._of[reading]

    @cached_property
    def _of(self) -> dict[Reading, tuple[Needle, ...]]:
        return {one: tuple(n for n in self.all if n.reading is one) for one in Reading}

    def __bool__(self) -> bool:
        return bool(self.all or self.raw)


Hits = Callable[[bytes, Needle], Iterable[tuple[int, int]]]
"""Finds where the characters of a reading have a needle, or a part of it."""


def find(text: bytes, needles: Needles, *, parts: bool = False) -> list[Span]:
    """Where `text` shows a secret, in `text`'s own bytes, sorted; with `parts`, also where it shows
    at least half of a long one, from its start or up to its end."""
    found: set[Span] = set()

    def hits(letters: bytes, needle: Needle) -> Iterator[tuple[int, int]]:
        yield from _whole(letters, needle)
        if parts and needle in needles.parted:
            yield from _parts(letters, needle)

    for start in range(0, len(text), _WINDOW):
        spans = located(text[start : start + _WINDOW + _OVERLAP], needles, hits)
        found.update(Span(s.start + start, s.end + start, s.form) for s in spans)
    return sorted(_with_backslashes(text, span) for span in found)


def located(text: bytes, needles: Needles, hits: Hits) -> list[Span]:
    """Return what `hits` finds in the readings of `text` and of what its escapes stand for, as
    spans of `text`."""
    found = []
    for layers, view in views(text):
        spans = [Span(at, at + len(raw), LITERAL) for raw in needles.raw for at in _all(view, raw)]
        for reading in Reading:
            wanted = needles.of(reading)
            spans += _read(view, reading, wanted, hits) if wanted else ()
        for layer in reversed(layers):
            spans = layer.outer(spans) if spans else spans
        found += spans
    return found


def _read(view: bytes, reading: Reading, wanted: Sequence[Needle], hits: Hits) -> list[Span]:
    """Return the spans found in one reading of `view`."""
    letters = squeezed(view, reading)
    if len(letters) < SHORTEST:
        return []
    lower = letters.lower()
    found = [
        Span(*hit, needle.form)
        for needle in wanted
        for hit in hits(letters if needle.exact else lower, needle)
    ]
    return _placed(view, found, reading)


def views(text: bytes) -> Iterator[tuple[tuple[Unescaped, ...], bytes]]:
    """`text` and what it becomes as its escapes are undone, with the layers between."""
    layers: tuple[Unescaped, ...] = ()
    view = text
    for _ in range(_ROUNDS + 1):
        yield layers, view
        printable = _quoted_printable(view)
        if printable is not None:
            yield (*layers, printable), printable.text
        if b"<" in view and _TAG.search(view) is not None:
            tagless = Unescaped(view, _TAG, lambda tag: b"")
            yield (*layers, tagless), tagless.text
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


def _whole(letters: bytes, needle: Needle) -> Iterator[tuple[int, int]]:
    if needle.pattern is not None:
        yield from (match.span() for match in needle.pattern.finditer(letters))
        return
    for at in _all(letters, needle.text):
        yield at + needle.shown, at + len(needle.text)


def _parts(letters: bytes, needle: Needle) -> Iterator[tuple[int, int]]:
    value = needle.text
    first, last = halves(needle)
    for at in _all(letters, first):
        yield at, at + _common(letters[at : at + len(value)], value)
    for at in _all(letters, last):
        end = at + len(last)
        before = letters[max(0, end - len(value)) : end]
        yield end - _common(before[::-1], value[::-1]), end


def halves(needle: Needle) -> tuple[bytes, ...]:
    """The least of a secret that is one from its start, and up to its end; none of a short one."""
    value = needle.text
    least = max(_LEAST_PART, (len(value) + 1) // 2)
    if needle.shown or needle.pattern or needle.form not in _PARTED or len(value) <= least:
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


def _placed(text: bytes, spans: Sequence[Span], reading: Reading) -> list[Span]:
    """Spans of what a reading keeps of `text`, as spans of `text`."""
    if not spans:
        return []
    wanted = sorted({at for span in spans for at in (span.start, span.end - 1)})
    places: dict[int, int] = {}
    before = 0
    for start in range(0, len(text), _BLOCK):
        block = text[start : start + _BLOCK]
        kept = len(squeezed(block, reading))
        first, last = bisect_left(wanted, before), bisect_left(wanted, before + kept)
        if first < last:
            offsets = [match.start() + start for match in _KEPT[reading].finditer(block)]
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
