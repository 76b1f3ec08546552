"""Recorded bytes of one request or response, cut into labelled sections.

Whatever was recorded is in some section, however broken: nothing here raises, and no byte is left
out. A label helps the reader and judges nothing; `judging` does that.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any, Literal, NamedTuple

from v2_conformance.protocol.message import json_object, parameters_of
from v2_conformance.protocol.names import BINARY_DATA_SIZE, HEADER_LENGTH
from v2_conformance.visible_text import on_one_line
from v2_conformance.wire.messages import (
    Head,
    begins_message,
    one_number,
    read_chunks,
    read_head,
)

_WIDTH = 16
# A page is made of thousands of messages, and nobody reads on after so much JSON.
_LONGEST_JSON = 256 * 1024
_REPEATED = 2048  # bytes; longer messages are not kept to be found again
# A hostile body can list any number of tensors of no bytes, and names of any length.
_MAX_BLOBS = 64
_MAX_LABEL = 60
_MAX_INTERIM = 50
_MAX_CHUNKS_NAMED = 12


_MESSAGE = {"inputs": "request", "outputs": "response"}
_NOT_HTTP = {"inputs": "no HTTP request head", "outputs": "no HTTP status line"}

SectionKind = Literal["head", "json", "blob", "slack", "raw"]


class HexRow(NamedTuple):
    """Up to 16 bytes; `offset` counts from the section's `base`."""

    offset: int
    hex: str
    ascii: str

    @property
    def line(self) -> str:
        """The row in one line: offset, bytes, what of them is printable ASCII."""
        return f"{self.offset:06x}  {self.hex:<47}  {self.ascii}"

    def places(self, column: int) -> tuple[int, int]:
        """Where the line has the byte in `column`: its two hexadecimal digits, its character."""
        start = len(f"{self.offset:06x}  ")
        return start + 3 * column, start + 49 + column


@dataclass(frozen=True)
class Section:
    """A labelled range of a message: bytes `start` to `end` of what was recorded.

    `kind` is "head", "json", "blob", "slack" (left over) or "raw" (not understood, or framing).
    `data` is its content: the recorded bytes, without the framing of HTTP chunks between them.
    `base` is where the content starts in the body, or in what was recorded if not `in_body`.
    """

    kind: SectionKind
    label: str
    start: int
    end: int
    data: bytes = field(repr=False)
    base: int
    in_body: bool = False

    @property
    def sha256(self) -> str:
        """The digest of the whole content."""
        return hashlib.sha256(self.data).hexdigest()

    def rows(self, start: int = 0, end: int | None = None) -> tuple[HexRow, ...]:
        """The content's bytes `start` to `end`, counted from its own start, in rows."""
        return tuple(_rows(self.data[start:end], self.base + start))


@dataclass(frozen=True)
class AnnotatedMessage:
    """A message's sections, which cover every byte once and in order; `notes` are oddities.

    `header_cut` is where the header length says that the JSON ends, counted in what was recorded;
    it can be beyond the end. `json_end` is where the JSON object does end, if that is elsewhere.
    """

    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()
    json_end: int | None = None
    header_cut: int | None = None


def annotate_request(data: bytes, answers: int = 1) -> AnnotatedMessage:
    """The sections of a recorded request, or of several if it has several answers. Never raises."""
    return _annotate(data, "inputs", answers)


def annotate_response(data: bytes, answers: int = 1) -> AnnotatedMessage:
    """The sections of a recorded response, or of several. Never raises."""
    return _annotate(data, "outputs", answers)


def _rows(data: bytes, base: int) -> Iterator[HexRow]:
    for at in range(0, len(data), _WIDTH):
        piece = data[at : at + _WIDTH]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
        yield HexRow(base + at, piece.hex(" "), text)


_FOLLOWING = ("second", "third", "fourth")


class _BodyRange(NamedTuple):
    """A range of the body, with the label of the section that it becomes."""

    kind: SectionKind
    label: str
    start: int
    end: int


class _Cuts(NamedTuple):
    """Where the JSON of a message ends and where its header length says so, see AnnotatedMessage;
    in the body, or in what was recorded."""

    json: int | None = None
    header: int | None = None

    def recorded(self, spans: Sequence[tuple[int, int]], at: int) -> _Cuts:
        """The same in what was recorded, where `spans` are the parts of the body."""
        return _Cuts(*(None if end is None else _recorded(end, spans, at) for end in self))


def _annotate(data: bytes, member: str, answers: int) -> AnnotatedMessage:
    look = _annotated_before if len(data) <= _REPEATED else _annotated
    return look(bytes(data), member, answers)


