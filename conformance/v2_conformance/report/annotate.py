"""Recorded bytes of one request or response, cut into labelled parts and shown as hex.

Whatever was recorded is shown, however broken: nothing here raises, and no byte is left out. A
part's name is a reader's aid, never a judgement; that is the judge's work.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

from v2_conformance.protocol.message import HEADER_LENGTH
from v2_conformance.wire.http1 import CLOSED, MALFORMED, REFUSED, TIMEOUT, TOO_LARGE

_WIDTH = 16
# A hostile body can list any number of tensors of no bytes, and names of any length.
_MAX_BLOBS = 64
_MAX_LABEL = 60
_MAX_INTERIM = 50
_MAX_CHUNKS_NAMED = 12

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LINE_END = re.compile(rb"\r?\n")
_INTERIM = re.compile(rb"HTTP/[0-9.]{1,8} +1[0-9][0-9][ \r\n]")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?\r?\n")
_TRAILER = re.compile(rb"(?:[^\r\n]+\r?\n)*\r?\n")
_DIGITS = re.compile(r"[0-9]{1,19}")
_SPACE = re.compile(r"[ \t\r\n]*")

_ENDINGS = {
    CLOSED: "the connection was closed before the response was whole",
    REFUSED: "no connection",
    TIMEOUT: "no whole response in time",
    TOO_LARGE: "the response is larger than the suite reads",
    MALFORMED: "this is not HTTP, or not well-formed",
}
_NOT_HTTP = {"inputs": "no HTTP request head", "outputs": "no HTTP status line"}


class Row(NamedTuple):
    """Up to 16 bytes; `offset` counts from the section's `base`."""

    offset: int
    hex: str
    ascii: str


@dataclass(frozen=True)
class Section:
    """A part of the message: bytes `start` to `end` of what was recorded.

    `kind` is "head", "json", "blob", "slack" (left over) or "raw" (not understood, or framing).
    `data` is its content: the recorded bytes, without the framing of HTTP chunks between them.
    `base` is where the content starts in the body, or in what was recorded if it is not body.
    """

    kind: str
    label: str
    start: int
    end: int
    data: bytes = field(repr=False)
    base: int

    @property
    def rows(self) -> tuple[Row, ...]:
        """All of the content in rows; `fold` is the way to look at a long one."""
        return tuple(_rows(self.data, self.base))

    @property
    def sha256(self) -> str:
        """The digest of the whole content."""
        return hashlib.sha256(self.data).hexdigest()

    def rows_between(self, start: int, end: int) -> tuple[Row, ...]:
        """The rows of the content's bytes `start` to `end`, counted from the content's start."""
        return tuple(_rows(self.data[start:end], self.base + start))

    def fold(self, first: int = 512, last: int = 64) -> tuple[bytes, int, bytes]:
        """The first bytes, the number of bytes left out, the last bytes."""
        left_out = len(self.data) - first - last
        if left_out <= 0:
            return self.data, 0, b""
        return self.data[:first], left_out, self.data[len(self.data) - last :]

    def folded_rows(
        self, first: int = 512, last: int = 64
    ) -> tuple[tuple[Row, ...], int, tuple[Row, ...]]:
        """As `fold`, in rows."""
        head, left_out, tail = self.fold(first, last)
        base = self.base + len(self.data) - len(tail)
        return tuple(_rows(head, self.base)), left_out, tuple(_rows(tail, base))


@dataclass(frozen=True)
class Dump:
    """A message's sections, which cover every byte once and in order; `notes` are oddities."""

    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()


def annotate_request(data: bytes) -> Dump:
    """The parts of a recorded request. Never raises."""
    return _annotate(data, "inputs")


def annotate_response(data: bytes, ending: str = "complete") -> Dump:
    """The parts of a recorded response; `ending` is the exchange's. Never raises."""
    dump = _annotate(data, "outputs")
    note = _ENDINGS.get(ending)
    return Dump(dump.sections, (*dump.notes, note)) if note else dump


def visible(text: str) -> str:
    """`text` with what does not print, or reorders what does, as an escape: \\x1b, \\u202e."""
    return _HIDDEN.sub(lambda match: _escape(ord(match[0])), text)


def is_visible(text: str) -> bool:
    """Whether `visible` leaves `text` as it is; of a text of any length it reads what it must."""
    return _HIDDEN.search(text) is None


# Control characters but tab and line feed; soft hyphen; invisible, bidi and format characters;
# surrogates; non-characters; tags.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _rows(data: bytes, base: int) -> Iterator[Row]:
    for at in range(0, len(data), _WIDTH):
        piece = data[at : at + _WIDTH]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
        yield Row(base + at, piece.hex(" "), text)


