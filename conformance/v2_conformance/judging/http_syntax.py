"""Whether a recorded response is HTTP/1.1 as RFC 9112 writes it. Pure.

The suite reads responses more tolerantly, as clients do: a server may get away with a bare LF,
until a proxy or a stricter client stands between. Of the fields' values, only those are judged that
frame the message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.findings import excerpt
from v2_conformance.suite.observations import HttpRule, InvalidHttp

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9][0-9]) [\t -~\x80-\xff]*")
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(rb"[\t -~\x80-\xff]*")
_DIGITS = re.compile(rb"[0-9]+")
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,16})(?:[ \t]*;[\t -~\x80-\xff]*)?\r\n")
_LINE_SHOWN = 80
# Fields that hold one value, and that a client finds the end of the message or its tensors by.
_ONCE = (b"content-length", b"content-type", HEADER_LENGTH.lower().encode())

_Fields = Sequence[tuple[bytes, bytes]]


def check_syntax(received: Buffer) -> bool:
    """Raise Finding for the first rule of HTTP/1.1 that the bytes of a response break.

    Bytes after the end of the response are not judged, and neither are chunks for a client of
    HTTP/1.0, which are V2's. Returns whether there is a whole head, so that anything was judged.
    """
    data = bytes(received)
    at = 0
    while True:
        end = _HEAD_END.search(data, at)
        if end is None:
            return False
        status, fields = _head(data[at : end.end()])
        at = end.end()
        if status >= 200:  # what an interim response frames is not a body; hints may name anything
            break
    if _framing(status, fields):
        _chunks(data, at)
    return True


def _head(head: bytes) -> tuple[int, _Fields]:
    """The status and the fields of a head, which ends with its empty line."""
    if b"\n" in head.replace(b"\r\n", b""):
        bare = next(line for line in head.split(b"\n") if not line.endswith(b"\r"))
        raise _broken("line_end", bare)
    first, *lines = head[: -len(b"\r\n\r\n")].split(b"\r\n")
    status = _STATUS_LINE.fullmatch(first)
    if status is None:
        raise _broken("status_line", first)
    return int(status[1]), [_field(line) for line in lines]


def _field(line: bytes) -> tuple[bytes, bytes]:
    if line[:1] in (b" ", b"\t"):
        raise _broken("folded_line", line)
    name, colon, value = line.partition(b":")
    if colon and name.endswith((b" ", b"\t")):
        raise _broken("space_before_colon", line)
    if not colon or not _TOKEN.fullmatch(name):
        raise _broken("field_name", line)
    if not _VALUE.fullmatch(value):
        raise _broken("field_value", line)
    return name.lower(), value.strip(b" \t")


def _framing(status: int, fields: _Fields) -> bool:
    """Whether the body comes in chunks. Raises Finding if fields contradict each other."""
    for name in _ONCE:
        values = [value for key, value in fields if key == name]
        if len(values) > 1:
            raise _broken("repeated_field", name + b": " + b" and ".join(values))
    lengths = [value for key, value in fields if key == b"content-length"]
    if lengths and not _DIGITS.fullmatch(lengths[0]):
        raise _broken("content_length", lengths[0])
    listed = b",".join(value for key, value in fields if key == b"transfer-encoding").lower()
    codings = [coding.strip(b" \t") for coding in listed.split(b",") if coding.strip(b" \t")]
    bodiless = status == 204
    if lengths and (codings or bodiless):
        raise _broken("content_length_not_allowed", lengths[0])
    if codings and (bodiless or b"chunked" in codings[:-1]):
        raise _broken("transfer_coding", listed)
    return bool(codings) and codings[-1] == b"chunked"


def _chunks(data: bytes, at: int) -> None:
    """Raise Finding unless whole chunks follow from `at` on, then the trailer section."""
    while True:
        line = _CHUNK_LINE.match(data, at)
        if line is None:
            raise _broken("chunk", data[at : at + _LINE_SHOWN])
        at, size = line.end(), int(line[1], 16)
        if not size:
            break
        at += size
        if data[at : at + 2] != b"\r\n":
            raise _broken("chunk", data[at : at + 2])
        at += 2
    while data[at : at + 2] != b"\r\n":
        end = data.find(b"\n", at)
        line_end = len(data) if end < 0 else end + 1
        if not data[at:line_end].endswith(b"\r\n"):
            raise _broken("line_end", data[at:line_end])
        _field(data[at : line_end - 2])
        at = line_end


def _broken(rule: HttpRule, shown: bytes) -> Finding:
    return Finding(InvalidHttp(rule, excerpt(shown, _LINE_SHOWN)))
