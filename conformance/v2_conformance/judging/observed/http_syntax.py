"""Which rules of HTTP/1.1 (RFC 9112) the recorded bytes of a response break. Pure.

The suite reads responses more tolerantly, as clients do: a server may get away with a bare LF,
until a proxy or a stricter client stands between. Of the fields' values, only those are judged that
frame the message. After a breach the rest is read as a tolerant client reads it, so that one defect
breaks one rule.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.causes.cause_base import excerpt
from v2_conformance.suite.observations import HttpRule, InvalidHttp

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_TRAILER_END = re.compile(rb"\n\r?\n")
_BEGINNING = b"HTTP/"
_OLD = b"HTTP/1.0 "
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] [1-5][0-9][0-9] [\t -~\x80-\xff]*")
_ANY_STATUS = re.compile(rb"\S*[ \t]+([0-9]{3})(?![0-9])")
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(rb"[\t -~\x80-\xff]*")
_DIGITS = re.compile(rb"[0-9]+")
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,20})(?:;[\t -~\x80-\xff]*)?\r\n")
_HEX = b"0123456789ABCDEFabcdef"
_LINE_SHOWN = 80
_LONGEST_HEAD = 1 << 20  # far more than the suite reads of one
_SWITCHING_PROTOCOLS = 101
_NO_CONTENT = 204
_NOT_MODIFIED = 304
_LENGTH = b"content-length"
_CODING = b"transfer-encoding"
_FRAMING = (_LENGTH, _CODING)
# Fields that hold one value, and by which a client knows the body's type or finds its tensors.
_ONCE = (b"content-type", HEADER_LENGTH.lower().encode())

_LONGEST_PLAIN = 8000
# The head of a final response that breaks no rule of its own: each byte belongs to one part of one
# line, so that it is found or not in time that grows with its length alone.
_PLAIN_HEAD = re.compile(
    rb"HTTP/1\.[01] ([2-5][0-9][0-9]) [\t -~\x80-\xff]*\r\n"
    rb"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*\r\n)*\r\n"
)
_CODING_LINE, _LENGTH_LINE, *_ONCE_LINES = (
    b"\r\n" + name + b":" for name in (_CODING, _LENGTH, *_ONCE)
)
_PLAIN_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*[0-9]+[ \t]*\r\n")

_Fields = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Syntax:
    """What the bytes of a response show: its first breach of each rule.

    `judged` says whether there is a whole head.
    """

    broken: tuple[InvalidHttp, ...]
    judged: bool

    def first_of(self, rules: Collection[HttpRule]) -> InvalidHttp | None:
        """The first breach of one of `rules`."""
        return next((one for one in self.broken if one.rule in rules), None)


UNBROKEN = Syntax((), judged=True)
"""That of a response that breaks no rule."""


def is_plain(received: Buffer) -> bool:
    """Whether a response breaks no rule, whoever asked for it: its head is a plain one, and its
    body has no transfer coding. What is not plain `read_syntax` has to read."""
    found = _PLAIN_HEAD.match(bytes(received[:_LONGEST_PLAIN]))
    if found is None:
        return False
    head = found[0].lower()
    if _CODING_LINE in head or head.count(_ONCE_LINES[0]) > 1 or head.count(_ONCE_LINES[1]) > 1:
        return False
    lengths = head.count(_LENGTH_LINE)
    if not lengths:
        return True
    return lengths == 1 and int(found[1]) != _NO_CONTENT and _PLAIN_LENGTH.search(head) is not None


def read_syntax(
    received: Buffer, *, offered: Collection[bytes] = (), old_client: bool = False
) -> Syntax:
    """Judge the bytes of a response as far as they came.

    `offered` are the transfer codings that the client takes besides chunked. An `old_client` speaks
    HTTP/1.0 and takes none (RFC 9112, section 6.1); how chunks for it look is not judged. Neither
    are bytes after the end of the response, which are C5's.
    """
    reading = _Reading({b"chunked", *offered}, old_client=old_client)
    reading.message(bytes(received))
    return Syntax(tuple(reading.broken.values()), reading.judged)


def fields_syntax(fields: Sequence[tuple[str, str]]) -> Syntax:
    """Judge the fields of a response over HTTP/2, which has no bytes of its own; none without one.

    All that is left of the rules is that fields with one value come once.
    """
    reading = _Reading((), old_client=False)
    reading.once([(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields])
    return Syntax(tuple(reading.broken.values()), judged=bool(fields))


class _Reading:
    """A response as it is read; `broken` has its first breach of each rule."""

    def __init__(self, codings: Collection[bytes], *, old_client: bool) -> None:
        self._codings = codings
        self._old_client = old_client
        self.broken: dict[HttpRule, InvalidHttp] = {}
        self.judged = False
        self._interim = False

    def message(self, data: bytes) -> None:
        """Interim responses, if there are any, and the response."""
        at = self._beginning(data)
        while True:
            if self._interim and not _begins(data, at):
                self._break("interim_response", data[at : at + _LINE_SHOWN])
                return
            end = _HEAD_END.search(data, at, at + _LONGEST_HEAD)
            if end is None:
                return
            first, *lines = self._lines(data[at : end.end()])[:-1]
            at = end.end()
            self.judged = True
            status = self._status(first)
            fields = self._fields(lines)
            if status is None or status == _SWITCHING_PROTOCOLS:
                return  # what follows is another protocol, or nobody knows what it is
            if status >= 200:
                break
            self._of_interim(fields)
        self.once(fields)
        old = self._old_client or first.startswith(_OLD)
        if self._framing(status, fields, old=old) and not self._old_client:
            self._chunks(data, at)

    def _beginning(self, data: bytes) -> int:
        """Where the status line starts; whatever comes before it breaks its rule."""
        if _begins(data, 0):
            return 0
        self._break("status_line", data[:_LINE_SHOWN])
        start = len(data) - len(data.lstrip(b"\r\n"))
        return start if _begins(data, start) else len(data)

    def _lines(self, section: bytes) -> list[bytes]:
        """The lines of a section, without their ends."""
        lines = section.removesuffix(b"\n").split(b"\n")
        bare = next((line for line in lines if not line.endswith(b"\r")), None)
        if bare is not None:
            self._break("line_end", bare)
        return [line.removesuffix(b"\r") for line in lines]

    def _status(self, first: bytes) -> int | None:
        """The status of a head as a client reads it, None if there is none to read."""
        if not _STATUS_LINE.fullmatch(first):
            self._break("status_line", first)
        found = _ANY_STATUS.match(first)
        status = 0 if found is None else int(found[1])
        if 100 <= status < 200:
            self._interim = True
            if status == _SWITCHING_PROTOCOLS or self._old_client:
                self._break("interim_response", first)
        return status if status >= 100 else None

    def _fields(self, lines: Sequence[bytes]) -> _Fields:
        fields: list[tuple[bytes, bytes]] = []
        for line in lines:
            if line[:1] in (b" ", b"\t"):
                self._break("folded_line", line)
                value = line
                if fields:
                    fields[-1] = fields[-1][0], (fields[-1][1] + b" " + line).strip(b" \t")
            else:
                name, colon, value = line.partition(b":")
                if colon and name.endswith((b" ", b"\t")):
                    self._break("space_before_colon", line)
                    name = name.rstrip(b" \t")
                if not colon or not _TOKEN.fullmatch(name):
                    self._break("field_name", line)
                fields.append((name.lower(), value.strip(b" \t")))
            if not _VALUE.fullmatch(value):
                self._break("field_value", line)
        return fields

    def _of_interim(self, fields: _Fields) -> None:
        for name, value in fields:
            if name in _FRAMING:
                self._break("interim_response", name + b": " + value)

    def once(self, fields: _Fields) -> None:
        """Fields that hold one value."""
        for name in _ONCE:
            values = _values(fields, name)
            if len(values) > 1:
                self._break("repeated_field", name + b": " + b" and ".join(values))

    def _framing(self, status: int, fields: _Fields, *, old: bool) -> bool:
        """Whether the body comes in chunks, as a client reads it."""
        lengths = _values(fields, _LENGTH)
        listed = b", ".join(_values(fields, _CODING)).lower()
        codings = [coding.strip(b" \t") for coding in listed.split(b",") if coding.strip(b" \t")]
        if len(lengths) > 1 or (lengths and not _DIGITS.fullmatch(lengths[0])):
            self._break("content_length", b" and ".join(lengths))
        if lengths and (codings or status == _NO_CONTENT):
            self._break("content_length_not_allowed", lengths[0])
        if codings and (
            old
            or status == _NO_CONTENT
            or b"chunked" in codings[:-1]
            or any(coding.partition(b";")[0].rstrip() not in self._codings for coding in codings)
        ):
            self._break("transfer_coding", listed)
        bodiless = status in (_NO_CONTENT, _NOT_MODIFIED)
        return bool(codings) and codings[-1] == b"chunked" and not bodiless

    def _chunks(self, data: bytes, at: int) -> None:
        """The chunks from `at` on, and the trailer section after them."""
        while True:
            line = _CHUNK_LINE.match(data, at)
            if line is None:
                if b"\n" in data[at:] or data[at : at + 1].strip(_HEX):
                    self._break("chunk", data[at : at + _LINE_SHOWN])
                return
            at, size = line.end(), int(line[1], 16)
            if not size:
                break
            at += size
            end = data[at : at + 2]
            if not b"\r\n".startswith(end):
                self._break("chunk", end)
            if end != b"\r\n":
                return
            at += 2
        self._trailers(data, at)

    def _trailers(self, data: bytes, at: int) -> None:
        if at == len(data):
            self._break("chunk", b"0\r\n")  # what ends the trailer section never came
            return
        end = _TRAILER_END.search(data, at - 1, at + _LONGEST_HEAD)
        lines = self._lines(data[at : end.end()]) if end else []
        for name, value in self._fields([line for line in lines if line]):
            if name in _FRAMING:
                self._break("content_length_not_allowed", name + b": " + value)

    def _break(self, rule: HttpRule, shown: bytes) -> None:
        self.broken.setdefault(rule, InvalidHttp(rule, excerpt(shown, _LINE_SHOWN)))


def _begins(data: bytes, at: int) -> bool:
    """Whether a status line begins at `at`, as far as the bytes go."""
    return _BEGINNING.startswith(data[at : at + len(_BEGINNING)])


def _values(fields: _Fields, name: bytes) -> list[bytes]:
    return [value for key, value in fields if key == name]
