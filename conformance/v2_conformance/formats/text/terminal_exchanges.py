"""The messages of a case in 80 columns for a terminal.

Every line is printable ASCII, whatever a server sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.text import Text

from v2_conformance.formats.shown import Limits, Look, Part, Run, ShownMessage
from v2_conformance.terminal_safe_text import defused, plain

LIMITS = Limits(256, 64, first_of_text=2048)
_COLUMNS = 76
_INDENT = "    "
_PARTS: Mapping[str, str] = {
    "head": "", "json": "cyan", "slack": "red", "raw": "yellow", "blob0": "green",
    "blob1": "magenta", "blob2": "blue", "blob3": "green", "blob4": "magenta",
}  # fmt: skip
_LOOKS: Mapping[Look, str] = {"wrong": "bold reverse red", "pointer": "bold red", "left-out": "dim"}


def message_lines(message: ShownMessage) -> Iterator[Text]:
    """A request or a response, under its title and notes."""
    yield Text(f"  {in_ascii(message.title)}", style="bold")
    for note in message.notes:
        yield from _cut(Text(f"({in_ascii(note)})"))
    for part in message.parts:
        style = _PARTS[part.look]
        yield from _cut(Text(in_ascii(part.title), style=f"{style} bold"))
        yield from _cut(_content(part, style))
        if part.sha256:
            yield from _cut(Text(f"SHA-256 of the whole:\n{part.sha256}", style="dim"))


def in_ascii(text: str) -> str:
    """The words of titles, notes and facts for a terminal."""
    for sign, word in (("… ", "... "), (" · ", ", "), ("–", "-"), ("▲", "^^")):
        text = text.replace(sign, word)
    return plain(text)


def _content(part: Part, style: str) -> Text:
    return Text.assemble(*((_words(run), _LOOKS.get(run.look, style)) for run in part.runs))


def _words(run: Run) -> str:
    if run.look in ("", "hex", "wrong"):
        return "\n".join(map(plain, run.lines.split("\n")))
    words = in_ascii(run.text.rstrip("\n"))
    if run.look == "left-out":
        words += "; --full shows them"
    elif len(words) > _COLUMNS:
        words = words.replace("^^ ", "^^\n^^ ", 1)
    return words + "\n"


def _cut(text: Text) -> Iterator[Text]:
    """Lines in pieces that fit, indented; nothing is left out, and no space is lost."""
    for line in text.split("\n"):
        if defused(line.plain) != line.plain:  # a CI service's command in differently styled pieces
            line = Text(defused(line.plain))
        for piece in line.divide(range(_COLUMNS, len(line), _COLUMNS)):
            yield Text(_INDENT).append_text(piece)
