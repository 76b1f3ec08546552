"""Cuts recorded bytes into messages, heads, fields and chunks, however broken they are.

It reads as the most tolerant recipients do: lines may end with LF alone, fields may be folded or
have white space before the colon, the size of a chunk may have any number of digits. It raises
nothing and judges nothing: judging code looks at the lines and offsets given here. What counts as a
response is `reader`'s decision.

Offsets count from the start of the data. Time grows with the length of the data alone; of a body,
one chunk at a time is in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

_SECTION_END = re.compile(rb"\n\r?\n")
_LINE_END = re.compile(rb"\r?\n")
_EMPTY_LINES = re.compile(rb"[\r\n]*")
_BEGINNING = re.compile(rb"HTTP/|[A-Z]{3,10} [!-~]+ HTTP/")
_STATUS = re.compile(rb"HTTP/\S*[ \t]+([0-9]{3})(?![0-9])")
_SIZE_LINE = re.compile(rb"[ \t]*([0-9A-Fa-f]+)[ \t]*(?:;[^\n]*|\r?)\n")
_DECIMAL = re.compile(r"[0-9]{1,19}")
_BLANKS = (b" ", b"\t")
_HUGE = 1 << 60  # a size larger than any message


def decimal(text: str) -> int | None:
    """Return the number that a field's value is, such as a length; None for anything else."""
    return int(text) if _DECIMAL.fullmatch(text) else None


def one_number(values: Iterable[str]) -> int | None:
    """Return the number that all values of a field are; None if there are none, or if they differ
    or are not numbers.
    """
    numbers = set(values)
    return decimal(numbers.pop()) if len(numbers) == 1 else None


def members(values: Iterable[str]) -> list[str]:
    """Return the members of the lists in a field's values, in lower case, without empty ones."""
    listed = (member.strip() for member in ",".join(values).lower().split(","))
    return [member for member in listed if member]


def codings_in(values: Iterable[str]) -> list[str]:
    """Return the content codings in the values of Content-Encoding, in lower case, without
    "identity".
    """
    return [name for name in members(values) if name != "identity"]


class Field(NamedTuple):
    """A header field: its name in lower case, its value, and its lines as they came.

    Folded lines are joined. A line without a colon is a name without a value.
    """

    name: bytes
    value: bytes
    lines: tuple[bytes, ...]


@dataclass(frozen=True)
class Section:
    """Lines up to an empty one, from `start` to `end`: field lines, such as those of trailers.

    `whole` says whether the empty line came. If it did not, all of the data belongs to the section.
    """

    data: bytes = field(repr=False)
    start: int
    end: int
    whole: bool

    @cached_property
    def ended_lines(self) -> list[bytes]:
        """Every line and the empty one, without its LF."""
        return self.data[self.start : self.end].removesuffix(b"\n").split(b"\n")

    @cached_property
    def lines(self) -> list[bytes]:
        """The lines without their ends."""
        lines = self.ended_lines[:-1] if self.whole else self.ended_lines
        return [line.removesuffix(b"\r") for line in lines]

    @cached_property
    def fields(self) -> list[Field]:
        """The fields in their order."""
        return _fields(self.lines)

    def values(self, name: str) -> list[str]:
        """Every value of the field `name`, which is in lower case."""
        wanted = name.encode()
        return [one.value.decode("latin-1") for one in self.fields if one.name == wanted]

    def listed(self, name: str) -> list[str]:
        """The members of the lists in the fields `name`, in lower case, without empty ones."""
        return members(self.values(name))


@dataclass(frozen=True)
class Head(Section):
    """The first line of a message and its fields, without empty lines before them."""

    @property
    def first(self) -> bytes:
        """The request line or the status line."""
        return self.lines[0]

    @cached_property
    def fields(self) -> list[Field]:
        """The fields in their order."""
        return _fields(self.lines[1:])

    @property
    def status(self) -> int | None:
        """The status of a response, None if there is none to be read."""
        match = _STATUS.match(self.data, self.start, self.end)
        return None if match is None else int(match[1])

    @property
    def is_interim(self) -> bool:
        """True if it is the head of an interim response, which has no body."""
        status = self.status
        return status is not None and 100 <= status < 200

    @property
    def is_chunked(self) -> bool:
        """True if its fields say that the body comes in chunks."""
        return any("chunked" in coding for coding in self.listed("transfer-encoding"))


