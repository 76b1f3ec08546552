"""The exchanges of a case in 80 columns for a terminal: what `report.shown.fold` shows of them.

Every line is printable ASCII, whatever a server sent.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from v2_conformance.report.shown.annotate import HexRow, SectionKind
from v2_conformance.report.shown.fold import (
    DifferingByte,
    FoldedMessage,
    FoldedSection,
    FoldLimits,
    Span,
    in_bytes,
)
from v2_conformance.terminal_safe_text import plain

LIMITS = FoldLimits(256, 64, first_of_text=2048)
_COLUMNS = 76
_INDENT = "    "
_STYLES: dict[SectionKind, str] = {"head": "", "json": "cyan", "slack": "red", "raw": "yellow"}
_BLOBS = ("green", "magenta", "blue")
_WRONG = "bold reverse red"


def message_lines(message: FoldedMessage) -> Iterator[Text]:
    """A request or a response, under its title and notes."""
    yield Text(f"  {in_ascii(message.title)}", style="bold")
    for note in message.notes:
        for line in _cut(f"({in_ascii(note)})"):
            yield Text(line)
    for section in message.sections:
        style = _style(section)
        for line in _cut(in_ascii(section.title)):
            yield Text(line, style=f"{style} bold")
        for span in section.spans:
            if span.left_out:
                yield Text(f"{_INDENT}... {in_bytes(span.left_out)} left out; --full shows them")
            yield from _content(section, span, style)
        if section.sha256:
            yield Text(f"{_INDENT}SHA-256 of the whole:", style="dim")
            yield Text(f"{_INDENT}{section.sha256}", style="dim")


def in_ascii(text: str) -> str:
    """The words of titles, notes and facts for a terminal."""
    return plain(text.replace(" · ", ", ").replace("–", "-"))


def _style(section: FoldedSection) -> str:
    if section.blob is not None:
        return _BLOBS[section.blob % len(_BLOBS)]
    return _STYLES[section.section.kind]


def _content(section: FoldedSection, span: Span, style: str) -> Iterator[Text]:
    if section.is_text:
        yield from _text(section, span, style)
        return
    for row in section.rows(span):
        yield from _row(row, style, section.differing)


def _text(section: FoldedSection, span: Span, style: str) -> Iterator[Text]:
    before, wrong, after = (
        "\n".join(map(plain, text.split("\n"))) for text in section.text_around(span)
    )
    start, end = len(before), len(before) + len(wrong)
    at = 0
    for line in f"{before}{wrong}{after}".split("\n"):
        for piece in _cut(line):
            shown = Text(piece, style=style)
            first, last = (len(_INDENT) + place - at for place in (start, end))
            if wrong and first < len(piece) and last > len(_INDENT):
                shown.stylize(_WRONG, max(first, len(_INDENT)), last)
            yield shown
            at += len(piece) - len(_INDENT)
        at += 1
    if wrong and section.differing:
        for piece in _cut(f"^^ {plain(section.differing.words)}"):
            yield Text(piece, style="bold red")


def _row(row: HexRow, style: str, found: DifferingByte | None) -> Iterator[Text]:
    start, _ = row.places(0)
    line = Text(_INDENT)
    line.append(row.line[:start], style="dim")
    line.append(row.line[start:], style=style)
    column = found.column(row) if found else None
    if found is None or column is None:
        yield line
        return
    digits, sign = (len(_INDENT) + place for place in row.places(column))
    line.stylize(_WRONG, digits, digits + 2)
    line.stylize(_WRONG, sign, sign + 1)
    yield line
    yield Text(f"{'':{digits}}^^", style="bold red")
    for piece in _cut(f"^^ {plain(found.words)}"):
        yield Text(piece, style="bold red")


def _cut(text: str) -> Iterator[str]:
    """`text` in pieces that fit, indented; nothing is left out, and no space is lost."""
    for at in range(0, max(len(text), 1), _COLUMNS):
        yield _INDENT + text[at : at + _COLUMNS]
