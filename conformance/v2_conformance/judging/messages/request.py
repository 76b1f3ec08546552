"""Reads a recorded request again from its bytes, as far as judging its response needs it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import h11

from v2_conformance.protocol import content_codings
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import MessageError, parse_json
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.wire.http1.plain_head import PlainRequest, plain_request
from v2_conformance.wire.messages import decimal, read_chunks

_LONGEST = 256 * 1024
# What every HTTP layer takes: some have one page for a field, and Varnish takes 64 fields.
_LONG_HEAD = 4000
_MANY_FIELDS = 50
# In origin form, and nothing is encoded but letters, digits and other unreserved characters:
# servlet containers refuse encoded slashes and backslashes, and the pattern of a route often ends
# at a line break.
_PLAIN_TARGET = re.compile(
    rb"/(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]"
    rb"|%(?:2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee]))*"
)
# By these fields, HTTP layers frame and route a request: nginx and Node take no tab around their
# values, Django no space behind Host, and Sanic no other case of the coding.
_ODD_FRAMING = re.compile(
    rb"\r\n(?:(?i:host|connection|content-length|transfer-encoding):(?:  |[^\r]*(?:\t| (?=\r|\Z)))"
    rb"|(?i:transfer-encoding):(?! ?chunked(?:\r|\Z)))"
)
_HEAD_END = b"\r\n\r\n"
_BLANK_LINE = re.compile(rb"\n\r?\n")  # ends a head, however it is read
_TWO_LENGTHS = {"content-length", "transfer-encoding"}


_SHORT = 4096  # bytes; longer requests are not cached


@dataclass(frozen=True)
class ReadRequest:
    """A request as read. `fields` are by lower-case name, in their order.

    `body` is without transfer coding. `plain` says whether it is whole and valid HTTP that any
    HTTP layer and proxy passes on, so that the answer is the inference server's.
    """

    method: str
    version: str
    fields: tuple[tuple[str, str], ...]
    body: Buffer
    plain: bool

    def values(self, name: str) -> list[str]:
        """Every value of the field `name`, which is in lower case."""
        return [value for key, value in self.fields if key == name]

    def id(self) -> str | None:
        """Return the id in its JSON, if every server finds the same one there; None also
        for "", and with U+0000, where servers that keep a C string cut it: that is V4's SHOULD."""
        document = self._json()
        if document is None or b'"id"' not in document:
            return None
        try:
            found = parse_json(document).get("id")
        except MessageError:
            return None
        return found if isinstance(found, str) and found and "\0" not in found else None

    def decoded(self) -> Buffer | None:
        """Return the body without content coding, None if that is unknown, broken or large."""
        coding = ",".join(self.values("content-encoding"))
        if not coding:
            return self.body
        known = content_codings.known(coding)
        try:
            return content_codings.decode(known, self.body, _LONGEST) if known else None
        except content_codings.CodingError:
            return None

    def _json(self) -> bytes | None:
        body = self.decoded()
        if body is None:
            return None
        lengths = self.values(HEADER_LENGTH.lower())
        if not lengths:
            return bytes(body) if len(body) <= _LONGEST else None
        length = decimal(lengths[0]) if len(lengths) == 1 else None
        return None if length is None or length > len(body) else bytes(body[:length])


def read_request(data: Buffer) -> ReadRequest:
    """Return the request in recorded bytes. Never raises: invalid HTTP is not `plain`."""
    return _read_again(bytes(data)) if len(data) <= _SHORT else _read(data)


def may_have_id(data: Buffer) -> bool:
    """Return True if `read_request(data).id()` may not be None: only if the member's name is there
    literally (chunks and content codings aside) in a request whose body is read.
    """
    if len(data) > _LONGEST:
        return False
    raw = bytes(data)
    if b'"id"' in raw:
        return True
    end = _BLANK_LINE.search(raw)
    return b"-encoding" in (raw if end is None else raw[: end.end()]).lower()


def _read(data: Buffer) -> ReadRequest:
    if len(data) > _LONGEST:  # nobody needs more than its head
        data = bytes(data[: _LONGEST >> 4]).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    head_read = plain_request(data)
    if head_read is not None and head_read.start + head_read.length == len(data):
        return _plain_one(head_read, bytes(data))
    parser = h11.Connection(h11.SERVER, max_incomplete_event_size=2 * _LONGEST)
    head: h11.Request | None = None
    body = bytearray()
    plain = False
    try:
        parser.receive_data(bytes(data))
        while True:
            event = parser.next_event()
            if isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            else:
                plain = isinstance(event, h11.EndOfMessage)
                break
    except h11.RemoteProtocolError:
        plain = False
    if head is None:
        return ReadRequest("", "1.1", (), b"", plain=False)
    fields = tuple((n.decode("latin-1"), v.decode("latin-1")) for n, v in head.headers)
    raw = bytes(data).partition(_HEAD_END)[0]
    names = {name for name, _ in fields}
    odd = _is_odd(raw, head.target) or names >= _TWO_LENGTHS
    if not odd and "transfer-encoding" in names:
        odd = _has_odd_chunks(bytes(data), len(raw) + len(_HEAD_END))
    return ReadRequest(
        head.method.decode("latin-1"),
        head.http_version.decode("latin-1"),
        fields,
        body,
        plain=plain and not odd,
    )


def _plain_one(head: PlainRequest, data: bytes) -> ReadRequest:
    """Return a whole request with a plain head, as `_read` would with h11."""
    plain = not _is_odd(data[: head.start - len(_HEAD_END)], head.target)
    return ReadRequest(head.method, "1.1", head.fields, data[head.start :], plain=plain)


def _is_odd(head: bytes, target: bytes) -> bool:
    """Return True if some proxy would not pass on a request with this head."""
    return (
        len(head) > _LONG_HEAD
        or head.count(b"\r\n") > _MANY_FIELDS
        or _PLAIN_TARGET.fullmatch(target) is None
        or _ODD_FRAMING.search(head) is not None
    )


def _has_odd_chunks(data: bytes, start: int) -> bool:
    """Return True if the chunks from `start` on have more than sizes and data: extensions, zeros
    before a size, trailers. Some HTTP layers refuse these.
    """
    for chunk in read_chunks(data, start):
        if not chunk.size:
            return data[chunk.start :] != b"0\r\n\r\n"
        if data[chunk.start : chunk.data].lower() != b"%x\r\n" % chunk.size:
            return True
    return True


# The same known-good request follows most cases.
_read_again = lru_cache(maxsize=64)(_read)
