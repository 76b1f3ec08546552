"""Writes a request's parts as the bytes of HTTP/1.1 (RFC 9112)."""

from __future__ import annotations

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.wire.transport import Head

_LONGEST_HEAD = 64 * 1024


def write_head(head: Head) -> bytes:
    """Return the request line, the fields exactly as given, and the empty line."""
    lines = [f"{head.method} {head.target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in head.fields]
    return "\r\n".join([*lines, "", ""]).encode()


def asks_to_close(request: Buffer) -> bool:
    """Return True if a server must close the connection after it has answered a request."""
    start = bytes(request[:_LONGEST_HEAD]).lstrip(b"\r\n")  # RFC 9112, section 2.2
    end = start.find(b"\r\n\r\n")
    head = start[: end if end >= 0 else None].lower()
    if b"\r\nconnection:" not in head:
        return not head.partition(b"\r\n")[0].endswith(b"http/1.1")
    first, *fields = head.split(b"\r\n")
    named = (field.partition(b":") for field in fields)
    values = b",".join(value for name, _, value in named if name == b"connection")
    options = {option.strip(b" \t") for option in values.split(b",")}
    return b"close" in options or not first.endswith(b"http/1.1")
