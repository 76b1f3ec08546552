"""Recorded bytes of one request or response, cut into labeled sections.

A head ends at its empty line, a body where its length or its last chunk says. Of a body, the JSON
ends where the header length says, and each blob is as long as the JSON says. Where one of these is
wrong or absent, what is left is `raw` or `slack`: all that was recorded is in some section, however
broken, nothing here raises, and no byte is left out. A label helps the reader and judges nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Literal, NamedTuple

from v2_conformance.protocol.message import json_object, parameters_of
from v2_conformance.protocol.names import BINARY_DATA_SIZE, HEADER_LENGTH
from v2_conformance.suite.causes.base import counted
from v2_conformance.terminal_safe_text import on_one_line, short
from v2_conformance.wire.messages import (
    Head,
    begins_message,
    codings_in,
    one_number,
    read_chunks,
    read_head,
)

# A page is made of thousands of messages, and nobody reads on after so much JSON.
_LONGEST_JSON = 256 * 1024
# A hostile body can list any number of tensors of no bytes, and names of any length.
_MAX_BLOBS = 64
_MAX_LABEL = 60
_MAX_INTERIM = 50
_FOLLOWING = ("second", "third", "fourth")
_BLANK = b" \t\r\n"

Name = Literal["request", "response"]
Kind = Literal["head", "json", "blob", "slack", "raw"]
"""A blob is a tensor's, slack is left over, raw is not understood or framing."""
_Range = tuple[Kind, str, int, int]  # of a body: kind, label, start, end


class Section(NamedTuple):
    """Bytes `start` to `end` of what was recorded. `data` are these without the framing of chunks,
    `base` is where they start in the body, or in what was recorded if not `in_body`."""

    kind: Kind
    label: str
    start: int
    end: int
    data: bytes
    base: int
    in_body: bool = False


class Message(NamedTuple):
    """Requests or responses: `sections` cover every byte once, `notes` are oddities."""

    sections: list[Section]
    notes: list[str]


def read_message(name: Name, data: bytes, answers: int = 1, *, bodiless: bool = False) -> Message:
    """Cut a message into sections, or as many as `answers`; one that answers HEAD is `bodiless`."""
    sections: list[Section] = []
    head, at = read_head(data), 0
    while name == "response" and head.is_interim and len(sections) < _MAX_INTERIM:
        sections += _section("head", "interim response", data, at, head.end)
        at = head.end
        head = read_head(data, at)
    is_response, is_request = head.first.startswith(b"HTTP/"), b" HTTP/" in head.first
    if at == len(data) or not (is_response if name == "response" else is_request):
        what = "no HTTP status line" if name == "response" else "no HTTP request head"
        return Message([*sections, *_section("raw", what, data, at, len(data))], [])
    notes: list[str] = []
    for which in ("", *_FOLLOWING[: answers - 1]):
        if which and not begins_message(data, at):
            break
        head = read_head(data, at)
        label = f"head of the {which} {name}" if which else "head"
        sections += _section("head", label, data, at, head.end)
        if not bodiless:
            body = _read_body(name, data, head)
            sections += body.sections
            notes += body.notes
        at = sections[-1].end
    sections += _section("slack", f"after the end of the {name}", data, at, len(data))
    return Message(sections, notes)


def _section(kind: Kind, label: str, data: bytes, start: int, end: int) -> list[Section]:
    return [Section(kind, label, start, end, data[start:end], start)] if end > start else []


