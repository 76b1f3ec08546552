"""Recorded bytes of one request or response, cut into labeled sections.

Whatever was recorded is in some section, however broken: nothing here raises, and no byte is left
out. A label helps the reader and judges nothing; `judging` does that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Literal, NamedTuple

from v2_conformance.protocol.message import json_object, parameters_of
from v2_conformance.protocol.names import BINARY_DATA_SIZE, HEADER_LENGTH
from v2_conformance.suite.causes.base import counted
from v2_conformance.visible_text import on_one_line
from v2_conformance.wire.messages import Head, begins_message, one_number, read_chunks, read_head

# A page is made of thousands of messages, and nobody reads on after so much JSON.
_LONGEST_JSON = 256 * 1024
# A hostile body can list any number of tensors of no bytes, and names of any length.
_MAX_BLOBS = 64
_MAX_LABEL = 60
_MAX_INTERIM = 50
_MAX_CHUNKS_NAMED = 12
_FOLLOWING = ("second", "third", "fourth")
_BLANK = b" \t\r\n"

Name = Literal["request", "response"]
Kind = Literal["head", "json", "blob", "slack", "raw"]
"""A blob is a tensor's, slack is left over, raw is not understood or framing."""
_Range = tuple[Kind, str, int, int]  # of a body: kind, label, start, end


class Section(NamedTuple):
    """A labeled range of a message: bytes `start` to `end` of what was recorded.

    `data` is its content: the recorded bytes, without the framing of HTTP chunks between them.
    `base` is where the content starts in the body, or in what was recorded if not `in_body`.
    """

    kind: Kind
    label: str
    start: int
    end: int
    data: bytes
    base: int
    in_body: bool = False


