"""The exchanges of a case, folded and escaped, as the page shows them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from v2_conformance.judging.survival import CANARY, NOT_SURVIVED
from v2_conformance.report.annotate import (
    Row,
    Section,
    annotate_request,
    annotate_response,
    is_visible,
    visible,
)

# How much of each part of a message is shown, at its first and its last bytes.
FULL = (512, 64)
BRIEF = (96, 32)
# Heads and JSON are text, which takes less room, and their fields are what one looks for.
_TEXTS = ("head", "json")
_TEXT_FACTOR = 4
# Around the first differing byte so much is shown, in bytes before it and from it on.
_AROUND = (32, 48)
_WIDTH = 16
# The colours of blobs; their labels tell them apart as well.
_COLOURS = 5
_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_ENDINGS = {
    "complete": "complete response",
    "closed": "connection closed before a complete response",
    "refused": "no connection",
    "timeout": "timed out",
    "too-large": "response too large",
    "malformed": "malformed HTTP",
}


@dataclass(frozen=True)
class ShownPart:
    """A section of a message, folded: `shown` says in its place what was left out."""

    title: str
    kind: str
    is_text: bool
    shown: Markup
    sha256: str


@dataclass(frozen=True)
class ShownMessage:
    """A request or a response."""

    title: str
    notes: Sequence[str]
    parts: Sequence[ShownPart]


@dataclass(frozen=True)
class ShownExchange:
    """One exchange of a case."""

    title: str
    facts: str
    complete: bool
    messages: Sequence[ShownMessage]

    @property
    def cost(self) -> int:
        """About how many bytes of a page it takes."""
        parts = [part for message in self.messages for part in message.parts]
        notes = sum(size(note) for message in self.messages for note in message.notes)
        return 300 + notes + sum(_part_cost(part) for part in parts)


def _part_cost(part: ShownPart) -> int:
    return 110 + size(part.title) + size(part.shown) + (125 if part.sha256 else 0)


def shown_exchanges(case: Mapping[str, Any], limits: tuple[int, int]) -> tuple[ShownExchange, ...]:
    """A case's exchanges; of every part of a message only its first and last bytes (`limits`).

    Of known-good requests that were answered less is shown, and nothing where the rest is brief.
    The first differing byte, where the case knows of one, is shown and marked all the same. It is
    in the first exchange, which is the case's own.
    """
    difference = case.get("difference")
    died = NOT_SURVIVED in case["message"]
    shown = []
    for number, entry in enumerate(case["exchanges"]):
        of_this = limits
        if entry["note"].startswith(CANARY) and not died:
            # A known-good request that was answered needs no more than a glance.
            if limits == BRIEF:
                continue
            of_this = BRIEF
        shown.append(_exchange(entry, of_this, None if number else difference))
    return tuple(shown)


def survival(case: Mapping[str, Any]) -> str:
    """What the known-good requests after a case showed, in words; "" where none was sent."""
    notes = [clipped(entry["note"]) for entry in case["exchanges"]]
    where = [note.removeprefix(CANARY) for note in notes if note.startswith(CANARY)]
    if not where:
        return ""
    if NOT_SURVIVED in case["message"]:
        return (
            "The server did not survive this case: a known-good request after it was not answered "
            f"exactly (sent {' and '.join(where)})."
        )
    return (
        "The server survived: a known-good request after this case was answered exactly, "
        f"{' and '.join(where)}."
    )


def clipped(text: str, limit: int = 400) -> str:
    """`text`, which a server may have written, at a length that a page can bear."""
    return text if len(text) <= limit else text[:limit] + "…"


def size(text: str) -> int:
    """The bytes that `text` takes in a page."""
    return len(text.encode("utf-8", "replace"))


def in_bytes(number: int) -> str:
    """A number of bytes, thousands apart."""
    return (
        "1 byte" if number == 1 else f"{number:,} bytes".replace(",", "\N{NARROW NO-BREAK SPACE}")
    )


def in_milliseconds(value: float) -> str:
    """A time with the digits that matter."""
    if value >= 10_000:
        return f"{value / 1000:.1f} s"
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def _exchange(
    entry: Mapping[str, Any], limits: tuple[int, int], difference: Mapping[str, Any] | None
) -> ShownExchange:
    ending = entry.get("ending", "")
    request, response = decoded(entry["request"]), decoded(entry["response"])
    dump = annotate_request(request)
    notes = list(dump.notes)
    if (sent := entry.get("sent", len(request))) < len(request):
        share = f"only the first {in_bytes(sent)} were" if sent else "none of it was"
        notes.append(f"{share} sent")
    sides = [_message("Request", len(request), notes, dump.sections, limits, None)]
    dump = annotate_response(response)  # how it ended stands above both
    sides.append(_message("Response", len(response), dump.notes, dump.sections, limits, difference))
    facts = " · ".join(_facts(entry, ending))
    return ShownExchange(clipped(entry["note"]), facts, ending in ("", "complete"), sides)


def _facts(entry: Mapping[str, Any], ending: str) -> list[str]:
    facts = []
    if ending:
        detail = clipped(entry.get("detail", ""))
        facts.append(_ENDINGS[ending] + (f" ({detail})" if detail else ""))
    if (first := entry.get("first_byte_ms")) is not None:
        facts.append(f"first byte after {in_milliseconds(first)}")
    if "duration_ms" in entry:
        facts.append(f"{in_milliseconds(entry['duration_ms'])} in all")
    if "reused" in entry:
        facts.append("on a kept connection" if entry["reused"] else "on a new connection")
    if "open" in entry and ending == "complete":
        facts.append("left open" if entry["open"] else "closed after it")
    return facts


def _message(
    name: str,
    length: int,
    notes: Sequence[str],
    sections: Sequence[Section],
    limits: tuple[int, int],
    difference: Mapping[str, Any] | None,
) -> ShownMessage:
    title = f"{name} · {in_bytes(length) if length else 'nothing'}"
    holder = _holder(sections, difference)
    parts = []
    blobs = 0
    for section in sections:
        kind = section.kind
        if kind == "blob":
            kind = f"blob{blobs % _COLOURS}"
            blobs += 1
        parts.append(_part(section, kind, limits, difference if section is holder else None))
    return ShownMessage(title, notes, parts)


def _holder(sections: Iterable[Section], difference: Mapping[str, Any] | None) -> Section | None:
    """The blob that has the first differing byte."""
    at = difference["body_offset"] if difference else None
    if at is None:
        return None
    blobs = (section for section in sections if section.kind == "blob")
    return next((b for b in blobs if b.base <= at < b.base + len(b.data)), None)


def _part(
    section: Section, kind: str, limits: tuple[int, int], difference: Mapping[str, Any] | None
) -> ShownPart:
    first, last = limits
    if section.kind in _TEXTS:
        first *= _TEXT_FACTOR
    length = len(section.data)
    at = difference["body_offset"] - section.base if difference else None
    is_text = at is None and _is_text(section)
    windows = _windows(length, first, last, at)
    shown = Markup("")
    end = 0
    for start, stop in windows:
        if start > end:
            shown += Markup('\n<span class="fold">… {} left out</span>\n').format(
                in_bytes(start - end)
            )
        data = section.data[start:stop]
        shown += (
            _shown(_text(data, head=section.kind == "head"))
            if is_text
            else _hexdump(section.rows_between(start, stop), difference)
        )
        end = stop
    title = f"{section.label[:1].upper()}{section.label[1:]} · {in_bytes(length)}"
    if length and section.kind in ("json", "blob"):
        title += f", {_range(section.base, length)} of the body"
    digest = section.sha256 if len(windows) > 1 else ""
    return ShownPart(title, kind, is_text, shown, digest)


def _range(start: int, length: int) -> str:
    return f"byte {start}" if length == 1 else f"bytes {start}–{start + length - 1}"


def _windows(length: int, first: int, last: int, at: int | None) -> list[tuple[int, int]]:
    """The ranges of a content that are shown: its first and last bytes, and what is around `at`."""
    if length <= first + last:
        return [(0, length)]
    ranges = [(0, first), (length - last, length)]
    if at is not None:
        row = at - at % _WIDTH
        ranges.append((max(0, row - _AROUND[0]), min(length, row + _AROUND[1])))
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def _is_text(section: Section) -> bool:
    """Whether text shows it better than hex: heads, JSON, and error pages."""
    if section.kind in _TEXTS:
        return True
    if section.kind != "raw" or not section.data.strip():
        return False
    try:
        text = section.data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return False
    return is_visible(text)


def _text(data: bytes, *, head: bool) -> str:
    if head:  # a line that ends in LF alone must not look like one that ends in CRLF
        data = _BARE_LINE_FEED.sub(b"\\\\n\n", data)
    return data.decode("utf-8", "backslashreplace").replace("\r\n", "\n").rstrip("\n")


def _shown(text: str) -> Markup:
    """`text` for between tags; quotes, of which JSON is full, need no escape there."""
    return Markup(escape(visible(text)).replace("&#34;", '"').replace("&#39;", "'"))


def _hexdump(rows: Sequence[Row], difference: Mapping[str, Any] | None) -> Markup:
    if difference is None:
        return _shown("\n".join(map(_plain, rows)))
    return Markup("\n").join(_line(row, difference) for row in rows)


def _plain(row: Row) -> str:
    return f"{row.offset:06x}  {row.hex:<47}  {row.ascii}"


def _line(row: Row, difference: Mapping[str, Any]) -> Markup:
    column = difference["body_offset"] - row.offset
    if not 0 <= column < len(row.ascii):
        return _shown(_plain(row))
    marked = Markup('{}<mark class="diff">{}</mark>{}')
    hexes = marked.format(
        row.hex[: 3 * column],
        row.hex[3 * column : 3 * column + 2],
        f"{row.hex[3 * column + 2 :]:<{45 - 3 * column}}",
    )
    signs = marked.format(row.ascii[:column], row.ascii[column], row.ascii[column + 1 :])
    words = f"first differing byte: element {difference['element']} of {difference['output']}"
    indent = 8 + 3 * column
    pointer = f"{'':{indent}}▲ {words}"
    if column > 7:
        pointer = f"{words[: indent - 1] + ' ▲':>{indent + 1}}"
    line = Markup('{:06x}  {}  {}\n<span class="diff">{}</span>')
    return line.format(row.offset, hexes, signs, visible(pointer))


def decoded(text: str) -> bytes:
    """Recorded bytes; none for what is not base64."""
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return b""