class _Part(NamedTuple):
    """A range of the body."""

    kind: str
    label: str
    start: int
    end: int


@dataclass(frozen=True)
class _Fields:
    """A message's header fields, as they were written, names in lower case."""

    pairs: tuple[tuple[str, str], ...]

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name.lower()]

    def number(self, name: str) -> int | None:
        """The one plain decimal number that every field `name` has."""
        values = set(self.values(name))
        text = values.pop() if len(values) == 1 else ""
        return int(text) if _DIGITS.fullmatch(text) else None


def _annotate(data: bytes, member: str) -> Dump:
    data = bytes(data)
    if not data:
        return Dump(())
    sections: list[Section] = []
    at = 0
    while len(sections) < _MAX_INTERIM and member == "outputs" and _INTERIM.match(data, at):
        end = _head_end(data, at)
        sections.append(Section("head", "interim response", at, end, data[at:end], at))
        at = end
    if at == len(data):
        return Dump(tuple(sections))
    end = _head_end(data, at)
    if not _is_head(data[at:end], member):
        raw = Section("raw", _NOT_HTTP[member], at, len(data), data[at:], at)
        return Dump((*sections, raw))
    sections.append(Section("head", "head", at, end, data[at:end], at))
    fields = _fields(data[at:end])
    more, notes = _body(data, end, fields, member)
    return Dump((*sections, *more), tuple(notes))


def _head_end(data: bytes, at: int) -> int:
    match = _HEAD_END.search(data, at)
    return match.end() if match else len(data)


def _is_head(head: bytes, member: str) -> bool:
    line = _LINE_END.split(head, maxsplit=1)[0]
    return line.startswith(b"HTTP/") if member == "outputs" else b" HTTP/" in line


def _fields(head: bytes) -> _Fields:
    lines = _LINE_END.split(head)[1:]
    pairs = (line.decode("latin-1").partition(":")[::2] for line in lines if b":" in line)
    return _Fields(tuple((name.strip().lower(), value.strip(" \t")) for name, value in pairs))


def _body(data: bytes, at: int, fields: _Fields, member: str) -> tuple[list[Section], list[str]]:
    """The sections of what follows the head, and notes."""
    notes: list[str] = []
    trailer = ""
    if any("chunked" in value.lower() for value in fields.values("transfer-encoding")):
        spans, end, whole = _chunks(data, at)
        sizes = [b - a for a, b in spans]
        named = ", ".join(str(size) for size in sizes[:_MAX_CHUNKS_NAMED])
        named += ", …" if len(sizes) > _MAX_CHUNKS_NAMED else ""
        if sizes:
            notes.append(f"the body came in {_count(len(sizes), 'chunk')} ({named} bytes)")
        if not whole:
            notes.append("the chunks end without a last chunk, or are not well-formed")
        trailer = "the last chunk" if whole else "the rest of the chunks"
    else:
        length = fields.number("Content-Length")
        end = len(data) if length is None else min(len(data), at + length)
        spans = [(at, end)] if end > at else []
        if length is not None and at + length > len(data):
            there = _count(len(data) - at, "byte")
            notes.append(f"Content-Length is {length}, but the body here has {there}")
    content = b"".join(data[a:b] for a, b in spans)
    parts, more = _parts(content, fields, member)
    sections = list(_place(content, parts, spans, at))
    cursor = sections[-1].end if sections else at
    if end > cursor:
        sections.append(Section("raw", trailer, cursor, end, data[cursor:end], cursor))
    if len(data) > end:
        label = f"after the end of the {'response' if member == 'outputs' else 'request'}"
        sections.append(Section("slack", label, end, len(data), data[end:], end))
    return sections, notes + more


def _chunks(data: bytes, at: int) -> tuple[list[tuple[int, int]], int, bool]:
    """The ranges of the chunks' content, where the chunked body ends, whether it is whole."""
    spans: list[tuple[int, int]] = []
    while True:
        line = _CHUNK_SIZE.match(data, at)
        if line is None:  # what cannot be read as chunks is shown with their framing
            return spans, len(data), False
        size, start = int(line[1], 16), line.end()
        if size == 0:
            trailer = _TRAILER.match(data, start)
            return spans, trailer.end() if trailer else len(data), trailer is not None
        end = min(start + size, len(data))
        if end > start:
            spans.append((start, end))
        after = _LINE_END.match(data, end)
        if after is None:
            return spans, len(data), False
        at = after.end()