def _annotated(data: bytes, member: str, answers: int) -> AnnotatedMessage:
    sections: list[Section] = []
    at = 0
    head = read_head(data)
    while len(sections) < _MAX_INTERIM and member == "outputs" and head.is_interim:
        sections.append(_whole("head", "interim response", data, at, head.end))
        at = head.end
        head = read_head(data, at)
    if at == len(data):
        return AnnotatedMessage(tuple(sections))
    if not _is_head(head, member):
        raw = _whole("raw", _NOT_HTTP[member], data, at, len(data))
        return AnnotatedMessage((*sections, raw))
    sections.append(_whole("head", "head", data, at, head.end))
    more, notes, end, cuts = _body(data, head, member)
    sections += more
    for which in _FOLLOWING[: answers - 1]:
        if not begins_message(data, end):
            break
        head = read_head(data, end)
        label = f"head of the {which} {_MESSAGE[member]}"
        sections.append(_whole("head", label, data, end, head.end))
        more, more_notes, end, _ = _body(data, head, member)
        sections += more
        notes += more_notes
    if len(data) > end:
        label = f"after the end of the {_MESSAGE[member]}"
        sections.append(_whole("slack", label, data, end, len(data)))
    return AnnotatedMessage(tuple(sections), tuple(notes), cuts.json, cuts.header)


def _whole(kind: SectionKind, label: str, data: bytes, start: int, end: int) -> Section:
    """A section with all of its bytes as its content."""
    return Section(kind, label, start, end, data[start:end], start)


# After most cases comes the same known-good request.
_annotated_before = lru_cache(maxsize=256)(_annotated)


def _is_head(head: Head, member: str) -> bool:
    return head.first.startswith(b"HTTP/") if member == "outputs" else b" HTTP/" in head.first


def _body(data: bytes, head: Head, member: str) -> tuple[list[Section], list[str], int, _Cuts]:
    """The sections of the body that follows a head, notes, where the body ends, and its JSON."""
    notes: list[str] = []
    trailer = ""
    at = head.end
    if head.is_chunked:
        *chunks, last = read_chunks(data, at)
        # What cannot be read as chunks is shown with their framing.
        spans = [(one.data, one.end) for one in chunks if one.data < one.end]
        end = last.after
        sizes = [b - a for a, b in spans]
        named = ", ".join(str(size) for size in sizes[:_MAX_CHUNKS_NAMED])
        named += ", …" if len(sizes) > _MAX_CHUNKS_NAMED else ""
        if sizes:
            notes.append(f"chunked body: {_count(len(sizes), 'chunk')} ({named} bytes)")
        if not last.whole:
            notes.append("the chunked body is incomplete or malformed")
        trailer = "the last chunk" if last.whole else "the rest of the chunks"
    else:
        length = one_number(head.values("content-length"))
        end = len(data) if length is None else min(len(data), at + length)
        spans = [(at, end)] if end > at else []
        if length is not None and at + length > len(data):
            there = _count(len(data) - at, "byte")
            notes.append(f"Content-Length is {length}, but the body has {there}")
    content = b"".join(data[a:b] for a, b in spans)
    ranges, more, cuts = _ranges(content, head, member)
    sections = list(_place(content, ranges, spans, at))
    cursor = sections[-1].end if sections else at
    if end > cursor:
        sections.append(_whole("raw", trailer, data, cursor, end))
    return sections, notes + more, end, cuts.recorded(spans, at)


def _place(
    content: bytes, ranges: Sequence[_BodyRange], spans: Sequence[tuple[int, int]], at: int
) -> Iterator[Section]:
    """Ranges of the body as ranges of the recorded bytes: a chunk's framing goes before it."""
    ends = list(accumulate(b - a for a, b in spans))
    cursor = at
    for given in ranges:
        end = cursor
        if given.end > given.start:
            index = bisect_left(ends, given.end)
            end = spans[index][1] - (ends[index] - given.end)
        data = content[given.start : given.end]
        yield Section(given.kind, given.label, cursor, end, data, given.start, in_body=True)
        cursor = end


def _recorded(end: int, spans: Sequence[tuple[int, int]], at: int) -> int:
    """Where byte `end` of a body is in what was recorded, or would be after its last one."""
    before = 0
    for start, stop in spans:
        at = start + end - before
        if at <= stop:
            break
        before += stop - start
    return at


