"""Forms in which a server can send a secret back, and a reader who undoes each of them.

Neither knows how the suite masks: they use only what Python's library has for each form.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import gzip
import html
import io
import json
import quopri
import re
import urllib.parse
import zlib
from collections.abc import Callable, Iterable, Iterator
from http.client import HTTPException, HTTPResponse
from typing import cast

_LARGE = 1 << 14
Encode = Callable[[bytes], bytes]


def _each(form: str, between: str = "") -> Encode:
    return lambda data: between.join(form.format(byte) for byte in data).encode()


def _escaped(data: bytes) -> bytes:
    return json.dumps(data.decode()).encode()


FORMS: dict[str, Encode] = {
    "plain": bytes,
    "upper case": bytes.upper,
    "swapped case": bytes.swapcase,
    "reversed": lambda data: data[::-1],
    "rot13": lambda data: codecs.encode(data.decode(), "rot13").encode(),
    "in JSON": _escaped,
    "in JSON in JSON": lambda data: _escaped(_escaped(data)),
    "JSON code points": _each("\\u{:04x}"),
    "JSON code points in JSON": lambda data: _escaped(_each("\\u{:04X}")(data)),
    "some JSON code points": lambda data: b"".join(
        b"\\u%04x" % byte if at % 3 == 0 else bytes((byte,)) for at, byte in enumerate(data)
    ),
    "JSON list of characters": lambda data: json.dumps([chr(byte) for byte in data]).encode(),
    "JSON list of numbers": lambda data: json.dumps(list(data)).encode(),
    "letters with spaces": lambda data: b" ".join(bytes((byte,)) for byte in data),
    "Python": lambda data: repr(data).encode(),
    "Python \\x": _each("\\x{:02x}"),
    "octal": _each("\\{:03o}"),
    "percent": lambda data: urllib.parse.quote(data, safe="").encode(),
    "percent, all": _each("%{:02X}"),
    "percent, lower case": _each("%{:02x}"),
    "percent, twice": lambda data: urllib.parse.quote(_each("%{:02x}")(data)).encode(),
    "plus": lambda data: urllib.parse.quote_plus(data).encode(),
    "HTML": lambda data: html.escape(data.decode()).encode(),
    "HTML numbers": _each("&#{};"),
    "HTML hex": _each("&#x{:x};"),
    "quoted-printable": lambda data: _each("={:02X}")(data),
    "quoted-printable, folded": lambda data: quopri.encodestring(data[:9]) + b"=\r\n" + data[9:],
    "hex": _each("{:02x}"),
    "HEX": _each("{:02X}"),
    "hex with colons": _each("{:02x}", ":"),
    "hex with spaces": _each("{:02x}", " "),
    "hex with dashes": _each("{:02X}", "-"),
    "hex with 0x": _each("0x{:02x}", ", "),
    "bits": _each("{:08b}"),
    "base64": base64.b64encode,
    "base64, one before": lambda data: base64.b64encode(b"x" + data),
    "base64, two before": lambda data: base64.b64encode(b"xy" + data + b"z"),
    "base64, unpadded": lambda data: base64.b64encode(b"id:" + data + b"!").rstrip(b"="),
    "base64, urlsafe": lambda data: base64.urlsafe_b64encode(b"~~" + data),
    "base64, in lines": lambda data: re.sub(b"(.{8})", b"\\1\r\n", base64.b64encode(data)),
    "base64, percent": lambda data: urllib.parse.quote(base64.b64encode(data + b"??>")).encode(),
    "base64 of UTF-16": lambda data: base64.b64encode(data.decode().encode("utf-16")),
    "base32": base64.b32encode,
    "base32, three before": lambda data: base64.b32encode(b"abc" + data).lower(),
    "base85": base64.b85encode,
    "ascii85": lambda data: base64.a85encode(b"xy" + data),
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "UTF-16 of the other end": lambda data: data.decode().encode("utf-16-be"),
    "UTF-32": lambda data: data.decode().encode("utf-32"),
}


def delivered(how: str, body: bytes) -> bytes:
    """A whole response with status 401 that has `body`, sent in this way."""
    fields, content = _DELIVERIES[how](body)
    start = b"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n"
    return start + fields + b"\r\n\r\n" + content


def _length(body: bytes, *more: bytes) -> tuple[bytes, bytes]:
    return b"\r\n".join((*more, b"Content-Length: %d" % len(body))), body


def _chunked(body: bytes, size: int, *more: bytes, digits: int = 1) -> tuple[bytes, bytes]:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    chunks = b"".join(b"%0*x\r\n%b\r\n" % (digits, len(piece), piece) for piece in pieces)
    return b"\r\n".join((*more, b"Transfer-Encoding: chunked")), chunks + b"0\r\n\r\n"


def _raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


_GZIP = b"Content-Encoding: gzip"
_DELIVERIES: dict[str, Callable[[bytes], tuple[bytes, bytes]]] = {
    "with its length": _length,
    "until the end": lambda body: (b"Connection: close", body),
    "in chunks of a byte": lambda body: _chunked(body, 1),
    "in chunks of five": lambda body: _chunked(body, 5),
    "in chunks with long sizes": lambda body: _chunked(body, 5, digits=20),
    "in gzip": lambda body: _length(gzip.compress(body), _GZIP),
    "in gzip of one level": lambda body: _length(gzip.compress(body, 1), _GZIP),
    "in gzip of two members": lambda body: _length(
        gzip.compress(body[: len(body) // 2]) + gzip.compress(body[len(body) // 2 :]), _GZIP
    ),
    "in gzip that nothing names": lambda body: _length(gzip.compress(body)),
    "in gzip that is cut off": lambda body: _length(gzip.compress(body)[:-6], _GZIP),
    "in gzip in gzip": lambda body: _length(
        gzip.compress(gzip.compress(body)), b"Content-Encoding: gzip, gzip"
    ),
    "in gzip in chunks": lambda body: _chunked(gzip.compress(body), 7, _GZIP),
    "in deflate": lambda body: _length(zlib.compress(body), b"Content-Encoding: deflate"),
    "in raw deflate": lambda body: _length(_raw_deflate(body), b"Content-Encoding: deflate"),
}
DELIVERIES = tuple(_DELIVERIES)


def is_shown(data: bytes, *secrets: bytes) -> str | None:
    """The form in which a reader finds a secret in `data`, recorded or written; None if none."""
    wanted = [_squeezed(secret) for secret in secrets]
    shortest = min(map(len, wanted))
    for text in _contents(data):
        for how, reading in _readings(text):
            if len(reading) < shortest:
                continue
            squeezed = _squeezed(reading)
            if any(secret in squeezed for secret in wanted):
                return how
    return None


_LOWER = bytes(range(256)).lower()
_LOOKED_PAST = b" \t\n\r\f\v\0\"',\\"


def _squeezed(text: bytes) -> bytes:
    """What is left if a reader looks past case, white space, zeros (UTF-16), quotes and commas."""
    return text.translate(_LOWER, _LOOKED_PAST)


class _Socket:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


def _contents(data: bytes) -> Iterator[bytes]:
    """The bytes, their body without chunks, and that without its coding."""
    yield data
    bodies = [data]
    if data.startswith(b"HTTP/1"):
        response = HTTPResponse(cast("object", _Socket(data)))  # type: ignore[arg-type]
        try:
            response.begin()
            bodies.append(response.read())
        except (HTTPException, ValueError):
            bodies.append(data.partition(b"\r\n\r\n")[2])
    for body in bodies[1:]:
        yield body
        yield from _unpacked(body)


def _unpacked(body: bytes) -> Iterator[bytes]:
    for wbits in (47, -15):
        text, data = b"", body
        while data:
            unpacker = zlib.decompressobj(wbits)
            try:
                text += unpacker.decompress(data)
            except zlib.error:
                break
            data = unpacker.unused_data
        if text:
            yield text
            if text[:2] == b"\x1f\x8b":
                yield from _unpacked(text)


def _readings(text: bytes) -> Iterator[tuple[str, bytes]]:
    yield "plain", text
    yield "reversed", text[::-1]
    large = len(text) > _LARGE  # a report: what is in it in odd forms is in its messages, too
    if not large:
        yield "rot13", codecs.encode(text.decode("latin-1"), "rot13").encode("latin-1", "replace")
    percent = urllib.parse.unquote_to_bytes(text)
    yield "percent", percent
    yield "percent, twice", urllib.parse.unquote_to_bytes(percent)
    yield "HTML", html.unescape(text.decode("latin-1")).encode("utf-8", "replace")
    yield "quoted-printable", quopri.decodestring(text)
    backslashes = text
    for _ in range(1 if large else 3):
        backslashes = _without_backslashes(backslashes)
        yield "backslashes", backslashes
    for how, pattern, decode in _RUNS[: 1 if large else None]:
        sources = (text,) if large else (text, percent, re.sub(rb"\s", b"", text))
        # Most runs are in all of them, and nobody reads another thing in a run at its second place.
        for run in dict.fromkeys(run for source in sources for run in re.findall(pattern, source)):
            for reading in decode(run):
                yield how, reading


def _without_backslashes(text: bytes) -> bytes:
    def character(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return bytes((int(match[1], 16),))
        return bytes((int(match[2], 8),)) if match[2] else match[3]

    return re.sub(rb"\\(?:u00|x)([0-9a-fA-F]{2})|\\([0-3][0-7]{2})|\\(.)", character, text)


def _attempts(decode: Encode, run: bytes, step: int) -> Iterable[bytes]:
    for start in range(step):
        part = run[start:]
        whole = part[: len(part) // step * step]
        for padded in dict.fromkeys((whole, part + b"=" * (-len(part) % step))):
            try:
                yield decode(padded)
            except (ValueError, binascii.Error):
                continue


def _numbers(base: int) -> Callable[[bytes], Iterable[bytes]]:
    def decode(run: bytes) -> Iterable[bytes]:
        found = [int(number, base) for number in re.findall(rb"[0-9a-fA-F]+", run)]
        return [bytes(number for number in found if number < 256)]

    return decode


def _hex(run: bytes) -> Iterable[bytes]:
    digits = re.sub(rb"0x|[^0-9a-fA-F]", b"", run)
    return _attempts(lambda part: bytes.fromhex(part.decode()), digits, 2)


def _bits(run: bytes) -> Iterable[bytes]:
    return [bytes(int(run[at : at + 8], 2) for at in range(0, len(run) - 7, 8))]


_RUNS: tuple[tuple[str, bytes, Callable[[bytes], Iterable[bytes]]], ...] = (
    ("base64", rb"[A-Za-z0-9+/]{8,}", lambda run: _attempts(base64.b64decode, run, 4)),
    (
        "base64, urlsafe",
        rb"[A-Za-z0-9_-]{8,}",
        lambda run: _attempts(base64.urlsafe_b64decode, run, 4),
    ),
    ("base32", rb"[A-Za-z2-7]{8,}", lambda run: _attempts(_base32, run, 8)),
    ("base85", rb"[!-~]{15,400}", lambda run: _attempts(base64.b85decode, run, 5)),
    ("ascii85", rb"[!-u]{15,400}", lambda run: _attempts(base64.a85decode, run, 5)),
    ("hex", rb"(?:(?:0x)?[0-9a-fA-F]{2}[:, -]{0,2}){6,}", _hex),
    ("bits", rb"[01]{48,}", _bits),
    ("numbers", rb"(?:[0-9]{2,3}[, ;&#]{1,3}){5,}[0-9]{2,3}", _numbers(10)),
)


def _base32(run: bytes) -> bytes:
    return base64.b32decode(run.upper())
