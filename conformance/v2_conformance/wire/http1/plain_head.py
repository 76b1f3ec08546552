"""Reads message heads in their plainest form as h11 does, in a tenth of its time.

Nearly all messages of a run have such a head. Whatever is unusual in one is left to h11, so that
there is one opinion on it: tests compare the two.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import TOKEN

_LONGEST = 8000
_SHORT_LINE = 128
_END = b"\r\n\r\n"
_NAME = re.compile(TOKEN.encode())
_TEXT = re.compile(rb"[ -~]*")
_LENGTH = re.compile(r"[0-9]{1,15}")
_STATUS_LINE = re.compile(rb"HTTP/1\.1 ([2-5][0-9][0-9]) [ -~]*")
_REQUEST_LINE = re.compile(rb"(GET|POST) ([!-~]+) HTTP/1\.1")
_BODILESS = (204, 304)
# Fields that change how the message, or what follows it, is read.
_UNUSUAL = frozenset({"connection", "transfer-encoding", "upgrade"})

Fields = tuple[tuple[str, str], ...]
"""Names in lower case and values, in their order."""


class PlainResponse(msgspec.Struct, frozen=True):
    """The head of a response that says how long its body is; the body is `length` bytes from
    `start` on."""

    status: int
    fields: Fields
    start: int
    length: int


class PlainRequest(msgspec.Struct, frozen=True):
    """The head of a request; its body is `length` bytes from `start` on, which may be none."""

    method: str
    target: bytes
    fields: Fields
    start: int
    length: int


def plain_response(data: Buffer) -> PlainResponse | None:
    """Return the head of a response at the beginning of `data`; None unless it is a plain one."""
    split = _split(data)
    line = None if split is None else _STATUS_LINE.fullmatch(split[0])
    if split is None or line is None or int(line[1]) in _BODILESS:
        return None
    _, fields, start = split
    length = _length(fields)
    return None if length is None else PlainResponse(int(line[1]), fields, start, length)


def plain_request(data: Buffer) -> PlainRequest | None:
    """Return the head of a request at the beginning of `data`; None unless it is a plain one."""
    split = _split(data)
    line = None if split is None else _REQUEST_LINE.fullmatch(split[0])
    if split is None or line is None:
        return None
    _, fields, start = split
    names = [name for name, _ in fields]
    length = _length(fields) if "content-length" in names else 0
    if length is None or names.count("host") != 1:
        return None
    return PlainRequest(line[1].decode(), line[2], fields, start, length)


def _split(data: Buffer) -> tuple[bytes, Fields, int] | None:
    """Return the first line, the fields, and where the rest begins after the head."""
    raw = bytes(data[:_LONGEST])
    end = raw.find(_END)
    if end < 0:
        return None
    first, *lines = raw[:end].split(b"\r\n")
    fields = []
    for line in lines:
        field = _known_field(line) if len(line) <= _SHORT_LINE else _field(line)
        if field is None:
            return None
        fields.append(field)
    return first, tuple(fields), end + len(_END)


def _field(line: bytes) -> tuple[str, str] | None:
    """Return the name and the value of a line; None unless it is a plain field."""
    name, colon, value = line.partition(b":")
    if not colon or not _NAME.fullmatch(name):
        return None
    value = value.strip(b" \t")
    if not _TEXT.fullmatch(value):
        return None
    text = name.lower().decode()
    return None if text in _UNUSUAL else (text, value.decode())


_known_field = lru_cache(maxsize=1024)(_field)  # a server's heads are mostly alike


def _length(fields: Fields) -> int | None:
    """Return the Content-Length if it occurs once and is a plain number."""
    found = [value for name, value in fields if name == "content-length"]
    return int(found[0]) if len(found) == 1 and _LENGTH.fullmatch(found[0]) else None
