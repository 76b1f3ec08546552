"""Finds the forms of secrets in bytes: in time and memory that grow with their length alone.

Each match in a view of the text (unescaping.py) is traced back to the bytes that carry it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from v2_conformance.redaction.forms import LITERAL
from v2_conformance.redaction.needles import SHORTEST, Needle, Reading, squeezed
from v2_conformance.redaction.unescaping import Span, views

_BLOCK = 4096
# Large tensors are searched in parts, which takes less memory. No form of a secret is as long as
# what two parts share.
_WINDOW, _OVERLAP = 4 << 20, 64 << 10
# A part that is shorter than this stands in too many innocent places.
_LEAST_PART = 12
_PARTED = frozenset({LITERAL, "base64", "hex"})
_KEPT = {reading: re.compile(b"[%b]" % reading.value) for reading in Reading}


@dataclass(frozen=True)
class Needles:
    """Everything to look for: needles, and `raw` bytes, each of which counts.

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


def _whole(letters: bytes, needle: Needle) -> Iterator[tuple[int, int]]:
    if needle.pattern is not None:
        for match in needle.pattern.finditer(letters):
            yield match.start(), _rest(letters, match.end(), needle)
        return
    for at in _all(letters, needle.text):
        yield at + needle.shown, at + len(needle.text)


def _rest(letters: bytes, end: int, needle: Needle) -> int:
    """Return where a match that ends here ends with what follows its pattern, as far as that is
    there."""
    for step in needle.rest:
        after = step.match(letters, end)
        if after is None:
            break
        end = after.end()
    return end


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
    """Return the shortest start and end of a secret to look for; none if the secret is short."""
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
