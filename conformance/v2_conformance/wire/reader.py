"""Reads HTTP/1.1 messages from bytes as they come, leniently and in bounded time and memory."""

# `MessageReader.raw` holds every byte that came. Nothing is taken out, as the exchange keeps them
# anyway: a message is a set of offsets into it. The code that reads is a generator, so it follows
# the grammar (RFC 9112): a head, a body, the next head. Each `yield` waits for more bytes. When the
# connection ends (`eof`), it resumes once more. A body without framing ends there; anything else is
# cut off, which is not malformed.
#
# *Heads are read tolerantly, as clients read them.* If one broken line made a response unreadable,
# every case would fail. The requirements about HTTP syntax (C9 to C18) judge the bytes themselves.
# So lines may end with LF, fields may be folded or have white space before the colon, characters
# that end a line or a string elsewhere count as spaces, fields without a valid name are dropped, a
# status line may have any version and any reason, and a coding may be listed twice. Trailer
# fields are read the same way.
#
# *Framing is never guessed*, because another reader may guess differently and find another message.
# These are malformed: a line without a colon, lengths that differ or are not plain numbers, codings
# other than chunked, a chunk whose size line or end does not follow RFC 9112, and a switch to
# another protocol (101).
#
# *Time is linear* in the number of bytes, however they are split: a search for the end of a head or
# a line continues where it stopped, and a chunk costs less than a microsecond. Servers repeat their
# fields, so short ones are parsed once. *Memory is bounded*: a head, a size line or a trailer
# section over `Limits.head` is too large, and the caller stops feeding when `raw` is too long
# (`ResponseReader.cost`).

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from functools import lru_cache

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import TOKEN
from v2_conformance.wire.messages import members
from v2_conformance.wire.response import Ending, Limits

STATUS_LINE = re.compile(
    rb"HTTP/(?P<version>[0-9]+(?:\.[0-9]+)?)[ \t]+(?P<status>[1-9][0-9][0-9])(?:[ \t].*)?\r?"
)
REQUEST_LINE = re.compile(
    rb"(?P<method>%s) (?P<target>[!-~]+) HTTP/(?P<version>[0-9]\.[0-9])\r?" % TOKEN.encode()
)
_SECTION_END = re.compile(rb"\n\r?\n")
_LINE_END = re.compile(rb"\n")
_FOLD = re.compile(rb"\r?\n[ \t]+")
_TOKEN = re.compile(TOKEN.encode())
_ENDS_A_LINE_OR_STRING = re.compile(rb"[\0\r\v\f]")
_LENGTHS = re.compile(r"([0-9]{1,20})(?:[ \t]*,[ \t]*\1)*")
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,20})(?:;[^\n]*|[ \t]*)\r\n")
_CRLF = b"\r\n"
_MOST_DIGITS = 20
_SHORT = 4096  # bytes of a head whose lines are cached
_SHOWN = 60

Fields = tuple[tuple[str, str], ...]
"""Names in lower case and values, in their order."""
Waits = Generator[None, None, None]
"""Waits for more bytes at each `yield`."""


class UnreadableError(Exception):
    """Bytes that cannot be read as a message; `ending` says how the exchange ends."""

    def __init__(self, what: str, ending: Ending = Ending.MALFORMED) -> None:
        super().__init__(what)
        self.ending = ending


@dataclass(slots=True)
class Message:
    """A message whose head has come; `first` is its first line.

    `combined` has its fields by name, repeated ones as one list. `framing` is what they say:
    "content-length", "chunked" or "close". The body is `length` bytes from `start` on, None if
    chunks or the end of the connection delimit it. If it is chunked, `body` has all whole chunks,
    `begun` is where the data of the next one is, and `chunks` is how many have begun. A `whole`
    message ends at `end`.
    """

    first: re.Match[bytes]
    fields: Fields
    combined: dict[str, str]
    framing: str
    start: int
    length: int | None
    body: bytearray
    begun: slice | None = None
    chunks: int = 0
    end: int = 0
    whole: bool = False

    @property
    def is_old(self) -> bool:
        """True if its version is before HTTP/1.1."""
        return self.first["version"] in (b"1.0", b"0.9")

    @property
    def options(self) -> list[str]:
        """The options in its Connection fields, in lower case."""
        value = self.combined.get("connection")
        return members([value]) if value else []


