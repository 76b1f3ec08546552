"""The exchanges of a case in lines of 80 columns, for a terminal and for logs.

Every line is printable ASCII, whatever a server sent.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from rich.text import Text

from v2_conformance.formats.shown import Look, Part, Run, Shown
from v2_conformance.terminal_safe_text import WIDTH, defused, plain

_INDENT = "    "
_COLUMNS = 76
_PARTS: Mapping[str, str] = {
    "head": "", "json": "cyan", "slack": "red", "raw": "yellow", "blob0": "green",
    "blob1": "magenta", "blob2": "blue", "blob3": "green", "blob4": "magenta",
}  # fmt: skip
_LOOKS: Mapping[Look, str] = {"wrong": "bold reverse red", "pointer": "bold red"}
_SIGNS = {" · ": ", ", "–": "-", "… ": "... ", "▲": "^^"}


def exchange_lines(found: Shown, hint: str = "") -> Iterator[Text]:
    """The lines of all exchanges. `hint` says how to see what is left out."""
    for number, exchange in enumerate(found.exchanges, 1):
        title = f": {in_ascii(exchange.title)}" if exchange.title else ""
        heading = f"Exchange {number} of {len(found.exchanges)}{title}"
        yield from paragraph(heading, in_ascii(exchange.facts))
        for message in exchange.messages:
            yield Text(f"  {in_ascii(message.title)}", style="bold")
            for note in message.notes:
                yield from _cut(Text(f"({in_ascii(note)})"))
            for part in message.parts:
                yield from _part(part, hint)


def paragraph(heading: str, text: str) -> Iterator[Text]:
    """An empty line, the heading, and the text, wrapped at white space."""
    yield Text("")
    for line in textwrap.wrap(plain(heading), WIDTH):
        yield Text(line, style="bold underline")
    yield from wrapped(text)


def wrapped(text: str, style: str = "") -> Iterator[Text]:
    """The text, indented and wrapped at white space."""
    words = text.strip().replace("\n", " ")
    for line in textwrap.wrap(
        plain(words), WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    ):
        yield Text(line, style=style)


def in_ascii(text: str) -> str:
    """Our own words, whose signs have a spelling in ASCII, with what a server said in them."""
    for sign, word in _SIGNS.items():
        text = text.replace(sign, word)
    return plain(text)


def _part(part: Part, hint: str) -> Iterator[Text]:
    style = _PARTS[part.look]
    yield from _cut(Text(in_ascii(part.title), style=f"{style} bold"))
    pieces = ((_words(run, hint), _LOOKS.get(run.look, style)) for run in part.runs)
    yield from _cut(Text.assemble(*pieces))
    if part.sha256:
        yield from _cut(Text(f"SHA-256 of the whole:\n{part.sha256}", style="dim"))


def _words(run: Run, hint: str) -> str:
    if run.look in ("", "hex", "wrong"):
        return "\n".join(map(plain, run.lines.split("\n")))
    words = in_ascii(run.text.rstrip("\n"))
    if run.look == "left-out":
        words += hint
    elif len(words) > _COLUMNS:
        words = words.replace("^^ ", "^^\n^^ ", 1)
    return words + "\n"


def _cut(text: Text) -> Iterator[Text]:
    """Lines in pieces that fit, indented; nothing is left out, and no space is lost."""
    for line in text.split("\n"):
        if defused(line.plain) != line.plain:  # a CI service's command in several styles
            line = Text(defused(line.plain))
        for piece in line.divide(range(_COLUMNS, len(line), _COLUMNS)):
            yield Text(_INDENT).append_text(piece)
