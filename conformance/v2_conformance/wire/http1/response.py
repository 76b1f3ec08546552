"""Reads HTTP/1.1 responses with h11, from the same raw bytes that a exchange keeps.

Plain ones are read without it, with the same result: see `plain_head`.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO

import h11
from msgspec.structs import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.wire.http1.plain_head import PlainResponse, plain_response
from v2_conformance.wire.http1.small_chunks import SmallChunks
from v2_conformance.wire.http1.tolerance import tolerated
from v2_conformance.wire.response import Ending, Limits, Response

_MAX_INFORMATIONAL = 50
# A server may well write each element of a tensor as a chunk, but not each character. With more, a
# long tensor of four-byte elements would not fit into what is read (Limits.response_to).
_A_CHUNK = 6
# h11 reads a response only after a request; the real one is written by hand.
_REQUEST = h11.Request(method="POST", target="/", headers=[("Host", "x")])
_HEAD_REQUEST = h11.Request(method="HEAD", target="/", headers=[("Host", "x")])
_END = h11.EndOfMessage()


@dataclass
class _Message:
    """A response that is being read; `start` is where its body starts in what came."""

    parser: h11.Connection
    head: h11.Response | None = None
    start: int = 0
    length: int = 0
    excess: int = 0
    informational: int = 0
    chunks: SmallChunks | None = None
    chunked: bytearray | None = None
    whole: bool = False


_BEGINNING = b"HTTP/"


class ResponseReader:
    """Reads the response to a request incrementally; `feed(b"")` says that the peer closed.

    With several `answers` there are as many requests, and it reads a response to each, unless the
    server closes between them, as it may. A `bodiless` response answers a HEAD: it has no body,
    whatever its head says (RFC 9110, section 9.3.2).
    """

    error_ending = Ending.MALFORMED

    def __init__(self, limits: Limits, answers: int = 1, *, bodiless: bool = False) -> None:
        self.raw = bytearray()
        self.done = False
        self.error = ""
        self.eof = False
        self._limits = limits
        self._answers = answers
        self._bodiless = bodiless
        self._plain: PlainResponse | None = None
        self._messages: list[_Message] = []  # what h11 reads
        self._ahead = BytesIO()  # what h11 gets next

    def _message(self) -> _Message:
        parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=self._limits.head)
        parser.send(_HEAD_REQUEST if self._bodiless else _REQUEST)
        parser.send(_END)
        return _Message(parser)

    @property
    def cost(self) -> int:
        """How many bytes came, and 6 more for each chunk, to compare with what an answer needs."""
        return len(self.raw) + _A_CHUNK * sum(
            one.chunks.count for one in self._messages if one.chunks is not None
        )

    @property
    def in_body(self) -> bool:
        """True if the head of the (first) response is there."""
        return self._plain is not None or (
            bool(self._messages) and self._messages[0].head is not None
        )

    @property
    def answered_first(self) -> bool:
        """True if the first of several is complete, and nothing after the last that is."""
        if len(self._messages) < 2:
            return False
        last = self._messages[-1]
        return last.head is None and not last.parser.trailing_data[0] and not self._unread()

    @property
    def reusable(self) -> bool:
        """True if HTTP allows another exchange on the connection."""
        if self._plain is not None:
            return self.done and not self.eof and not self._plain_excess(self._plain)
        if not self._messages:
            return False
        last = self._messages[-1]
        return (
            self.done
            and not self.eof
            and not last.excess
            and len(self._messages) == self._answers
            and last.parser.their_state is h11.DONE
        )

    def feed(self, data: bytes) -> None:
        """Take what arrived. Afterwards look at `done` and `error`."""
        if data:
            first = not self.raw
            self.raw += data
            if first and self._answers == 1 and not self._bodiless:
                self._plain = plain_response(self.raw)
            if self._plain is not None:
                self.done = len(self.raw) >= self._plain.start + self._plain.length
                return
            if not _BEGINNING.startswith(self.raw[: len(_BEGINNING)]):
                # Known at once, although the rest of the line may come late or never (SSH, TLS).
                self.error = f"it begins with {bytes(self.raw[:20])!r}, not with HTTP/"
                return
        else:
            self.eof = True
            if self._plain is not None:
                return
            if self.answered_first:
                self.done = True
                return
        try:
            try:
                self._read(data)
            except h11.RemoteProtocolError:
                if not self._starts_again():
                    raise
        except h11.RemoteProtocolError as error:
            if self.eof:
                return  # cut off, which is not malformed: what came before was in order
            self.error = str(error)
            if error.error_status_hint == 431:  # a head, or a chunk's, that does not end
                self.error_ending = Ending.TOO_LARGE

    def _plain_excess(self, plain: PlainResponse) -> int:
        return max(0, len(self.raw) - plain.start - plain.length)

    def _read(self, data: bytes) -> None:
        """Let h11 read `data`, or that nothing more comes. It gets a head by lines, which shows
        where the head ends.
        """
        if not self._messages:
            self._messages.append(self._message())
        self._ahead = BytesIO(data)
        while not (self.done or self.error):
            current = self._messages[-1]
            piece = self._ahead.readline() if current.head is None else self._ahead.read()
            if not piece:
                break
            if current.chunks is not None:
                piece = current.chunks.joined(piece)
            self._parse(piece)
        if not data:
            if self._messages[-1].chunks is not None:
                self._parse(self._messages[-1].chunks.rest())
            self._messages[-1].parser.receive_data(b"")
            self._take_all()

    def _parse(self, piece: bytes) -> None:
        if piece:  # nothing would say that the peer closed
            self._messages[-1].parser.receive_data(piece)
            self._take_all()

    def _unread(self) -> int:
        return len(self._ahead.getbuffer()) - self._ahead.tell()

    def _take_all(self) -> None:
        while not self.done and self._take(self._messages[-1].parser.next_event()):
            pass

    def _starts_again(self) -> bool:
        """Read what came as tolerant clients do, if that helps."""
        readable = None if self.in_body else tolerated(bytes(self.raw))
        if readable is None:
            return False
        self._messages = [self._message()]
        self._read(readable)
        if self.eof:
            self._read(b"")
        return True

    def _take(self, event: h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]) -> bool:
        if event is h11.NEED_DATA or event is h11.PAUSED:
            return False
        current = self._messages[-1]
        if isinstance(event, h11.InformationalResponse):
            current.informational += 1
            if current.informational > _MAX_INFORMATIONAL:
                self.error = f"more than {_MAX_INFORMATIONAL} informational responses"
                self.error_ending = Ending.TOO_LARGE
                return False
        elif isinstance(event, h11.Response):
            current.head = event
            current.start = len(self.raw) - self._unread() - len(current.parser.trailing_data[0])
            if any(name == b"transfer-encoding" for name, _ in event.headers):
                current.chunks, current.chunked = SmallChunks(self._limits.head), bytearray()
        elif isinstance(event, h11.Data):
            if current.chunked is None:
                current.length += len(event.data)
            else:
                current.chunked += event.data
        elif isinstance(event, h11.EndOfMessage):
            current.whole = True
            rest = current.parser.trailing_data[0]
            last = len(self._messages) == self._answers
            if not last and (current.parser.their_state is h11.DONE or _kept_alive(current.head)):
                self._messages.append(self._message())
                if rest:
                    self._ahead = BytesIO(rest)
                return True
            current.excess = len(rest) + self._unread()
            self.done = True
            return False
        elif isinstance(event, h11.ConnectionClosed):
            return False
        return True

    def response(self) -> Response:
        """The response, as far as it came; its body shares memory with `raw` unless chunked."""
        plain = self._plain
        if plain is not None:
            end = plain.start + plain.length
            body = memoryview(self.raw)[plain.start : end]
            excess = self._plain_excess(plain)
            return Response(
                plain.status, plain.fields, body, "content-length", excess, whole=self.done
            )
        following = None
        for message in reversed(self._messages[1:]):
            if message.whole:
                following = replace(self._response(message), following=following)
        return replace(self._response(self._messages[0]), following=following)

    def _response(self, message: _Message) -> Response:
        if message.head is None:
            raise ValueError("the response has no head yet")
        headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in message.head.headers
        )
        names = {name for name, _ in headers}
        body: Buffer
        if message.chunked is not None:
            body, framing = message.chunked, "chunked"
        else:
            body = memoryview(self.raw)[message.start : message.start + message.length]
            framing = "content-length" if "content-length" in names else "close"
        status = message.head.status_code
        return Response(status, headers, body, framing, message.excess, message.whole)


def _kept_alive(head: h11.Response | None) -> bool:
    """Return True if an HTTP/1.0 response says that others may follow it (RFC 9112,
    section 9.3).
    """
    if head is None or head.http_version != b"1.0":
        return False
    values = [value for name, value in head.headers if name == b"connection"]
    options = {option.strip(b" \t") for option in b",".join(values).lower().split(b",")}
    kept = b"keep-alive" in options and b"close" not in options
    return kept and any(name == b"content-length" for name, _ in head.headers)


def asks_for_no_body(request: Buffer) -> bool:
    """Return True if the response to these bytes has no body: to a HEAD."""
    return bytes(request[:5]) == b"HEAD "


def read_again(
    received: Buffer, ending: Ending, answers: int = 1, *, request: Buffer = b""
) -> Response | None:
    """Return the response in the recorded bytes of an exchange, just as the connection read it.

    `answers` is how many requests the exchange had, `request` the bytes of the first.

    Returns None if its head is incomplete, or if the response is although the exchange is COMPLETE.
    """
    reader = ResponseReader(Limits(), answers, bodiless=asks_for_no_body(request))
    reader.feed(bytes(received))
    if ending is Ending.COMPLETE:
        if not reader.done:
            reader.feed(b"")
        return reader.response() if reader.done else None
    return reader.response() if reader.in_body else None