class Message:
    """A request or a response, or as many as it has `answers`. `sections` cover every byte once and
    in order; `notes` are oddities.

    `header_cut` is where the header length says that the JSON ends, counted in what was recorded;
    it can be beyond the end. `json_end` is where the JSON object does end, if that is elsewhere.
    """

    def __init__(self, name: Name, data: bytes, answers: int = 1) -> None:
        self.name = name
        self.data = data
        self.sections: list[Section] = []
        self.notes: list[str] = []
        self.json_end: int | None = None
        self.header_cut: int | None = None
        self._at = 0
        head = read_head(data)
        while name == "response" and head.is_interim and len(self.sections) < _MAX_INTERIM:
            self._add("head", "interim response", head.end)
            head = read_head(data, head.end)
        if self._at < len(data) and self._is(head):
            self._add("head", "head", head.end)
            self._add_body(head)
            cuts = self.header_cut, self.json_end
            for which in _FOLLOWING[: answers - 1]:
                if begins_message(data, self._at):
                    head = read_head(data, self._at)
                    self._add("head", f"head of the {which} {name}", head.end)
                    self._add_body(head)
            self.header_cut, self.json_end = cuts
            self._add("slack", f"after the end of the {name}", len(data))
        else:
            what = "no HTTP status line" if name == "response" else "no HTTP request head"
            self._add("raw", what, len(data))

    def _is(self, head: Head) -> bool:
        first = head.first
        return first.startswith(b"HTTP/") if self.name == "response" else b" HTTP/" in first

    def _add(self, kind: Kind, label: str, end: int) -> None:
        """Add a section with all bytes up to `end` as its content, if there are any."""
        if end > self._at:
            data = self.data[self._at : end]
            self.sections.append(Section(kind, label, self._at, end, data, self._at))
            self._at = end

    def _add_body(self, head: Head) -> None:
        """Add the sections of the body behind a head. The framing of a chunk goes before it."""
        data, at = self.data, head.end
        if head.is_chunked:
            *chunks, last = read_chunks(data, at)
            # What cannot be read as chunks is shown with their framing.
            spans = [(one.data, one.end) for one in chunks if one.data < one.end]
            end = last.after
            rest = "the last chunk" if last.whole else "the rest of the chunks"
            named = ", ".join(str(stop - start) for start, stop in spans[:_MAX_CHUNKS_NAMED])
            named += ", …" if len(spans) > _MAX_CHUNKS_NAMED else ""
            if spans:
                self.notes.append(f"chunked body: {counted(len(spans), 'chunk')} ({named} bytes)")
            if not last.whole:
                self.notes.append("the chunked body is incomplete or malformed")
        else:
            length, there = one_number(head.values("content-length")), len(data) - at
            end = at + (there if length is None else min(length, there))
            spans, rest = ([(at, end)] if end > at else []), ""
            if length is not None and length > there:
                has = counted(there, "byte")
                self.notes.append(f"Content-Length is {length}, but the body has {has}")
        body = b"".join(data[start:stop] for start, stop in spans)
        ends = list(accumulate(stop - start for start, stop in spans))

        def recorded(place: int) -> int:
            """Where byte `place` of the body is in what was recorded, or would be behind it."""
            span = min(bisect_left(ends, place), len(ends) - 1)
            return spans[span][1] - ends[span] + place

        for kind, label, start, stop in self._ranges(body, head) if body else ():
            before = self._at
            self._at = recorded(stop) if stop > start else before
            self.sections.append(
                Section(kind, label, before, self._at, body[start:stop], start, in_body=True)
            )
        if body:
            self.header_cut = None if self.header_cut is None else recorded(self.header_cut)
            self.json_end = None if self.json_end is None else recorded(self.json_end)
        self._add("raw", rest, end)

    def _ranges(self, body: bytes, head: Head) -> Iterator[_Range]:
        """Yield JSON, blobs and the rest of a body; they follow each other from 0 to its end."""
        size = len(body)
        codings = [c for c in head.values("content-encoding") if c.lower() != "identity"]
        if codings:
            yield "raw", f"body, compressed ({_short(', '.join(codings))})", 0, size
            return
        lengths = head.values(HEADER_LENGTH.lower())
        declared = self.header_cut = one_number(lengths)
        if declared == 0:
            yield "blob", "Body without JSON (header length 0)", 0, size
            return
        document, object_end = _document(body)
        fits = declared is not None and declared <= size
        if declared is None and lengths:
            self.notes.append(f"{HEADER_LENGTH} is not one decimal number")
        end = size if document is None else object_end
        if fits and declared is not None:
            end = declared
        elif declared is not None:
            has = counted(size, "byte")
            self.notes.append(f"{HEADER_LENGTH} is {declared}, but the body has {has}")
        if document is not None:
            between = body[object_end:end].strip(_BLANK) or body[end:object_end]
            if between:
                self.notes.append(
                    f"{HEADER_LENGTH} is {end}, but the JSON object ends after byte {object_end}"
                )
            if between or (declared is not None and not fits):
                self.json_end = object_end
            yield "json", "JSON", 0, end
            member = "inputs" if self.name == "request" else "outputs"
            yield from _blobs(document.get(member), end, size)
            return
        rest: _Range = ("slack", "after the declared JSON", end, size)
        if size > _LONGEST_JSON and body[:_LONGEST_JSON].lstrip()[:1] == b"{":
            yield "json", "JSON, too long to be inspected", 0, end
            rest = ("blob", "What follows the JSON", end, size)
        elif fits:
            yield "raw", "declared to be JSON, but not a JSON object", 0, end
        else:
            yield "raw", "body, not a JSON object", 0, end
        if end < size:
            yield rest


def _document(body: bytes) -> tuple[Mapping[str, Any] | None, int]:
    """The JSON object at the body's start, and where it ends, with any white space after it."""
    found = json_object(body[:_LONGEST_JSON], strict=False)
    if found is None:
        return None, 0
    document, end = found
    ends = len(body) <= _LONGEST_JSON and not body[end:].strip(_BLANK)
    return document, len(body) if ends else end


def _blobs(entries: Any, at: int, size: int) -> Iterator[_Range]:
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
        yield "blob", label, at, end
        at = end
        count += 1
    if at < size:
        yield "slack", why, at, size


def _size(value: Any) -> int | None:
    """A size that can be a number of bytes."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Beyond 2^63 it is longer than any body all the same, and str() of a huge integer may raise.
    return int(value) if 0 <= value < 2**63 and value == int(value) else None


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
