"""Cuts the recorded bytes of a connection into heads and bodies, as leniently as a reader would.

Nothing is judged here: what does not look like HTTP is a body.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_START = re.compile(rb"HTTP/|[A-Z]{3,10} [!-~]+ HTTP/")
_INTERIM = re.compile(rb"HTTP/(?:1\.[01]|2) 1[0-9][0-9]")
_LENGTH = re.compile(rb"(?im)^content-length[ \t]*:[ \t]*([0-9]{1,15})[ \t]*\r?$")
_CODING = re.compile(rb"(?im)^content-encoding[ \t]*:[ \t]*([^\r\n]*)")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_LINE_END = re.compile(rb"\r?\n")


@dataclass(frozen=True)
class Message:
    """Where a message has its head, and the pieces of its body without chunk lines.

    `sizes` are where the sizes of its chunks stand, `codings` what its Content-Encoding names.
    """

    head: tuple[int, int]
    body: tuple[tuple[int, int], ...]
    sizes: tuple[tuple[int, int], ...]
    codings: tuple[bytes, ...]


def first_head(data: bytes) -> tuple[int, int]:
    """Where the first head is."""
    found = _HEAD_END.search(data)
    return 0, found.end() if found else len(data)


def messages(data: bytes) -> Iterator[Message]:
    """Every message in `data`, interim responses and pipelined ones too."""
    at = 0
    while at < len(data) and (at == 0 or _START.match(data, at)):
        found = _HEAD_END.search(data, at)
        end = found.end() if found else len(data)
        head = data[at:end]
        if _INTERIM.match(head):
            yield Message((at, end), (), (), ())
            at = end
            continue
        codings = b",".join(match[1] for match in _CODING.finditer(head)).lower().split(b",")
        named = tuple(coding.strip() for coding in codings if coding.strip())
        chunks = _chunks(data, end)
        if chunks is not None:
            pieces, sizes, after = chunks
        else:
            length = _LENGTH.search(head)
            after = min(end + int(length[1]), len(data)) if length else len(data)
            pieces, sizes = ((end, after),), ()
        yield Message((at, end), pieces, sizes, named)
        at = after
    if at < len(data):
        yield Message((at, at), ((at, len(data)),), (), ())


def _chunks(
    data: bytes, at: int
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...], int] | None:
    """The pieces of a body that looks as if it came in chunks, their sizes, and its end."""
    pieces: list[tuple[int, int]] = []
    sizes: list[tuple[int, int]] = []
    while line := _CHUNK.match(data, at):
        size = int(line[1], 16)
        sizes.append(line.span(1))
        at = line.end()
        if not size:
            end = _HEAD_END.search(data, at - 2)  # of the trailer section
            return tuple(pieces), tuple(sizes), end.end() if end else len(data)
        pieces.append((at, min(at + size, len(data))))
        at += size
        line_end = _LINE_END.match(data, at)
        if line_end is None:
            break
        at = line_end.end()
    if not sizes:
        return None
    if at < len(data):  # broken: the rest is what it is
        pieces.append((at, len(data)))
    return tuple(pieces), tuple(sizes), len(data)