def _ranges(body: bytes, head: Head, member: str) -> tuple[list[_BodyRange], list[str], _Cuts]:
    """JSON, blobs and the rest of a body; the ranges follow each other from 0 to its end. Then
    notes, and where its JSON ends."""
    if not body:
        return [], [], _Cuts()
    size = len(body)
    codings = [c for c in head.values("content-encoding") if c.lower() != "identity"]
    if codings:
        words = f"body, compressed ({_short(', '.join(codings))})"
        return [_BodyRange("raw", words, 0, size)], [], _Cuts()
    document, object_end = _document(body)
    declared = one_number(head.values(HEADER_LENGTH.lower()))
    if declared == 0:
        whole = [_BodyRange("blob", "Body without JSON (header length 0)", 0, size)]
        return whole, [], _Cuts(header=0)
    notes = []
    cuts = _Cuts(header=declared)
    if declared is not None and declared > size:
        notes.append(f"{HEADER_LENGTH} is {declared}, but the body has {_count(size, 'byte')}")
        if document is not None:
            cuts = _Cuts(object_end, declared)
        declared = None
    elif declared is None and head.values(HEADER_LENGTH.lower()):
        notes.append(f"{HEADER_LENGTH} is not one decimal number")
    if document is None and _is_long(body):
        end = size if declared is None else declared
        rest = [_BodyRange("blob", "What follows the JSON", end, size)] if end < size else []
        return [_BodyRange("json", "JSON, too long to be inspected", 0, end), *rest], notes, cuts
    end = object_end if declared is None else declared
    if document is None:
        if declared is None:
            return [_BodyRange("raw", "body, not a JSON object", 0, size)], notes, cuts
        read = _BodyRange("raw", "declared to be JSON, but not a JSON object", 0, end)
        rest = [_BodyRange("slack", "after the declared JSON", end, size)] if end < size else []
        return [read, *rest], notes, cuts
    wrong = end != object_end and body[object_end:end].strip(b" \t\r\n") + body[end:object_end]
    if wrong:
        notes.append(f"{HEADER_LENGTH} is {end}, but the JSON object ends after byte {object_end}")
    blobs = _blobs(document.get(member), end, size)
    if wrong:
        cuts = _Cuts(object_end, declared)
    return [_BodyRange("json", "JSON", 0, end), *blobs], notes, cuts


def _document(body: bytes) -> tuple[Mapping[str, Any] | None, int]:
    """The JSON object at the body's start, and where it ends, with any white space after it."""
    found = json_object(body[:_LONGEST_JSON], strict=False)
    if found is None:
        return None, 0
    document, end = found
    ends = len(body) <= _LONGEST_JSON and not body[end:].strip(b" \t\r\n")
    return document, len(body) if ends else end


def _is_long(body: bytes) -> bool:
    """Return True if the body looks like a JSON object that is longer than what is looked into."""
    return len(body) > _LONGEST_JSON and body[:_LONGEST_JSON].lstrip()[:1] == b"{"


def _blobs(entries: Any, at: int, size: int) -> Iterator[_BodyRange]:
    """The blobs that the JSON's entries declare, as far as one can tell, and what is left."""
    why = "bytes that belong to no tensor"
    count = 0
    for entry in entries if isinstance(entries, list) else []:
        parameters = parameters_of(entry)
        if BINARY_DATA_SIZE not in parameters:
            continue
        declared = _size(parameters[BINARY_DATA_SIZE])
        if declared is None or count == _MAX_BLOBS:
            wrong = "no usable binary_data_size" if declared is None else "too many tensors"
            why = f"from {_name(entry)} on: {wrong}"
            break
        end = min(at + declared, size)
        label = _name(entry)
        if at + declared > size:
            label += f", {_short(str(declared))} bytes declared, {end - at} present"
        yield _BodyRange("blob", label, at, end)
        at = end
        count += 1
    if at < size:
        yield _BodyRange("slack", why, at, size)


def _size(value: Any) -> int | None:
    """A size that can be a number of bytes."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Beyond 2^63 it is longer than any body all the same, and str() of a huge integer may raise.
    if not 0 <= value < 2**63 or value != int(value):
        return None
    return int(value)


def _name(entry: Mapping[str, Any]) -> str:
    """A tensor's name, and its datatype and shape if they are plain."""
    words = [_short(name) if isinstance(name := entry.get("name"), str) else "(no name)"]
    if isinstance(datatype := entry.get("datatype"), str):
        words.append(_short(datatype))
    shape = entry.get("shape")
    if isinstance(shape, list) and len(shape) <= 8 and all(type(n) is int for n in shape):
        words.append(_short(str(shape)) if all(abs(n) < 2**64 for n in shape) else "[huge]")
    return " ".join(words)


def _short(text: str) -> str:
    text = on_one_line(text)
    return text if len(text) <= _MAX_LABEL else text[:_MAX_LABEL] + "…"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
