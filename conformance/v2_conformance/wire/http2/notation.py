"""Notation of HTTP/1.1 in which exchanges over HTTP/2 are recorded: fields and bodies.

A report has no frames of HTTP/2. Their fields are written as a head whose version is HTTP/2: the
pseudo-header fields are its first line, `:authority` is its `host`. The octets of the body follow,
without frames or padding. Interim responses are heads of their own, before that of the response.
Other facts in frames, such as the code of a reset, are in `transcript.Http2Facts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.wire.transcript import Response
from v2_conformance.wire.transport import Head

Fields = tuple[tuple[bytes, bytes], ...]

_END = b"\r\n\r\n"
_HEAD_END = re.compile(rb"\r\n\r\n")
_STATUS_LINE = re.compile(rb"HTTP/2 ([1-5][0-9][0-9]) ")
_REQUEST_LINE = re.compile(rb"[A-Z]+ [!-~]+ HTTP/2")
# No HTTP/2 field may contain one of these (RFC 9113, section 8.2.1).
_FORBIDDEN = re.compile(rb"[\r\n\0]")
_STATUS = re.compile(rb"[1-5][0-9][0-9]")
_LONGEST_LINE = 16 * 1024
FRAMES = "frames"
"""`Response.framing` of a response without a Content-Length, which ends with its stream."""


def write_request_head(head: Head) -> bytes:
    """Return the head of a request over HTTP/2, with field names in lower case."""
    lines = [f"{head.method} {head.target} HTTP/2"]
    lines += [f"{name.lower()}: {value}" for name, value in head.fields]
    return "\r\n".join([*lines, "", ""]).encode()


def read_request_head(head: bytes, scheme: str) -> Fields:
    """Return the fields to send for a head of `write_request_head`, pseudo-header fields first."""
    line, *lines = head.removesuffix(_END).split(b"\r\n")
    method, _, rest = line.partition(b" ")
    path = rest.rpartition(b" ")[0]
    pairs = [(name, value) for name, _, value in (line.partition(b": ") for line in lines)]
    pseudo = [(b":method", method), (b":scheme", scheme.encode()), (b":path", path)]
    pseudo += [(b":authority", value) for name, value in pairs if name == b"host"]
    return (*pseudo, *((name, value) for name, value in pairs if name != b"host"))


def write_response_head(fields: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """Return the head of a response whose fields came over HTTP/2; None if no response can have
    them.
    """
    status, lines = b"", []
    for name, value in fields:
        if _FORBIDDEN.search(name) or _FORBIDDEN.search(value):
            return None
        if name == b":status":
            status = value
        else:
            lines.append(b"%b: %b" % (name, value))
    if not _STATUS.fullmatch(status) or status == b"101":
        return None
    return b"\r\n".join([b"HTTP/2 %b " % status, *lines, b"", b""])


def read_response(received: Buffer, *, whole: bool) -> Response | None:
    """Return the response in recorded bytes, as far as it came; None if its head did not.

    `whole` says whether its stream ended.
    """
    for status, start, end in _heads(received):
        if status is not None and status >= 200:
            fields = _fields(bytes(received[start : end - len(_END)]))
            counted = any(name == "content-length" for name, _ in fields)
            framing = "content-length" if counted else FRAMES
            return Response(status, fields, memoryview(received)[end:], framing, 0, whole)
    return None


def is_readable(received: Buffer) -> bool:
    """Return True if recorded bytes can come from HTTP/2: nothing, heads of interim responses, or
    those and a response.
    """
    return all(status is not None for status, _, _ in _heads(received))


def _heads(received: Buffer) -> Iterator[tuple[int | None, int, int]]:
    """Yield the status of each head, where it starts and where the rest does. The last is the
    response's, or a status of None if there is no response.
    """
    at = 0
    while at < len(received):
        found, end = _STATUS_LINE.match(received, at), _HEAD_END.search(received, at)
        if found is None or end is None:
            yield None, at, len(received)
            return
        yield int(found[1]), at, end.end()
        if int(found[1]) >= 200:
            return
        at = end.end()


def as_http1(request: Buffer) -> Buffer:
    """Return a recorded request for a reader of HTTP/1.1: one over HTTP/2 gets that version."""
    line = bytes(request[:_LONGEST_LINE]).partition(b"\r\n")[0]
    if not _REQUEST_LINE.fullmatch(line):
        return request
    return line.removesuffix(b"2") + b"1.1" + bytes(request[len(line) :])


def _fields(head: bytes) -> tuple[tuple[str, str], ...]:
    pairs = (line.partition(b": ") for line in head.split(b"\r\n")[1:])
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, _, value in pairs)
