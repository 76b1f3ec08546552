"""Reads a recorded request again from its bytes, as far as judging its response needs it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from v2_conformance.protocol import content_codings
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import MessageError, parse_json
from v2_conformance.protocol.names import HEADER_LENGTH, TOKEN
from v2_conformance.wire.messages import decimal, read_chunks
from v2_conformance.wire.reader import Message, MessageReader
from v2_conformance.wire.response import Limits

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
# values, Django no space after Host, and Sanic no other case of the coding.
_ODD_FRAMING = re.compile(
    rb"\r\n(?:(?i:host|connection|content-length|transfer-encoding):(?:  |[^\r]*(?:\t| (?=\r|\Z)))"
    rb"|(?i:transfer-encoding):(?! ?chunked(?:\r|\Z)))"
)
# A request line, and fields of which any line may be folded.
_VALID_HEAD = re.compile(
    rb"[^\n]+\r?\n(?:%s:[^\0\r\v\f\n]*\r?\n(?:[ \t][^\0\r\v\f\n]*\r?\n)*)*\r?\n" % TOKEN.encode()
)
_HEAD_END = b"\r\n\r\n"
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
        document = self.json()
        if document is None or b'"id"' not in document:
            return None
        try:
            result = parse_json(document).get("id")
        except MessageError:
            return None
        return result if isinstance(result, str) and result and "\0" not in result else None

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

    def json(self) -> bytes | None:
        """Return the bytes of its JSON; None if they cannot be found."""
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


def _read(data: Buffer) -> ReadRequest:
    if len(data) > _LONGEST:  # nobody needs more than its head
        data = bytes(data[: _LONGEST >> 4]).partition(_HEAD_END)[0] + _HEAD_END
    reader = MessageReader(Limits(head=2 * _LONGEST))
    reader.feed(data)
    if not reader.messages or not _is_valid(reader.messages[0], data):
        return ReadRequest("", "1.1", (), b"", plain=False)
    message = reader.messages[0]
    raw = bytes(data)
    odd = _is_odd(raw.partition(_HEAD_END)[0], message.first["target"])
    odd = odd or message.combined.keys() >= _TWO_LENGTHS
    if not odd and message.framing == "chunked":
        odd = _has_odd_chunks(raw, message.start)
    return ReadRequest(
        message.first["method"].decode(),
        message.first["version"].decode(),
        message.fields,
        bytes(reader.body(message)),
        plain=message.whole and not odd,
    )


def _is_valid(message: Message, data: Buffer) -> bool:
    """Return True if strict servers read the head as it is read here."""
    if _VALID_HEAD.fullmatch(data, 0, message.start) is None:
        return False
    names = [name for name, _ in message.fields]
    hosts = names.count("host")
    return (hosts == 1 or (message.is_old and not hosts)) and (
        message.combined.get("transfer-encoding", "chunked").lower() == "chunked"
    )


def _is_odd(head: bytes, target: bytes) -> bool:
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