def _read_body(name: Name, data: bytes, head: Head) -> Message:
    """Return the body after a head. The framing of a chunk goes before the chunk."""
    at, notes = head.end, []
    if head.is_chunked:
        *chunks, last = read_chunks(data, at)
        # What cannot be read as chunks is shown with their framing.
        spans = [(one.data, one.end) for one in chunks if one.data < one.end]
        end = last.after
        rest = "the last chunk" if last.whole else "the rest of the chunks"
        if spans:
            sizes = _short(", ".join(str(stop - start) for start, stop in spans))
            notes.append(f"chunked body: {counted(len(spans), 'chunk')} ({sizes} bytes)")
        if not last.whole:
            notes.append("the chunked body is incomplete or malformed")
    else:
        length, there = one_number(head.values("content-length")), len(data) - at
        end = at + (there if length is None else min(length, there))
        spans, rest = ([(at, end)] if end > at else []), ""
        if length is not None and length > there:
            notes.append(f"Content-Length is {length}, but the body has {counted(there, 'byte')}")
    if not spans:
        return Message(_section("raw", rest, data, at, end), notes)
    body = b"".join(data[start:stop] for start, stop in spans)
    ends = list(accumulate(stop - start for start, stop in spans))

    def recorded(place: int) -> int:
        """Return where byte `place` of the body is in what was recorded, or would be after it."""
        span = min(bisect_left(ends, place), len(ends) - 1)
        return spans[span][1] - ends[span] + place

    sections = []
    for kind, label, start, stop in _ranges(name, body, head, notes):
        before, at = at, recorded(stop) if stop > start else at
        sections.append(Section(kind, label, before, at, body[start:stop], start, in_body=True))
    return Message([*sections, *_section("raw", rest, data, at, end)], notes)


def _ranges(name: Name, body: bytes, head: Head, notes: list[str]) -> list[_Range]:
    """Return JSON, blobs and the rest of a body, from its start to its end. Adds to the notes."""
    size = len(body)
    codings = codings_in(head.values("content-encoding"))
    if codings:
        return [("raw", f"body, compressed ({_short(', '.join(codings))})", 0, size)]
    lengths = head.values(HEADER_LENGTH.lower())
    declared = one_number(lengths)
    if declared == 0:
        return [("blob", "Body without JSON (header length 0)", 0, size)]
    if declared is None and lengths:
        notes.append(f"{HEADER_LENGTH} is not one decimal number")
    elif declared is not None and declared > size:
        notes.append(f"{HEADER_LENGTH} is {declared}, but the body has {counted(size, 'byte')}")
    document, object_end = _document(body)
    cut = declared if declared is not None and declared <= size else None
    if document is None:
        end = size if cut is None else cut
        rest: _Range = ("slack", "after the declared JSON", end, size)
        what: _Range = ("raw", "body, not a JSON object", 0, end)
        if size > _LONGEST_JSON and body[:_LONGEST_JSON].lstrip()[:1] == b"{":
            what = ("json", "JSON, too long to be inspected", 0, end)
            rest = ("blob", "What follows the JSON", end, size)
        elif cut is not None:
            what = ("raw", "declared to be JSON, but not a JSON object", 0, end)
        return [what, rest] if end < size else [what]
    end = object_end if cut is None else cut
    if body[object_end:end].strip(_BLANK) or body[end:object_end]:
        notes.append(f"{HEADER_LENGTH} is {end}, but the JSON object ends after byte {object_end}")
    entries = document.get("inputs" if name == "request" else "outputs")
    return [("json", "JSON", 0, end), *_blobs(entries, end, size)]


def _document(body: bytes) -> tuple[Mapping[str, Any] | None, int]:
    """The JSON object at the body's start, and where it ends, with any white space after it."""
    parsed = json_object(body[:_LONGEST_JSON], strict=False)
    if parsed is None:
        return None, 0
    document, end = parsed
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
        declared = parameters[BINARY_DATA_SIZE]
        usable = type(declared) is int and declared >= 0
        if not usable or count == _MAX_BLOBS:
            wrong = "too many tensors" if usable else "no usable binary_data_size"
            why = f"from {_name(entry)} on: {wrong}"
            break
        end = min(at + declared, size)
        label = _name(entry)
        if at + declared > size:
            label += f" ({_short(counted(declared, 'byte'))} declared)"
        yield "blob", label, at, end
        at = end
        count += 1
    if at < size:
        yield "slack", why, at, size


def _name(entry: Mapping[str, Any]) -> str:
    members = (entry.get("name", "(no name)"), entry.get("datatype"), entry.get("shape"))
    return " ".join(_short(str(member)) for member in members if member is not None)


def _short(text: str) -> str:
    return short(on_one_line(text), _MAX_LABEL)
