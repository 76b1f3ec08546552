"""The exchanges of a case, folded and escaped, as the page shows them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from conformance.report.hexdump import (
    Row,
    Section,
    annotate_request,
    annotate_response,
    visible,
)

# A head is text, and its fields are what one looks for.
_HEAD_FACTOR = 4
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
    """A section of a message, folded: its first bytes, what was left out, its last bytes."""

    title: str
    kind: str
    is_text: bool
    first: Markup
    left_out: int
    last: Markup
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
        return 700 + notes + sum(200 + size(part.first) + size(part.last) for part in parts)


def shown_exchanges(case: Mapping[str, Any], limits: tuple[int, int]) -> tuple[ShownExchange, ...]:
    """A case's exchanges; of every part of a message only its first and last bytes (`limits`)."""
    return tuple(_exchange(entry, limits) for entry in case["exchanges"])


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


def _exchange(entry: Mapping[str, Any], limits: tuple[int, int]) -> ShownExchange:
    ending = entry.get("ending", "")
    request, response = _decoded(entry["request"]), _decoded(entry["response"])
    dump = annotate_request(request)
    notes = list(dump.notes)
    if (sent := entry.get("sent", len(request))) < len(request):
        share = f"only the first {in_bytes(sent)} were" if sent else "none of it was"
        notes.append(f"{share} sent")
    sides = [_message("Request", len(request), notes, dump.sections, limits)]
    dump = annotate_response(response)  # how it ended stands above both
    sides.append(_message("Response", len(response), dump.notes, dump.sections, limits))
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
    sections: Iterable[Section],
    limits: tuple[int, int],
) -> ShownMessage:
    title = f"{name} · {in_bytes(length) if length else 'nothing'}"
    return ShownMessage(title, notes, [_part(section, limits) for section in sections])


def _part(section: Section, limits: tuple[int, int]) -> ShownPart:
    first, last = limits
    if section.kind == "head":
        first *= _HEAD_FACTOR
    top, left_out, bottom = section.fold(first, last)
    is_text = _is_text(section)
    if is_text:
        before, after = _shown(_text(top)), _shown(_text(bottom))
    else:
        rows, _, last_rows = section.folded_rows(first, last)
        before, after = _hexdump(rows), _hexdump(last_rows)
    length = len(section.data)
    title = f"{section.label[:1].upper()}{section.label[1:]} · {in_bytes(length)}"
    if length and section.kind in ("json", "blob"):
        title += f", {section.base}–{section.base + length - 1} of the body"
    digest = section.sha256 if left_out else ""
    return ShownPart(title, section.kind, is_text, before, left_out, after, digest)


def _is_text(section: Section) -> bool:
    """Whether text shows it better than hex: heads, JSON, and error pages."""
    if section.kind in ("head", "json"):
        return True
    if section.kind != "raw" or not section.data.strip():
        return False
    try:
        text = section.data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return False
    return visible(text) == text


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace").replace("\r\n", "\n").rstrip("\n")


def _shown(text: str) -> Markup:
    """`text` for between tags; quotes, of which JSON is full, need no escape there."""
    return Markup(escape(visible(text)).replace("&#34;", '"').replace("&#39;", "'"))


def _hexdump(rows: Iterable[Row]) -> Markup:
    return _shown("\n".join(f"{row.offset:06x}  {row.hex:<47}  {row.ascii}" for row in rows))


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return b""
