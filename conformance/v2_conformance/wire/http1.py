"""One HTTP/1.1 exchange exactly as told, over a plain or TLS socket, and its Transcript.

No HTTP library stands between the caller and the request's bytes. Responses are parsed by h11, from
the same raw bytes that the transcript keeps, so a recorded exchange is read again the same way.
What a server sends is bounded in time (one deadline for the exchange) and in size.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import h11

from v2_conformance.protocol.datatypes import Buffer

_RECEIVE = 256 * 1024
_MAX_INFORMATIONAL = 50
# h11 reads a response only after a request; the true one goes out by hand.
_REQUEST = h11.Request(method="POST", target="/", headers=[("Host", "x")])
_END = h11.EndOfMessage()

# How an exchange can end.
COMPLETE = "complete"  # one whole response
CLOSED = "closed"  # the connection was closed or reset before a whole response
REFUSED = "refused"  # no connection
TIMEOUT = "timeout"
TOO_LARGE = "too-large"
MALFORMED = "malformed"  # not HTTP

# No JSON takes more bytes for a tensor, for each of its own; indented booleans come nearest.
JSON_FACTOR = 32


@dataclass(frozen=True)
class Limits:
    """Bounds on one exchange: seconds for all of it, bytes of its response head and in all."""

    connect_s: float = 10.0
    exchange_s: float = 30.0
    head: int = 64 * 1024
    response: int = 80 * 1024 * 1024

    def response_to(self, request: int) -> int:
        """Bytes that a response to so many may have: JSON of their tensors, and a MiB of words."""
        return min(self.response, JSON_FACTOR * request + 1024 * 1024)


@dataclass(frozen=True)
class Endpoint:
    """Where to connect; `tls` is the context for https."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None


