"""Reads HTTP/1.1 responses with h11, from the same raw bytes that a transcript keeps."""

from __future__ import annotations

import re

import h11

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.wire.transcript import Ending, Limits, Response

_MAX_INFORMATIONAL = 50
# h11 reads a response only after a request; the true one is written by hand.
_REQUEST = h11.Request(method="POST", target="/", headers=[("Host", "x")])
_END = h11.EndOfMessage()
_SPACE_BEFORE_COLON = re.compile(rb"(?m)^([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]+:")


class ResponseReader:
    """Reads one response incrementally; `feed(b"")` says that the peer closed."""

    error_ending = Ending.MALFORMED

    def __init__(self, limits: Limits) -> None:
        self.raw = bytearray()
        self.done = False
        self.error = ""
        self.eof = False
        self._limits = limits
        self._head: h11.Response | None = None
        self._start = self._length = self._excess = self._informational = 0
        self._chunked_body: bytearray | None = None
        self._parser = _parser(limits)

    @property
    def in_body(self) -> bool:
        """Whether the response's head is there."""
        return self._head is not None

    @property
    def reusable(self) -> bool:
        """Whether HTTP allows another exchange on the connection."""
        return (
            self.done and not self.eof and not self._excess and self._parser.their_state is h11.DONE
        )

    def feed(self, data: bytes) -> None:
        """Take what arrived. Afterwards look at `done` and `error`."""
        if data:
            self.raw += data
        else:
            self.eof = True
        try:
            try:
                self._read(data)
            except h11.RemoteProtocolError:
                if not self._starts_again():
                    raise
        except h11.RemoteProtocolError as error:
            if self.eof:
                return  # cut off, which is not the same as malformed: what came before was in order
            self.error = str(error)
            if error.error_status_hint == 431:  # a head, or a chunk's, that does not end
                self.error_ending = Ending.TOO_LARGE

    def _read(self, data: bytes) -> None:
        self._parser.receive_data(data)
        while not self.done and self._take(self._parser.next_event()):
            pass

    def _starts_again(self) -> bool:
        """Read what came without white space between names of fields and colons, if there is any.

        Many clients do, and one such field must not make every response unreadable (R7).
        """
        head, end, rest = bytes(self.raw).partition(b"\r\n\r\n")
        if self._head is not None or not end or not _SPACE_BEFORE_COLON.search(head):
            return False
        self._informational = 0
        self._parser = _parser(self._limits)
        self._read(_SPACE_BEFORE_COLON.sub(rb"\1:", head) + end + rest)
        if self.eof:
            self._read(b"")
        return True

    def _take(self, event: h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]) -> bool:
        if event is h11.NEED_DATA or event is h11.PAUSED:
            return False
        if isinstance(event, h11.InformationalResponse):
            self._informational += 1
            if self._informational > _MAX_INFORMATIONAL:
                self.error = f"more than {_MAX_INFORMATIONAL} informational responses"
                self.error_ending = Ending.TOO_LARGE
                return False
        elif isinstance(event, h11.Response):
            self._head = event
            self._start = len(self.raw) - len(self._parser.trailing_data[0])
            if any(name == b"transfer-encoding" for name, _ in event.headers):
                self._chunked_body = bytearray()
        elif isinstance(event, h11.Data):
            if self._chunked_body is None:
                self._length += len(event.data)
            else:
                self._chunked_body += event.data
        elif isinstance(event, h11.EndOfMessage):
            self._excess = len(self._parser.trailing_data[0])
            self.done = True
            return False
        elif isinstance(event, h11.ConnectionClosed):
            return False
        return True

    def response(self) -> Response:
        """The response, as far as it came; its body shares memory with `raw` unless chunked."""
        if self._head is None:
            raise ValueError("the response has no head yet")
        headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in self._head.headers
        )
        names = {name for name, _ in headers}
        body: Buffer
        if self._chunked_body is not None:
            body, framing = self._chunked_body, "chunked"
        else:
            body = memoryview(self.raw)[self._start : self._start + self._length]
            framing = "content-length" if "content-length" in names else "close"
        return Response(self._head.status_code, headers, body, framing, self._excess)


def _parser(limits: Limits) -> h11.Connection:
    parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=limits.head)
    parser.send(_REQUEST)
    parser.send(_END)
    return parser


def read_again(received: Buffer, ending: Ending) -> Response | None:
    """The response in the recorded bytes of an exchange, just as the connection read it.

    None if its head is not whole, or if it is not whole itself although the exchange is COMPLETE.
    """
    reader = ResponseReader(Limits())
    reader.feed(bytes(received))
    if ending is Ending.COMPLETE:
        if not reader.done:
            reader.feed(b"")
        return reader.response() if reader.done else None
    return reader.response() if reader.in_body else None
