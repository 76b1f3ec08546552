"""The annotated bytes of one message in lines of text for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.text import Text

from v2_conformance.report.annotate import Dump, Row, Section
from v2_conformance.report.fold import ShownMessage, decoded
from v2_conformance.terminal_safe_text import plain

_COLUMNS = 76
_INDENT = "    "
# What is shown of a part's first and last bytes; heads are text, and read whole most of the time.
_FIRST, _LAST = 256, 64
_HEAD_FACTOR = 8
_STYLES = {"head": "", "json": "cyan", "slack": "red", "raw": "yellow"}
_BLOBS = ("green", "magenta", "blue")
_WRONG = "bold reverse red"
# Where the hex and the text of a row begin, after its offset.
_HEX_AT, _TEXT_AT = 2, 51


@dataclass(frozen=True)
class Mark:
    """A byte to point at, by its offset in the body, and what to say of it."""

    offset: int
    words: str

    def inside(self, section: Section) -> bool:
        """Whether the byte is one of the section's blob."""
        return section.kind == "blob" and 0 <= self.offset - section.base < len(section.data)


def message_lines(
    encoded: str,
    shown: ShownMessage,
    annotate: Callable[[bytes], Dump],
    mark: Mark | None,
    *,
    full: bool,
) -> Iterator[Text]:
    """A request or response, from its base64, under its title and notes; `full` folds nothing."""
    yield Text(f"  {in_ascii(shown.title)}", style="bold")
    for note in shown.notes:
        for line in _cut(f"({in_ascii(note)})"):
            yield Text(line)
    sections = annotate(decoded(encoded)).sections
    blobs = 0
    for section in sections:
        style = _STYLES.get(section.kind, _BLOBS[blobs % len(_BLOBS)])
        blobs += section.kind == "blob"
        for line in _cut(_title(section)):
            yield Text(line, style=f"{style} bold")
        yield from _content(section, style, mark if mark and mark.inside(section) else None, full)


def _title(section: Section) -> str:
    length = len(section.data)
    title = f"{section.label[:1].upper()}{section.label[1:]}, {_bytes(length)}"
    if length and section.kind in ("json", "blob", "slack"):
        title += f": {section.base} to {section.base + length - 1} of the body"
    return plain(title)


def _content(section: Section, style: str, mark: Mark | None, full: bool) -> Iterator[Text]:
    first, last = (len(section.data), 0) if full else (_FIRST, _LAST)
    if section.kind == "head":
        first *= _HEAD_FACTOR
    if mark is not None:  # what is pointed at is not folded away
        first = max(first, mark.offset - section.base + _LAST)
    if section.kind in ("head", "json"):
        top, left_out, bottom = section.fold(first, last)
        yield from _text_lines(top, style)
        if left_out:
            yield from _left_out(section, left_out)
            yield from _text_lines(bottom, style)
        return
    rows, left_out, tail = section.folded_rows(first, last)
    for row in rows:
        yield from _row(row, style, mark)
    if left_out:
        yield from _left_out(section, left_out)
    for row in tail:
        yield from _row(row, style, mark)


def _left_out(section: Section, count: int) -> Iterator[Text]:
    yield Text(f"{_INDENT}... {_bytes(count)} more; --full shows them; SHA-256 of the part:")
    yield Text(f"{_INDENT}    {section.sha256}", style="dim")


def _text_lines(data: bytes, style: str) -> Iterator[Text]:
    text = data.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
    for line in text.rstrip("\n").split("\n"):
        for piece in _cut(plain(line)):
            yield Text(piece, style=style)


def _row(row: Row, style: str, mark: Mark | None) -> Iterator[Text]:
    offset = f"{_INDENT}{row.offset:06x}"
    line = Text()
    line.append(f"{offset}  ", style="dim")
    line.append(f"{row.hex:<47}  {row.ascii}", style=style)
    if mark is None or not 0 <= mark.offset - row.offset < len(row.ascii):
        yield line
        return
    at = mark.offset - row.offset
    start = len(offset) + _HEX_AT + 3 * at
    line.stylize(_WRONG, start, start + 2)
    start_of_text = len(offset) + _TEXT_AT + at
    line.stylize(_WRONG, start_of_text, start_of_text + 1)
    yield line
    yield Text(f"{' ' * start}^^", style="bold red")
    for piece in _cut(f"^^ first differing byte: {plain(mark.words)}"):
        yield Text(piece, style="bold red")


def _cut(text: str) -> Iterator[str]:
    """`text` in pieces that fit, indented; nothing is left out, and no space is lost."""
    for at in range(0, max(len(text), 1), _COLUMNS):
        yield _INDENT + text[at : at + _COLUMNS]


def in_ascii(text: str) -> str:
    """A page's words for a terminal."""
    return plain(text.replace(" · ", ", ").replace("\N{NARROW NO-BREAK SPACE}", " "))


def _bytes(number: int) -> str:
    return "1 byte" if number == 1 else f"{number} bytes"