@dataclass(frozen=True)
class Response:
    """A parsed final response. `body` is without transfer coding; `excess` bytes followed it."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: Buffer
    framing: str  # "content-length", "chunked" or "close"
    excess: int

    def values(self, name: str) -> list[str]:
        """Every value of the field `name`, in any letter case (RFC 9110 5.1)."""
        name = name.lower()
        return [value for key, value in self.headers if key == name]

    def value(self, name: str) -> str | None:
        """The first value of the field `name`."""
        return next(iter(self.values(name)), None)


@dataclass(frozen=True)
class Transcript:
    """Every byte of one exchange. `sent` bytes of the request left; times are seconds.

    `pieces` are the lengths of the request's writes, `pause_s` what was waited between them.
    """

    request: Buffer
    sent: int
    received: Buffer
    ending: str
    detail: str = ""
    reused: bool = False
    open: bool = False
    first_byte_s: float | None = None
    duration_s: float = 0.0
    pieces: tuple[int, ...] = ()
    pause_s: float = 0.0
    _response: Response | None = field(default=None, repr=False, compare=False)

    @cached_property
    def response(self) -> Response | None:
        """The response when it arrived whole, else None."""
        if self.ending != COMPLETE:
            return None
        if self._response is not None:
            return self._response
        reader = ResponseReader(Limits())
        reader.feed(bytes(self.received))
        if not reader.done:
            reader.feed(b"")
        return reader.response() if reader.done else None

    @cached_property
    def partial(self) -> Response | None:
        """The head and what came of the body, for a response that was cut off in its body."""
        reader = ResponseReader(Limits())
        reader.feed(bytes(self.received))
        return reader.response() if reader.in_body else None


class ResponseReader:
    """Reads one response incrementally; `feed(b"")` says that the peer closed."""

    def __init__(self, limits: Limits) -> None:
        self.raw = bytearray()
        self.done = False
        self.error = ""
        self.error_ending = MALFORMED
        self.eof = False
        self._limits = limits
        self._head: h11.Response | None = None
        self._start = self._length = self._excess = self._informational = 0
        self._chunked_body: bytearray | None = None
        self._parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=limits.head)
        self._parser.send(_REQUEST)
        self._parser.send(_END)

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
            self._parser.receive_data(data)
            while not self.done and self._take(self._parser.next_event()):
                pass
        except h11.RemoteProtocolError as error:
            if self.eof and (not self.raw or "closed" in str(error).lower()):
                return  # cut off, which is not the same as malformed
            self.error = str(error)
            if error.error_status_hint == 431:  # a head, or a chunk's, that does not end
                self.error_ending = TOO_LARGE

    def _take(self, event: h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]) -> bool:
        if event is h11.NEED_DATA or event is h11.PAUSED:
            return False
        if isinstance(event, h11.InformationalResponse):
            self._informational += 1
            if self._informational > _MAX_INFORMATIONAL:
                self.error = f"more than {_MAX_INFORMATIONAL} informational responses"
                self.error_ending = TOO_LARGE
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


class Connection:
    """A connection to one endpoint, opened when needed and kept while HTTP allows it."""

    def __init__(self, endpoint: Endpoint, limits: Limits) -> None:
        self._endpoint = endpoint
        self.limits = limits
        self._socket: socket.socket | None = None

    @property
    def open(self) -> bool:
        """Whether a kept connection is there and the server has not closed it."""
        return self._socket is not None and not self._peer_closed()

    def pending(self) -> bool:
        """Whether bytes wait on the kept connection that no request asked for."""
        return self._socket is not None and self._peek() > 0

    def close(self) -> None:
        """Close; the next exchange opens a new connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def exchange(
        self, pieces: Sequence[Buffer], *, fresh: bool = False, pause_s: float = 0.0
    ) -> Transcript:
        """Send `pieces`, one write each, and read one response.

        Between pieces it waits `pause_s` seconds, or until the server answers early. Never raises
        for what the network or the server does: the transcript's `ending` says it.
        """
        started = time.perf_counter()
        deadline = started + self.limits.exchange_s
        request = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if fresh or not self.open:
            self.close()
        reused = self._socket is not None
        try:
            sock = self._socket or self._connect()
        except (OSError, UnicodeError) as error:  # a host name can be one that no DNS can hold
            ending = TIMEOUT if isinstance(error, TimeoutError) else REFUSED
            return Transcript(request, 0, b"", ending, _reason(error))
        self._socket = sock
        talk = _Talk(sock, self.limits, deadline, len(request))
        ending, detail = talk.run(pieces, pause_s)
        reader = talk.reader
        keep = ending == COMPLETE and reader.reusable and talk.sent == len(request)
        if not keep:
            self.close()
        return Transcript(
            request,
            talk.sent,
            bytes(reader.raw) if len(reader.raw) < _RECEIVE else reader.raw,
            ending,
            detail,
            reused,
            keep,
            None if talk.first_byte is None else talk.first_byte - started,
            time.perf_counter() - started,
            tuple(len(piece) for piece in pieces),
            pause_s,
            reader.response() if ending == COMPLETE else None,
        )

    def _connect(self) -> socket.socket:
        endpoint = self._endpoint
        raw = socket.create_connection((endpoint.host, endpoint.port), self.limits.connect_s)
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if endpoint.tls is not None:
                raw = endpoint.tls.wrap_socket(raw, server_hostname=endpoint.host)
            raw.setblocking(False)
        except BaseException:
            raw.close()
            raise
        return raw

    def _peek(self) -> int:
        """Bytes waiting: -1 none, 0 closed. TLS cannot peek: any record counts as closed."""
        if self._socket is None:
            return -1
        if isinstance(self._socket, ssl.SSLSocket):
            return 0 if _ready(self._socket, write=False, timeout=0)[0] else -1
        try:
            return len(self._socket.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return -1
        except OSError:
            return 0

    def _peer_closed(self) -> bool:
        return self._peek() == 0


class _Talk:
    """The state of one exchange on one socket."""

    def __init__(self, sock: socket.socket, limits: Limits, deadline: float, request: int) -> None:
        self._sock = sock
        self._limits = limits
        self._deadline = deadline
        self._limit = limits.response_to(request)
        self.sent = 0
        self.first_byte: float | None = None

    @cached_property
    def reader(self) -> ResponseReader:
        """What came. It is made once the request is on its way, while the server works."""
        return ResponseReader(self._limits)

    def run(self, pieces: Sequence[Buffer], pause_s: float) -> tuple[str, str]:
        detail = ""
        try:
            for number, piece in enumerate(pieces):
                if number and pause_s and self._wait(write=False, at_most=pause_s)[0]:
                    self._receive()
                if not self._send(memoryview(piece)):
                    break
        except TimeoutError:
            return TIMEOUT, "the server stopped reading the request"
        except OSError as error:
            detail = _reason(error)  # a server may answer, close, and leave the rest unread
        try:
            while not self._ended():
                if not self._receive() and not self._wait(write=False)[0]:
                    return TIMEOUT, "no complete response in time"
        except OSError as error:
            return CLOSED, _reason(error)
        if self.reader.error:
            return self.reader.error_ending, self.reader.error
        if self.reader.done:
            return COMPLETE, ""
        if len(self.reader.raw) > self._limit:
            return TOO_LARGE, f"the response goes on past {self._limit} bytes"
        return CLOSED, detail or "the server closed the connection"

    def _ended(self) -> bool:
        reader = self.reader
        return reader.done or reader.eof or bool(reader.error) or len(reader.raw) > self._limit

    def _send(self, data: memoryview) -> bool:
        """Send all of `data`; False where the response ended first."""
        while data:
            try:
                count = self._sock.send(data)
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                readable, writable = self._wait(write=True)
                if not (readable or writable):
                    raise TimeoutError from None
                if readable:
                    self._receive()
                    if self._ended():
                        return False
                continue
            self.sent += count
            data = data[count:]
        return True

    def _receive(self) -> bool:
        """Take what is there; False where nothing is yet."""
        try:
            data = self._sock.recv(_RECEIVE)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return False
        if data and self.first_byte is None:
            self.first_byte = time.perf_counter()
        self.reader.feed(data)
        return time.perf_counter() < self._deadline

    def _wait(self, *, write: bool, at_most: float | None = None) -> tuple[bool, bool]:
        left = self._deadline - time.perf_counter()
        if at_most is not None:
            left = min(left, at_most)
        if left <= 0:
            return False, False
        return _ready(self._sock, write=write, timeout=left)


def _ready(sock: socket.socket, *, write: bool, timeout: float) -> tuple[bool, bool]:
    """Whether `sock` can be read, and written, within `timeout` seconds."""
    if isinstance(sock, ssl.SSLSocket) and sock.pending():
        return True, False
    poll = select.poll()
    poll.register(sock, select.POLLIN | (select.POLLOUT if write else 0))
    events = poll.poll(timeout * 1000)
    if not events:
        return False, False
    mask = events[0][1]
    broken = mask & (select.POLLHUP | select.POLLERR | select.POLLNVAL)
    return bool(mask & select.POLLIN or broken), bool(mask & select.POLLOUT)


def _reason(error: OSError | UnicodeError) -> str:
    if isinstance(error, TimeoutError):
        return "no connection in time"
    return (getattr(error, "strerror", None) or str(error)).lower()
