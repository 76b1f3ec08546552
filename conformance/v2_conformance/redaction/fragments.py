"""Parts of secrets that a quotation shows which was cut off, or which begins in their middle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from v2_conformance.redaction.needles import SHORTEST, Needle
from v2_conformance.redaction.search import Needles, located
from v2_conformance.redaction.unescaping import Span

# How quotations end that were cut off, some of them Python literals.
_CUT = re.compile("['\"]?…".encode())
_HALF_ESCAPE = re.compile(rb"(?:\\+[A-Za-z0-9{]{0,5}|%[0-9A-Fa-f]?|&#?[0-9A-Za-z]{0,7})\Z")
_LONGEST_ESCAPE = 64
_CUTS = 64
# Of what stands before a cut; an escaped character takes a dozen at most.
_LONGEST = 8192


def before_cuts(text: bytes, needles: Needles) -> Iterator[Span]:
    """The starts of secrets in `text` that are cut off by "…"."""
    for cut in islice(_CUT.finditer(text), _CUTS):
        start = max(0, cut.start() - _LONGEST)
        before = text[start : cut.start()]
        half = _HALF_ESCAPE.search(before, max(0, len(before) - _LONGEST_ESCAPE))
        for shown in (before, before[: half.start()]) if half else (before,):
            for span in located(shown, needles, _at_end):
                yield Span(span.start + start, cut.start(), span.form)


def of_an_excerpt(text: bytes, needles: Needles) -> list[Span]:
    """The parts of secrets in `text`, which may begin and end in the middle of one."""
    return located(text, needles, _at_either_end)


def _at_end(letters: bytes, needle: Needle) -> Iterator[tuple[int, int]]:
    if needle.cut is not None:
        found = needle.cut.search(letters)
        if found is not None:
            yield found.span()
        return
    length = _shared(letters, needle.text[needle.shown :])
    if length:
        yield len(letters) - length, len(letters)


def _at_either_end(letters: bytes, needle: Needle) -> Iterator[tuple[int, int]]:
    value = needle.text[needle.shown :]
    if len(letters) >= SHORTEST and letters in value:
        yield 0, len(letters)
        return
    length = _shared(letters[: len(value)][::-1], value[::-1])
    if length:
        yield 0, length
    else:
        yield from _at_end(letters, needle)


def _shared(text: bytes, value: bytes) -> int:
    """Return how much of a start of `value` ends `text`, but not all of it; 0 if too little."""
    start = max(0, len(text) - len(value) + 1)
    while (start := text.find(value[:SHORTEST], start)) >= 0:
        if value.startswith(text[start:]):
            return len(text) - start
        start += 1
    return 0
