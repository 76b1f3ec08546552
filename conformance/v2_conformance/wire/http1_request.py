"""A request's parts as the bytes of HTTP/1.1 (RFC 9112)."""

from __future__ import annotations

from v2_conformance.wire.transport import Head


def write_head(head: Head) -> bytes:
    """The request line, the fields just as they are, and the empty line."""
    lines = [f"{head.method} {head.target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in head.fields]
    return "\r\n".join([*lines, "", ""]).encode()
