"""Parts of secrets that a quotation shows which was cut off, or which begins in their middle."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from v2_conformance.redaction.forms import SHORTEST
from v2_conformance.redaction.search import Needles, Span, located

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
            for span in located(shown, _search(needles, _at_end)):
                yield Span(span.start + start, cut.start(), span.form)


def of_an_excerpt(text: bytes, needles: Needles) -> list[Span]:
    """The parts of secrets in `text`, which may begin and end in the middle of one."""
    return located(text, _search(needles, _at_either_end))


def _search(
    needles: Needles, part: Callable[[bytes, bytes], tuple[int, int] | None]
) -> Callable[[bytes], Iterable[Span]]:
    """Yield what finds the `part` of the letters and digits that belongs to each needle."""

    def hits(letters: bytes) -> Iterator[Span]:
        for text, wanted in ((letters, needles.exact), (letters.lower(), needles.folded)):
            for needle in wanted:
                found = part(text, needle.text[needle.shown :])
                if found is not None:
                    yield Span(*found, needle.form)

    return hits


def _at_end(text: bytes, needle: bytes) -> tuple[int, int] | None:
    for length in range(len(needle) - 1, SHORTEST - 1, -1):
        if text.endswith(needle[:length]):
            return len(text) - length, len(text)
    return None


def _at_either_end(text: bytes, needle: bytes) -> tuple[int, int] | None:
    if len(text) >= SHORTEST and text in needle:
        return 0, len(text)
    for length in range(len(needle) - 1, SHORTEST - 1, -1):
        if text.startswith(needle[-length:]):
            return 0, length
    return _at_end(text, needle)
