"""Finds the rules of HTTP/1.1 (RFC 9112) that the recorded bytes of a response break. Pure.

The suite reads responses more tolerantly, as clients do: a server may get away with a bare LF,
until a proxy or a stricter client stands between. Only field values that frame the message are
judged. After a breach the rest is read as a tolerant client would, so that one defect breaks one
rule.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import HEADER_LENGTH, TOKEN
from v2_conformance.suite.causes.base import excerpt
from v2_conformance.suite.causes.kinds import HttpRule, InvalidHttp
from v2_conformance.wire.messages import Chunk, Head, Section, read_chunks, read_head

_BEGINNING = b"HTTP/"
_OLD = b"HTTP/1.0 "
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] [1-5][0-9][0-9] [\t -~\x80-\xff]*")
_TOKEN = re.compile(TOKEN.encode())
_VALUE = re.compile(rb"[\t -~\x80-\xff]*")
_DIGITS = re.compile(rb"[0-9]+")
_CHUNK_LINE = re.compile(rb"[0-9A-Fa-f]{1,20}(?:;[\t -~\x80-\xff]*)?\r\n")
_LINE_END = b"\r\n"
_HEX = b"0123456789ABCDEFabcdef"
_LINE_SHOWN = 80
_SWITCHING_PROTOCOLS = 101
_NO_CONTENT = 204
_NOT_MODIFIED = 304
_LENGTH = b"content-length"
_CODING = b"transfer-encoding"
_FRAMING = (_LENGTH, _CODING)
# Fields that hold one value, and by which a client knows the body's type or finds its tensors.
_ONCE = (b"content-type", HEADER_LENGTH.lower().encode())

_Fields = Sequence[tuple[bytes, bytes]]


class Syntax:
    """The first violation of each rule (`broken`) in the bytes of a response, as far as they came.

    `judged` says whether there is a whole head. `offered` are the transfer codings that the client
    takes besides chunked. An `old_client` speaks HTTP/1.0 and takes none (RFC 9112, section 6.1);
    how chunks for it look is not judged. Neither are bytes after the end of the response, which are
    C5's, and all after the head of a `bodiless` response, to a HEAD.
    """

    def __init__(
        self,
        received: Buffer,
        *,
        offered: Collection[bytes] = (),
        old_client: bool = False,
        bodiless: bool = False,
    ) -> None:
        self._codings = {b"chunked", *offered}
        self._old_client = old_client
        self._bodiless = bodiless
        self._broken: dict[HttpRule, InvalidHttp] = {}
        self._interim = False
        self.judged = False
        self._message(bytes(received))
        self.broken = tuple(self._broken.values())

    def _message(self, data: bytes) -> None:
        at = self._beginning(data)
        while True:
            if self._interim and not _begins(data, at):
                self._break("interim_response", data[at : at + _LINE_SHOWN])
                return
            head = read_head(data, at)
            if not head.whole:
                return
            at = head.end
            self.judged = True
            self._line_ends(head)
            status = self._status(head)
            self._field_lines(head)
            if status is None or status == _SWITCHING_PROTOCOLS:
                return  # another protocol or something unknown follows
            fields = [(one.name, one.value) for one in head.fields]
            if status >= 200:
                break
            for name, value in fields:
                if name in _FRAMING:
                    self._break("interim_response", name + b": " + value)
        for name in _ONCE:
            values = _values(fields, name)
            if len(values) > 1:
                self._break("repeated_field", name + b": " + b" and ".join(values))
        old = self._old_client or head.first.startswith(_OLD)
        chunked = self._framing(status, fields, old=old)
        if chunked and not self._old_client and not self._bodiless:
            self._chunks(data, at)

    def _beginning(self, data: bytes) -> int:
        """Return where the status line starts; anything before it breaks its rule."""
        if _begins(data, 0):
            return 0
        self._break("status_line", data[:_LINE_SHOWN])
        start = len(data) - len(data.lstrip(b"\r\n"))
        return start if _begins(data, start) else len(data)

    def _line_ends(self, section: Section) -> None:
        bare = bare_line(section)
        if bare is not None:
            self._break("line_end", bare)

    def _status(self, head: Head) -> int | None:
        if not _STATUS_LINE.fullmatch(head.first):
            self._break("status_line", head.first)
        if head.is_interim:
            self._interim = True
            if head.status == _SWITCHING_PROTOCOLS or self._old_client:
                self._break("interim_response", head.first)
        return None if head.status is None or head.status < 100 else head.status

    def _field_lines(self, section: Section) -> None:
        for line in (line for one in section.fields for line in one.lines):
            if line[:1] in (b" ", b"\t"):
                self._break("folded_line", line)
                value = line
            else:
                name, colon, value = line.partition(b":")
                if colon and name.endswith((b" ", b"\t")):
                    self._break("space_before_colon", line)
                    name = name.rstrip(b" \t")
                if not colon or not _TOKEN.fullmatch(name):
                    self._break("field_name", line)
            if not _VALUE.fullmatch(value):
                self._break("field_value", line)

    def _framing(self, status: int, fields: _Fields, *, old: bool) -> bool:
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
            where = b" in the answer to an HTTP/1.0 request" if self._old_client else b""
            self._break("transfer_coding", listed + where)
        bodiless = status in (_NO_CONTENT, _NOT_MODIFIED)
        return bool(codings) and codings[-1] == b"chunked" and not bodiless

    def _chunks(self, data: bytes, at: int) -> None:
        """Read the chunks from `at` on, and the trailer section after them."""
        for chunk in read_chunks(data, at):
            wrong = wrong_in_chunk(data, chunk)
            if wrong is not None:
                shown = _LINE_SHOWN if wrong == chunk.start else len(_LINE_END)
                self._break("chunk", data[wrong : wrong + shown])
            if wrong is not None or (chunk.size and not chunk.whole):
                return
        if chunk.size == 0:
            self._trailers(Section(data, chunk.data, chunk.end, chunk.whole))

    def _trailers(self, section: Section) -> None:
        if section.start == len(section.data):
            self._break("chunk", b"0\r\n")  # the end of the trailer section never came
        if not section.whole:
            return
        self._line_ends(section)
        self._field_lines(section)
        for name, value, _ in section.fields:
            if name in _FRAMING:
                self._break("content_length_not_allowed", name + b": " + value)

    def _break(self, rule: HttpRule, shown: bytes) -> None:
        self._broken.setdefault(rule, InvalidHttp(rule, excerpt(shown, _LINE_SHOWN)))


def bare_line(section: Section) -> bytes | None:
    """Return the first line of a section that ends with LF alone, which no sender may write (RFC
    9112, section 2.2); None if there is none.
    """
    return next((line for line in section.ended_lines if not line.endswith(b"\r")), None)


def wrong_in_chunk(data: bytes, chunk: Chunk) -> int | None:
    """Return where a chunk breaks the rules for senders (RFC 9112, section 7.1), as far as it came;
    None if it breaks none.
    """
    if chunk.size is None:
        cut_off = b"\n" not in data[chunk.start :] and not data[chunk.start :][:1].strip(_HEX)
        return None if cut_off else chunk.start
    if not _CHUNK_LINE.fullmatch(data, chunk.start, chunk.data):
        return chunk.start
    ends = not chunk.size or _LINE_END.startswith(data[chunk.end : chunk.end + len(_LINE_END)])
    return None if ends else chunk.end


def _begins(data: bytes, at: int) -> bool:
    return _BEGINNING.startswith(data[at : at + len(_BEGINNING)])


def _values(fields: _Fields, name: bytes) -> list[bytes]:
    return [value for key, value in fields if key == name]