def _place(
    content: bytes, parts: Sequence[_Part], spans: Sequence[tuple[int, int]], at: int
) -> Iterator[Section]:
    """Ranges of the body as ranges of the recorded bytes: a chunk's framing goes before it."""
    ends = list(accumulate(b - a for a, b in spans))
    cursor = at
    for part in parts:
        end = cursor
        if part.end > part.start:
            index = bisect_left(ends, part.end)
            end = spans[index][1] - (ends[index] - part.end)
        data = content[part.start : part.end]
        yield Section(part.kind, part.label, cursor, end, data, part.start)
        cursor = end


def _parts(body: bytes, fields: _Fields, member: str) -> tuple[list[_Part], list[str]]:
    """JSON, blobs and the rest of a body; the ranges follow each other from 0 to its end."""
    if not body:
        return [], []
    size = len(body)
    codings = [c for c in fields.values("content-encoding") if c.lower() != "identity"]
    if codings:
        return [_Part("raw", f"body, compressed ({_short(', '.join(codings))})", 0, size)], []
    document, object_end = _document(body)
    declared = fields.number(HEADER_LENGTH)
    if declared == 0:
        return [_Part("blob", "the body without JSON: header length 0", 0, size)], []
    notes = []
    if declared is not None and declared > size:
        notes.append(f"{HEADER_LENGTH} is {declared}, but the body has {_count(size, 'byte')}")
        declared = None
    elif declared is None and fields.values(HEADER_LENGTH):
        notes.append(f"{HEADER_LENGTH} is not one decimal number")
    end = object_end if declared is None else declared
    if document is None:
        if declared is None:
            return [_Part("raw", "body, not a JSON object", 0, size)], notes
        head = _Part("raw", "counted as JSON, but not a JSON object", 0, end)
        rest = [_Part("slack", "after the counted bytes", end, size)] if end < size else []
        return [head, *rest], notes
    if end != object_end and body[object_end:end].strip(b" \t\r\n") + body[end:object_end]:
        notes.append(f"{HEADER_LENGTH} is {end}, but the JSON object ends after byte {object_end}")
    blobs = _blobs(document.get(member), end, size)
    return [_Part("json", "JSON", 0, end), *blobs], notes


def _document(body: bytes) -> tuple[Mapping[str, Any] | None, int]:
    """The JSON object at the body's start, and where it ends, with any white space after it."""
    text = body.decode("latin-1")  # one character a byte, whatever follows the JSON
    start = _SPACE.match(text)
    at = start.end() if start else 0
    if text[at : at + 1] != "{":
        return None, 0
    try:
        _, end = json.JSONDecoder(strict=False).raw_decode(text, at)
        document = json.loads(body[:end].decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None, 0
    rest = _SPACE.match(text, end)
    if rest and rest.end() == len(text):
        end = len(text)
    return document, end


def _blobs(entries: Any, at: int, size: int) -> Iterator[_Part]:
    """The blobs that the JSON's entries declare, as far as they can be told, and what is left."""
    why = "bytes that no tensor accounts for"
    count = 0
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        parameters = entry.get("parameters")
        if not isinstance(parameters, dict) or "binary_data_size" not in parameters:
            continue
        declared = _size(parameters["binary_data_size"])
        if declared is None or count == _MAX_BLOBS:
            wrong = "more tensors" if declared is not None else "no usable binary_data_size"
            why = f"from {_name(entry)} on: {wrong}"
            break
        end = min(at + declared, size)
        label = _name(entry)
        if at + declared > size:
            label += f", {_short(str(declared))} bytes declared, {end - at} are here"
        yield _Part("blob", label, at, end)
        at = end
        count += 1
    if at < size:
        yield _Part("slack", why, at, size)


def _size(value: Any) -> int | None:
    """A size that can be a number of bytes."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Beyond 2^63 it is longer than any body all the same, and str() of a huge integer may raise.
    if not 0 <= value < 2**63 or value != int(value):
        return None
    return int(value)


def _name(entry: Mapping[str, Any]) -> str:
    """A tensor's name, and datatype and shape where they are plain."""
    words = [_short(name) if isinstance(name := entry.get("name"), str) else "(no name)"]
    if isinstance(datatype := entry.get("datatype"), str):
        words.append(_short(datatype))
    shape = entry.get("shape")
    if isinstance(shape, list) and len(shape) <= 8 and all(type(n) is int for n in shape):
        words.append(_short(str(shape)) if all(abs(n) < 2**64 for n in shape) else "[huge]")
    return " ".join(words)


def _short(text: str) -> str:
    text = visible(text).replace("\n", "\\n").replace("\t", "\\t")
    return text if len(text) <= _MAX_LABEL else text[:_MAX_LABEL] + "…"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
