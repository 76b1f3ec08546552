"""One exchange over HTTP/2: a request sent on a stream of its own, and the response to it.

The case's pieces leave as DATA frames. What a server sends is bounded in time and in size: its
answer as with HTTP/1.1, and everything around it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from h2.errors import ErrorCodes
from h2.events import (
    DataReceived,
    Event,
    InformationalResponseReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from h2.exceptions import H2Error

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.http_versions import REFUSED_STREAM, error_name
from v2_conformance.wire.http2.notation import Fields, read_request_head, write_response_head
from v2_conformance.wire.http2.session import Http2Session
from v2_conformance.wire.obstacle import Obstacle, obstacle_of, speaks_http1, speaks_tls
from v2_conformance.wire.sockets import ready, reason_of
from v2_conformance.wire.tls import TlsSocket
from v2_conformance.wire.transcript import Ending, Http2Facts, Limits
from v2_conformance.wire.transport import Parting, Request

_LONGEST_HEAD = 1024 * 1024
_READS_NOTHING = (Parting.LEAVES, Parting.RESETS)
_MAX_INFORMATIONAL = 50
# Limit for the bytes of frames, besides those of the body in them.
_MOST_FRAMING = 1024 * 1024
_MOST_TRAILERS = 100
_LONGEST_TRAILER = 4096


@dataclass(frozen=True)
class SentRequest:
    """A request as it goes out: its fields, the writes of its body, and whether it ends there.

    `head` is the length of its recorded head.
    """

    fields: Fields
    head: int
    body: Sequence[Buffer]
    whole: bool

    @staticmethod
    def of(request: Request, scheme: str) -> SentRequest:
        """Return the fields and writes for `request`, whose first write has the whole head."""
        first, *rest = request.http1
        written = bytes(first[:_LONGEST_HEAD]).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        fields = read_request_head(written, scheme)
        body = [memoryview(first)[len(written) :], *rest]
        claimed = dict(fields).get(b"content-length", b"0")
        size = sum(len(piece) for piece in body)
        return SentRequest(fields, len(written), body, claimed == str(size).encode())


class Http2Exchange:
    """The state of one exchange, on one stream.

    `received` is what came of the response, as it is recorded, and `sent` how many bytes of the
    request left. `reset` is the error code with which the server reset the stream, None if it did
    not; `first_byte` is when the response began, by time.perf_counter().
    """

    def __init__(
        self, session: Http2Session, limits: Limits, deadline: float, request: int
    ) -> None:
        self._session = session
        self._deadline = deadline
        self._limit = limits.response_to(request)
        self._before = session.received
        self._stream = 0
        self._interim = 0
        self._body = 0
        self._failed: OSError | None = None
        self._broken = ""  # breaches of HTTP/2 in the response that h2 does not report
        self._unfinished = True  # True while our side of the stream is open
        self._done = False
        self._left = False
        self._trailers: tuple[tuple[str, str], ...] = ()
        self.received = bytearray()
        self.sent = 0
        self.reset: int | None = None
        self.first_byte: float | None = None

    @property
    def facts(self) -> Http2Facts:
        """The facts that the report keeps about the frames."""
        if self._left:
            return Http2Facts()
        goaway = self._session.goaway
        refused = self.reset == REFUSED_STREAM or self._gone
        return Http2Facts(
            self.reset, None if goaway is None else goaway.code, refused, self._trailers
        )

    @property
    def obstacle(self) -> Obstacle | None:
        """The reason why the server cannot be spoken to, as far as it shows."""
        found = None if self._failed is None else obstacle_of(self._failed)
        if found is not None:
            return found
        if speaks_http1(self._session.beginning):
            return Obstacle.NO_HTTP2
        plain = not isinstance(self._session.socket, TlsSocket)
        return Obstacle.ONLY_TLS if plain and speaks_tls(self._session.beginning) else None

    @property
    def _gone(self) -> bool:
        """True if the server said that it will not process this stream."""
        goaway = self._session.goaway
        return goaway is not None and goaway.last_stream < self._stream and not self._done

    def run(self, request: Request, scheme: str) -> tuple[Ending, str]:
        """Send the request and read the response; return how it ended, and more about that in
        words.
        """
        try:
            if not self._send(SentRequest.of(request, scheme), request.pause_s):
                return Ending.TIMEOUT, "the server stopped reading the request"
        except H2Error as error:  # it left no room for a stream, or for its fields
            return Ending.CLOSED, printable(str(error))
        except OSError as error:
            self._failed = error
        if request.parting in _READS_NOTHING:
            why = self._failed or self._session.unheard
            return Ending.LEFT, "" if why is None else reason_of(why)
        if request.unread_s:
            time.sleep(request.unread_s)
            self._deadline += request.unread_s
        try:
            while not self._ended():
                if not self._receive_until(self._deadline):
                    return Ending.TIMEOUT, "no complete response in time"
        except OSError as error:
            self._failed = error
            if not self._done:
                return Ending.RESET, reason_of(error)
        return self._ending()

    def _ending(self) -> tuple[Ending, str]:
        session = self._session
        if self._done and not self._broken:
            return Ending.COMPLETE, ""
        if self._interim > _MAX_INFORMATIONAL:
            return Ending.TOO_LARGE, f"more than {_MAX_INFORMATIONAL} informational responses"
        if self._too_much():
            return Ending.TOO_LARGE, (
                f"the response is longer than {self._limit} bytes, or its frames take "
                f"{_MOST_FRAMING} more than it needs"
            )
        if self._broken:
            return Ending.MALFORMED, self._broken
        if self.reset is not None:
            return Ending.RESET, f"the server reset the stream: {error_name(self.reset)}"
        if self._gone and session.goaway is not None:
            return Ending.CLOSED, f"the server sent GOAWAY: {error_name(session.goaway.code)}"
        if session.problem:
            return session.problem_ending, printable(session.problem)
        if session.goaway is not None:
            name = error_name(session.goaway.code)
            return Ending.CLOSED, f"the server closed the connection after GOAWAY: {name}"
        return Ending.CLOSED, "the server closed the connection"

    def forget(self) -> None:
        """Discard what arrived: a client that leaves reads nothing, and what arrives while it
        still sends depends on timing.
        """
        self.received.clear()
        self.first_byte = self.reset = None
        self._trailers = ()
        self._left = True

    def released(self) -> bool:
        """End our side of the stream, if it is open. Return whether the connection can be used
        again.
        """
        try:
            if self._unfinished and self._done:
                self._session.h2.reset_stream(self._stream, ErrorCodes.NO_ERROR)
            return self._session.flush()
        except (H2Error, OSError):
            return False

    def _ended(self) -> bool:
        session = self._session
        over = self._done or self.reset is not None or self._gone or bool(self._broken)
        over = over or session.eof or bool(session.problem)
        return over or self._interim > _MAX_INFORMATIONAL or self._too_much()

    def _too_much(self) -> bool:
        framing = self._session.received - self._before - self._body
        return len(self.received) > self._limit or framing > _MOST_FRAMING + self._body

    def _send(self, sent: SentRequest, pause_s: float) -> bool:
        """Send the request, or as much of it as the server wants; return False if time is up."""
        h2 = self._session.h2
        left = sum(len(piece) for piece in sent.body)
        self._stream = h2.get_next_available_stream_id()
        self._unfinished = bool(left) or not sent.whole
        h2.send_headers(self._stream, list(sent.fields), end_stream=not self._unfinished)
        unflushed = sent.head
        for number, piece in enumerate(sent.body):
            if number and pause_s and self._is_answered_within(pause_s):
                return True
            view = memoryview(piece)
            while True:
                # The server may lower its window below what has left: it is negative then.
                room = max(0, h2.local_flow_control_window(self._stream))
                part = view[: min(room, h2.max_outbound_frame_size)]
                view, left = view[len(part) :], left - len(part)
                if len(part):
                    end = sent.whole and not left
                    h2.send_data(self._stream, bytes(part), end_stream=end)
                    self._unfinished = not end
                    unflushed += len(part)
                elif len(view) and not self._receive_until(self._deadline):  # for a window update
                    return False
                if not self._flush():
                    return False
                if self._session.unheard:
                    return True
                self.sent, unflushed = self.sent + unflushed, 0
                if self._ended():
                    return True
                if not len(view):
                    break
        return True

    def _flush(self) -> bool:
        """Send what is pending, and read what has come; return False if time is up. A server may
        answer, close, and leave the rest of a request unread.
        """
        session = self._session
        while not session.flush():
            left = self._deadline - time.perf_counter()
            readable, writable = ready(session.socket, write=True, timeout=max(0.0, left))
            if left <= 0 or not (readable or writable):
                return False
            if readable:
                self._receive()
        if ready(session.socket, write=False, timeout=0)[0]:
            self._receive()
        return True

    def _is_answered_within(self, seconds: float) -> bool:
        """Wait at most this long until the server answers; return whether that ends the exchange.

        Frames about the connection alone, such as SETTINGS, are not an answer. The server gets that
        time back: nobody waited for it.
        """
        began = time.perf_counter()
        until = min(self._deadline, began + seconds)
        while self.first_byte is None and not self._ended() and self._receive_until(until):
            pass
        self._deadline += time.perf_counter() - began
        return self._ended()

    def _receive_until(self, until: float) -> bool:
        """Wait for something to arrive, and take it; return False if nothing arrives in time."""
        session = self._session
        left = until - time.perf_counter()
        if left <= 0:
            return False
        flushed = session.flush()
        readable, writable = ready(session.socket, write=not flushed, timeout=left)
        if readable:
            self._receive()
            session.flush()
        return readable or writable

    def _receive(self) -> None:
        for event in self._session.receive():
            self._take(event)
            if self._interim > _MAX_INFORMATIONAL or self._too_much():
                return  # and the connection is not used again

    def _take(self, event: Event) -> None:
        if getattr(event, "stream_id", None) != self._stream:
            return
        if self._broken and not isinstance(event, StreamReset):
            return  # a body without its head could not be read again
        if isinstance(event, InformationalResponseReceived | ResponseReceived):
            head = write_response_head(event.headers)
            if head is None:
                self._broken = "its status or a header field is not allowed in HTTP/2"
                return
            if self.first_byte is None:
                self.first_byte = time.perf_counter()
            self._interim += isinstance(event, InformationalResponseReceived)
            self.received += head
        elif isinstance(event, DataReceived):
            self._body += len(event.data)
            self.received += event.data
            size = event.flow_controlled_length
            self._session.h2.acknowledge_received_data(size, self._stream)
        elif isinstance(event, TrailersReceived):
            self._trailers = tuple(_shown(event.headers))
        elif isinstance(event, StreamEnded):
            self._done = True
        elif isinstance(event, StreamReset) and not self._done:
            self.reset = int(event.error_code)


def _shown(fields: Sequence[tuple[bytes, bytes]]) -> Iterator[tuple[str, str]]:
    """Return trailer fields as a report can have them."""
    for name, value in fields[:_MOST_TRAILERS]:
        words = (name[:_LONGEST_TRAILER].decode("latin-1"), value.decode("latin-1"))
        yield printable(words[0], _LONGEST_TRAILER), printable(words[1], _LONGEST_TRAILER)
