"""Forms in which a server can send a secret back, and a reader who undoes each of them. Neither
knows how the suite masks: they use only what Python's library has for each form."""

from __future__ import annotations

import base64
import binascii
import contextlib
import gzip
import html
import io
import json
import re
import urllib.parse
import zlib
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPResponse
from typing import cast

Encode = Callable[[bytes], bytes]


def _each(form: str) -> Encode:
    return lambda data: "".join(form.format(byte) for byte in data).encode()


def _escaped(data: bytes) -> bytes:
    return json.dumps(data.decode()).encode()


FORMS: dict[str, Encode] = {
    "plain": bytes,
    "in JSON": _escaped,
    "in JSON in JSON": lambda data: _escaped(_escaped(data)),
    "JSON code points": _each("\\u{:04x}"),
    "JSON code points, upper case": _each("\\u{:04X}"),
    "some JSON code points": lambda data: b"".join(
        b"\\u%04x" % byte if at % 3 == 0 else bytes((byte,)) for at, byte in enumerate(data)
    ),
    "percent": lambda data: urllib.parse.quote(data, safe="").encode(),
    "percent, lower case": _each("%{:02x}"),
    "plus": lambda data: urllib.parse.quote_plus(data).encode(),
    "hex": _each("{:02x}"),
    "HEX": _each("{:02X}"),
    **{
        f"{name}, {before} before": lambda data, encode=encode, before=before: encode(  # type: ignore[misc]
            b"~~~"[:before] + data + b"?"
        )
        for name, encode in (("base64", base64.b64encode), ("urlsafe", base64.urlsafe_b64encode))
        for before in range(3)
    },
}


def delivered(how: str, body: bytes) -> bytes:
    """A whole response with status 401 that has `body`, sent in this way."""
    fields, content = _DELIVERIES[how](body)
    start = b"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n"
    return start + fields + b"\r\n\r\n" + content


def _length(body: bytes, *more: bytes) -> tuple[bytes, bytes]:
    return b"\r\n".join((*more, b"Content-Length: %d" % len(body))), body


def _chunked(body: bytes, size: int, *more: bytes) -> tuple[bytes, bytes]:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return b"\r\n".join((*more, b"Transfer-Encoding: chunked")), chunks + b"0\r\n\r\n"


_GZIP = b"Content-Encoding: gzip"
_DELIVERIES: dict[str, Callable[[bytes], tuple[bytes, bytes]]] = {
    "with its length": _length,
    "until the end": lambda body: (b"Connection: close", body),
    "in chunks of a byte": lambda body: _chunked(body, 1),
    "in chunks of five": lambda body: _chunked(body, 5),
    "in gzip": lambda body: _length(gzip.compress(body), _GZIP),
    "in gzip that is cut off": lambda body: _length(gzip.compress(body)[:-6], _GZIP),
    "in gzip in gzip": lambda body: _length(
        gzip.compress(gzip.compress(body)), b"Content-Encoding: gzip, gzip"
    ),
    "in gzip in chunks": lambda body: _chunked(gzip.compress(body), 7, _GZIP),
    "in deflate": lambda body: _length(zlib.compress(body), b"Content-Encoding: deflate"),
}
DELIVERIES = tuple(_DELIVERIES)


def is_shown(data: bytes, *secrets: bytes) -> str | None:
    """The form in which a reader finds a secret in `data`, recorded or written; None if none."""
    for text in _contents(data):
        for how, reading in _readings(text):
            if any(secret in reading for secret in secrets):
                return how
    return None


class _Socket:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


def _contents(data: bytes) -> Iterator[bytes]:
    """The bytes, their body without chunks, and that without its coding."""
    yield data
    if not data.startswith(b"HTTP/1"):
        return
    response = HTTPResponse(cast("object", _Socket(data)))  # type: ignore[arg-type]
    try:
        response.begin()
        body = response.read()
    except (HTTPException, ValueError):
        body = data.partition(b"\r\n\r\n")[2]
    for _ in range(3):
        yield body
        try:
            body = zlib.decompressobj(47).decompress(body)
        except zlib.error:
            return


def _readings(text: bytes) -> Iterator[tuple[str, bytes]]:
    yield "plain", text
    yield "HTML", html.unescape(text.decode("latin-1")).encode("utf-8", "replace")
    yield "percent", urllib.parse.unquote_to_bytes(text)
    yield "plus", urllib.parse.unquote_to_bytes(text.replace(b"+", b" "))
    backslashes = text
    for _ in range(3):
        backslashes = re.sub(rb"\\(?:(?:u00|x)([0-9a-fA-F]{2})|(.))", _character, backslashes)
        yield "backslashes", backslashes
    for run in re.findall(rb"[0-9a-fA-F]{12,}", text):
        for start in range(2):
            digits = run[start : len(run) - (len(run) - start) % 2].decode()
            yield "hex", bytes.fromhex(digits)
    for run in re.findall(rb"[A-Za-z0-9+/_-]{8,}", text):
        for start in range(4):
            part = run[start:].translate(bytes.maketrans(b"-_", b"+/"))
            for padded in (part[: len(part) // 4 * 4], part + b"=" * (-len(part) % 4)):
                with contextlib.suppress(binascii.Error):
                    yield "base64", base64.b64decode(padded)


def _character(match: re.Match[bytes]) -> bytes:
    return bytes((int(match[1], 16),)) if match[1] else match[2]