def begins_message(data: bytes, at: int) -> bool:
    """Return True if the bytes at `at` look like the first line of a message."""
    return _BEGINNING.match(data, at) is not None


def read_head(data: bytes, at: int = 0) -> Head:
    """Return the head at `at`."""
    match = _EMPTY_LINES.match(data, at)
    start = at if match is None else match.end()
    end = _SECTION_END.search(data, start)
    return Head(data, start, len(data) if end is None else end.end(), end is not None)


def _fields(lines: list[bytes]) -> list[Field]:
    groups: list[list[bytes]] = []
    for line in lines:
        if groups and line.startswith(_BLANKS):
            groups[-1].append(line)
        else:
            groups.append([line])
    return [_field(*group) for group in groups]


def _field(line: bytes, *folded: bytes) -> Field:
    name, _, value = (b"", b"", line) if line.startswith(_BLANKS) else line.partition(b":")
    parts = (part.strip(b" \t") for part in (value, *folded))
    return Field(name.strip(b" \t").lower(), b" ".join(filter(None, parts)), (line, *folded))


class Chunk(NamedTuple):
    """A chunk: its size line begins at `start`, its data goes from `data` to `end` as far as it
    came, and what follows begins at `after`.

    The last chunk has size 0, and the trailer section in the place of data. If no size can be read,
    `size` is None, and all remaining bytes are data. A chunk is `whole` if all of it came, with the
    end of the line or the section.
    """

    start: int
    size: int | None
    data: int
    end: int
    after: int
    whole: bool


def read_chunks(data: bytes, at: int = 0) -> Iterator[Chunk]:
    """Yield the chunks from `at` on. The last one has size 0 or None."""
    while True:
        chunk = _chunk(data, at)
        yield chunk
        if not chunk.size:
            return
        at = chunk.after
        if not chunk.whole:
            yield _rest(data, at)
            return


def _chunk(data: bytes, at: int) -> Chunk:
    size_line = _SIZE_LINE.match(data, at)
    if size_line is None:
        return _rest(data, at)
    size, begin = min(int(size_line[1], 16), _HUGE), size_line.end()
    if not size:
        closing = _SECTION_END.search(data, begin - 1)
        end = len(data) if closing is None else closing.end()
        return Chunk(at, 0, begin, end, end, closing is not None)
    end = min(begin + size, len(data))
    closing = _LINE_END.match(data, end)
    after = end if closing is None else closing.end()
    return Chunk(at, size, begin, end, after, closing is not None)


def _rest(data: bytes, at: int) -> Chunk:
    return Chunk(at, None, at, len(data), len(data), whole=False)


Span = tuple[int, int]


class MessageSpans(NamedTuple):
    """Where a message has its head and its trailers, and the pieces of its body without framing.

    `codings` are its content codings. What does not look like a message is a body without a head.
    """

    heads: tuple[Span, ...]
    body: tuple[Span, ...] = ()
    codings: tuple[str, ...] = ()


def read_messages(data: bytes) -> Iterator[MessageSpans]:
    """Yield every message in `data`, interim responses and pipelined messages too. A body without a
    length is in chunks if it looks so.
    """
    at = 0
    while at < len(data):
        if at and not begins_message(data, at):
            yield MessageSpans((), ((at, len(data)),))
            return
        head = read_head(data, at)
        heads: tuple[Span, ...] = ((at, head.end),)
        at = head.end
        lengths = map(decimal, head.values("content-length"))
        length = next((one for one in lengths if one is not None), None)
        if head.is_interim or (length is None and begins_message(data, at)):
            yield MessageSpans(heads)
            continue
        if length is None or head.is_chunked:
            *chunks, last = read_chunks(data, at)
            body = tuple((chunk.data, chunk.end) for chunk in chunks)
            if last.size == 0:
                heads = (*heads, (last.data, last.end))
            else:
                body = (*body, (last.data, last.end))
            at = last.end
        else:
            at = min(at + length, len(data))
            body = ((head.end, at),)
        yield MessageSpans(heads, body, tuple(codings_in(head.values("content-encoding"))))
