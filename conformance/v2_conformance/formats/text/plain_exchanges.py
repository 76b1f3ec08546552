"""The exchanges of a case as plain text, for logs."""

from __future__ import annotations

from collections.abc import Iterator

from v2_conformance.formats.shown import Part, Shown
from v2_conformance.suite.causes.base import counted
from v2_conformance.visible_text import short

_MOST_EXCHANGES = 6
_MOST_PARTS = 12
_MOST_NOTES = 6
_LONGEST = 200


def exchange_lines(shown: Shown) -> Iterator[str]:
    """The first exchanges of a case. Not escaped."""
    total = len(shown.exchanges)
    if not total:
        yield "nothing was sent"
    for number, exchange in enumerate(shown.exchanges[:_MOST_EXCHANGES], 1):
        if number > 1:
            yield ""
        facts = (f"exchange {number} of {total}", exchange.title, exchange.facts)
        yield " · ".join(short(fact, _LONGEST) for fact in facts if fact)
        for arrow, message in zip("><", exchange.messages, strict=True):
            yield f"{arrow} {message.title}"
            yield from (f"  note: {short(note, _LONGEST)}" for note in message.notes[:_MOST_NOTES])
            for part in message.parts[:_MOST_PARTS]:
                yield from _part(part)
            if len(message.parts) > _MOST_PARTS:
                yield f"  … and {counted(len(message.parts) - _MOST_PARTS, 'more section')}"
    if total > _MOST_EXCHANGES:
        yield from ("", f"… and {counted(total - _MOST_EXCHANGES, 'more exchange')}")


def _part(part: Part) -> Iterator[str]:
    yield f"  {part.title}"
    yield from (f"    {line}" for line in part.text.splitlines())
    if part.sha256:
        yield f"    SHA-256 of the whole: {part.sha256}"
