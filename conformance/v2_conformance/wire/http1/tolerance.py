"""Reads heads of responses that break HTTP/1.1 as tolerant clients read them.

One broken line must not make every response unreadable, for then every case fails: the requirements
about HTTP's syntax (C9 to C18) judge the recorded bytes, which stay as they came.
"""

from __future__ import annotations

import re

from v2_conformance.protocol.names import TOKEN
from v2_conformance.wire.messages import read_head

_SWITCHING_PROTOCOLS = 101
_STATUS_LINE = re.compile(rb"HTTP/([0-9]+(?:\.[0-9]+)?)[ \t]+([1-9][0-9][0-9])(?:[ \t](.*))?")
_TOKEN = re.compile(TOKEN.encode())
_CONTROL = re.compile(rb"[^\t -~\x80-\xff]")
_NOT_CODED = {b"chunked", b"identity"}


def tolerated(received: bytes) -> bytes | None:
    """Return `received` with heads that a strict parser accepts; None if that is impossible or
    unnecessary.

    The body stays as it is. White space before colons, control characters and fields with invalid
    names are removed; a version other than 1.0 counts as 1.1, and a repeated chunked as one.
    """
    at = 0
    heads = b""
    while True:
        head = read_head(received, at)
        if not head.whole or head.start != at:
            return None
        heads += _head(*head.lines)
        at = head.end
        if not head.is_interim or head.status == _SWITCHING_PROTOCOLS:
            break
    return None if heads == received[:at] else heads + received[at:]


def _head(first: bytes, *lines: bytes) -> bytes:
    fields: list[bytes] = []
    codings: list[bytes] = []
    for line in lines:
        name, colon, value = line.partition(b":")
        name = name.rstrip(b" \t")
        if line[:1] in (b" ", b"\t") or not colon:
            fields.append(_CONTROL.sub(b" ", line))
        elif name.lower() == b"transfer-encoding":
            codings.append(value)
        elif _TOKEN.fullmatch(name):
            fields.append(name + b":" + _CONTROL.sub(b" ", value))
    fields += _coding(codings)
    return b"\r\n".join([_status_line(first), *fields, b"", b""])


def _status_line(line: bytes) -> bytes:
    found = _STATUS_LINE.fullmatch(line)
    if found is None:
        return line
    version = b"1.0" if found[1] == b"1.0" else b"1.1"
    return b"HTTP/%b %b %b" % (version, found[2], _CONTROL.sub(b" ", found[3] or b""))


def _coding(values: list[bytes]) -> list[bytes]:
    """Return Transfer-Encoding as one field, without codings that change nothing."""
    listed = b", ".join(values)
    names = {name.strip(b" \t").lower() for name in listed.split(b",")} - {b""}
    if not names <= _NOT_CODED:
        return [b"Transfer-Encoding:" + _CONTROL.sub(b" ", listed)]
    return [b"Transfer-Encoding: chunked"] if b"chunked" in names else []