class MessageReader:
    """Reads messages incrementally, by itself one request; `feed(b"")` says that the peer closed.

    `messages` are those whose heads have come. It is `done` when it needs no more bytes, or it has
    an `error`.
    """

    done = False
    error = ""
    error_ending = Ending.MALFORMED
    eof = False
    _searched = 0  # no line or section that is waited for ends before

    def __init__(self, limits: Limits) -> None:
        self.raw = bytearray()
        self.messages: list[Message] = []
        self._most = limits.head
        self._reading = self._read()

    def feed(self, data: Buffer) -> None:
        """Take what arrived. Afterwards look at `done` and `error`."""
        if data:
            self.raw += data
        else:
            self.eof = True
        try:
            if next(self._reading, True):
                self.done = not self.error
        except UnreadableError as error:
            self.error, self.error_ending = str(error), error.ending

    def body(self, message: Message) -> Buffer:
        """Return a body as far as it came; it shares memory with `raw` unless chunked."""
        if message.framing == "chunked":
            return message.body if message.begun is None else message.body + self.raw[message.begun]
        end = len(self.raw) if message.length is None else message.start + message.length
        return memoryview(self.raw)[message.start : end]

    def _read(self) -> Waits:
        while (message := self._head(0, b"", REQUEST_LINE)) is None:
            yield
        if message.framing == "close":
            message.length = 0
        self.messages.append(message)
        yield from self._body(message)

    def _head(self, start: int, beginning: bytes, pattern: re.Pattern[bytes]) -> Message | None:
        """Return the message whose head begins at `start`, None until it is there. How it begins
        is checked at once, for its line may never end (SSH, TLS)."""
        if not self.raw.startswith(beginning, start):
            start_line = bytes(self.raw[start : start + 20])
            if not beginning.startswith(start_line):
                raise UnreadableError(
                    f"it begins with {start_line!r}, not with {beginning.decode()}"
                )
            return None
        end = self._end_of(_SECTION_END, start)
        if end is None:
            return None
        line, fields = _read_section(self.raw[start:end], 1)
        first = _first_line(pattern, line)
        combined = dict(fields)
        if len(combined) < len(fields):
            combined = _combined(fields)
        length, framing = None, "close"
        if "content-length" in combined:
            length, framing = _length(combined["content-length"]), "content-length"
        if "transfer-encoding" in combined and _is_chunked(combined["transfer-encoding"]):
            length, framing = None, "chunked"
        return Message(first, fields, combined, framing, end, length, bytearray())

    def _body(self, message: Message) -> Waits:
        if message.length is not None:
            message.end = message.start + message.length
            while len(self.raw) < message.end:
                yield
        elif message.framing == "chunked":
            yield from self._chunks(message)
        else:
            while not self.eof:
                yield
            message.end = len(self.raw)
        message.whole = True

    def _chunks(self, message: Message) -> Waits:
        raw, body, at = self.raw, message.body, message.start
        while True:
            line = _SIZE_LINE.match(raw, at)
            if line is None or line.end() - at > self._most:
                while self._end_of(_LINE_END, at) is None:
                    yield
                line = _SIZE_LINE.match(raw, at)
                if line is None:
                    raise UnreadableError(f"malformed chunk size: {_shown(raw[at : at + _SHOWN])}")
            start, size = line.end(), int(line[1], 16)
            if not size:
                break
            message.chunks += 1
            end = start + size
            at = end + len(_CRLF)
            while raw[end:at] != _CRLF:
                message.begun = slice(start, end)
                if not _CRLF.startswith(raw[end:at]):
                    raise UnreadableError(f"malformed end of a chunk: {_shown(raw[end:at])}")
                yield
            message.begun = None
            body += raw[start:end]
        while (last := self._end_of(_SECTION_END, start - 1)) is None:
            yield
        _read_section(raw[start:last], 0)
        message.end = last

    def _end_of(self, end: re.Pattern[bytes], start: int) -> int | None:
        """Return where lines that begin at `start` end, None until that is there."""
        match = end.search(self.raw, max(start, self._searched))
        reached = match.end() if match else len(self.raw)
        if reached - start > self._most:
            raise UnreadableError(f"a head of over {self._most} bytes", Ending.TOO_LARGE)
        if match:
            return reached
        self._searched = reached - 2  # where an empty line may have begun
        return None


def _read_section(section: Buffer, before: int) -> tuple[bytes, Fields]:
    """Return the first line of a section, and the fields of all lines but those `before` them."""
    text = bytes(section)
    lines = text.split(b"\n")
    read = _short_field if len(text) <= _SHORT else _field
    fields = tuple(filter(None, map(read, lines[before:-2])))
    if before + len(fields) + 2 < len(lines):  # some are folded or not valid
        lines = _FOLD.sub(b" ", text).split(b"\n")
        fields = tuple(filter(None, map(_field, lines[before:-2])))
    return lines[0], fields


@lru_cache(maxsize=64)
def _first_line(pattern: re.Pattern[bytes], line: bytes) -> re.Match[bytes]:
    match = pattern.fullmatch(line)
    if match is None:
        raise UnreadableError(f"malformed first line: {_shown(line.rstrip())}")
    return match


def _field(line: bytes) -> tuple[str, str] | None:
    """Return the name and the value of a field, None if it has no valid name."""
    name, colon, value = line.partition(b":")
    if not colon and not line.startswith((b" ", b"\t")):
        raise UnreadableError(f"malformed field: {_shown(line.rstrip())}")
    name = name.rstrip(b" \t")
    if not _TOKEN.fullmatch(name):
        return None
    value = _ENDS_A_LINE_OR_STRING.sub(b" ", value).strip(b" \t")
    return name.lower().decode(), value.decode("latin-1")


_short_field = lru_cache(maxsize=1024)(_field)


def _combined(fields: Fields) -> dict[str, str]:
    """Return fields by name, those of one name as one list (RFC 9110, section 5.3)."""
    result: dict[str, str] = {}
    for name, value in fields:
        result[name] = f"{result[name]}, {value}" if name in result else value
    return result


def _length(text: str) -> int:
    """Return the Content-Length, which may be repeated (RFC 9110, section 8.6)."""
    if not (text.isdecimal() and len(text) <= _MOST_DIGITS):
        match = _LENGTHS.fullmatch(text)
        if match is None:
            raise UnreadableError(f"malformed Content-Length: {text[:_SHOWN]}")
        text = match[1]
    return int(text)


def _is_chunked(text: str) -> bool:
    """Return True if the body comes in chunks, False without a coding that changes anything."""
    codings = set(members([text]))
    if not codings <= {"chunked", "identity"}:
        raise UnreadableError(f"unknown Transfer-Encoding: {text[:_SHOWN]}")
    return "chunked" in codings


def _shown(data: Buffer) -> str:
    return repr(bytes(data[:_SHOWN]))
