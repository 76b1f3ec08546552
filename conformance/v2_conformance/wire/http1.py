"""HTTP/1.1 over a plain or TLS socket: a request's bytes go out exactly as given.

No HTTP library stands between the caller and the request's bytes, and the response is read from the
raw bytes that the transcript keeps. What a server sends is bounded in time and in size.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import socket
import ssl
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.wire.endpoint_bindings import BoundConnection, EndpointBinding
from v2_conformance.wire.http1_request import asks_to_close
from v2_conformance.wire.http1_response import ResponseReader
from v2_conformance.wire.obstacle import Obstacle, obstacle_of, speaks_tls
from v2_conformance.wire.pace import Pace
from v2_conformance.wire.sockets import Endpoint, Opener, ready, reason_of
from v2_conformance.wire.streamed import Streamed, StreamedTensor
from v2_conformance.wire.streamed_response import StreamedReader, beginning_of, nothing_streamed
from v2_conformance.wire.transcript import Ending, Limits, Response, Transcript, as_recorded
from v2_conformance.wire.transport import Connection, Parting, Request

_RECEIVE = 256 * 1024
_MOMENT_S = 1.0
_READS_NOTHING = (Parting.LEAVES, Parting.RESETS)
# Sent unasked by servers that end an idle connection, as they may (RFC 9110, section 15.5.9).
_IDLE_TOO_LONG = re.compile(rb"HTTP/1\.[01] 408 ")
_NO_LINGER = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Http1Transport:
    """See transport.Transport. Each exchange waits for its turn at a `pace`, if there is one.

    Responses of an endpoint with a `binding` are read as those of a V2 server.
    """

    endpoint: Endpoint
    limits: Limits
    pace: Pace | None = None
    binding: EndpointBinding | None = None

    def connection(self) -> Connection:
        """See transport.Transport."""
        connection = Http1Connection(self.endpoint, self.limits, self.pace)
        return connection if self.binding is None else BoundConnection(connection, self.binding)


class Http1Connection:
    """See transport.Connection."""

    def __init__(self, endpoint: Endpoint, limits: Limits, pace: Pace | None = None) -> None:
        self._opener = Opener(endpoint, limits.connect_s)
        self._limits = limits
        self._pace = pace
        self._socket: socket.socket | None = None
        self._kept_at: float | None = None  # when it was left open, for either side to use again
        self._closed_before_s: float | None = None
        self._stray = 0  # bytes that came while it was left open

    @property
    def open(self) -> bool:
        """See transport.Connection."""
        return self._socket is not None and not self._peer_closed()

    def pending(self) -> bool:
        """See transport.Connection."""
        return self._socket is not None and self._peek() > 0

    def open_ahead(self) -> None:
        """See transport.Connection."""
        self._opener.begin()

    def close(self) -> None:
        """See transport.Connection."""
        if self._socket is not None:
            plain = not isinstance(self._socket, ssl.SSLSocket)  # TLS cannot peek
            if self._kept_at is not None and plain:
                self._stray = self._count_stray()
                if self._peer_closed():
                    self._closed_before_s = round(time.perf_counter() - self._kept_at, 3)
            self._socket.close()
            self._socket = self._kept_at = None

    def exchange(self, request: Request, *, fresh: bool = False) -> Transcript:
        """See transport.Connection. A pause between writes ends as soon as the server answers."""
        if self._pace is not None:
            self._pace.wait()
        started = time.perf_counter()
        tensor = request.streamed
        usual = self._limits.exchange_with(0 if tensor is None else tensor.size)
        limit = usual if request.limit_s is None else min(request.limit_s, usual)
        deadline = started + (limit if request.parting is None else min(limit, _MOMENT_S))
        pieces = request.http1
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if fresh or not self.open:
            self.close()
        closed_before_s, self._closed_before_s = self._closed_before_s, None
        stray, self._stray = self._stray, 0
        kept_at, self._kept_at = self._kept_at, None
        reused = self._socket is not None
        try:
            sock = self._socket or self._opener.opened()
        except (OSError, UnicodeError) as error:  # a host name can be one that no DNS can hold
            ending = Ending.TIMEOUT if isinstance(error, TimeoutError) else Ending.REFUSED
            self._closed_before_s, self._stray = closed_before_s, stray
            found = obstacle_of(error)
            return Transcript(
                data,
                0,
                b"",
                ending,
                reason_of(error),
                obstacle=found,
                streamed=None if tensor is None else nothing_streamed(tensor),
            )
        self._socket = sock
        current = _Exchange(sock, self._limits, deadline, len(data), request.answers, tensor)
        ending, detail = current.run(pieces, request.pause_s, request.parting)
        if ending is Ending.LEFT:
            current.forget()
        reader, first = current.reader, current.first_byte
        whole = ending is Ending.COMPLETE and current.sent == request.size
        streamed = current.streamed()
        # After its half-close a client can send no other request.
        keep = whole and reader.reusable and request.parting is not Parting.HALF_CLOSES
        if request.parting is Parting.RESETS:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        if not keep:
            self.close()
        elif request.parting is None and not asks_to_close(data):
            self._kept_at = time.perf_counter()
        if kept_at is not None and ending in (Ending.CLOSED, Ending.RESET) and not reader.raw:
            self._closed_before_s = round(started - kept_at, 3)
        return Transcript(
            data,
            current.sent,
            bytes(reader.raw) if len(reader.raw) < _RECEIVE else reader.raw,
            ending,
            detail,
            reused,
            keep,
            None if first is None else as_recorded(first - started),
            as_recorded(time.perf_counter() - started),
            tuple(len(piece) for piece in pieces),
            as_recorded(request.pause_s) if len(pieces) > 1 else 0.0,
            closed_before_s,
            stray,
            request.answers,
            current.response(streamed, ending),
            limit if limit < usual else None,
            current.obstacle,
            streamed=streamed,
        )

    def _peek(self) -> int:
        """Bytes waiting: -1 none, 0 closed. TLS cannot peek: any record counts as closed."""
        if self._socket is None:
            return -1
        if isinstance(self._socket, ssl.SSLSocket):
            return 0 if ready(self._socket, write=False, timeout=0)[0] else -1
        try:
            return len(self._socket.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return -1
        except OSError:
            return 0

    def _count_stray(self) -> int:
        """Bytes on the plain connection that no request asked for, as far as they are there."""
        if self._socket is None:
            return 0
        try:
            data = self._socket.recv(_RECEIVE, socket.MSG_PEEK)
        except OSError:
            return 0
        return 0 if _IDLE_TOO_LONG.match(data) else len(data)

    def _peer_closed(self) -> bool:
        return self._peek() == 0


class _Exchange:
    """The state of one exchange on one socket."""

    def __init__(
        self,
        sock: socket.socket,
        limits: Limits,
        deadline: float,
        request: int,
        answers: int,
        tensor: StreamedTensor | None = None,
    ) -> None:
        self._sock = sock
        self._answers = answers
        self._tensor = tensor
        self._digest = hashlib.sha256()  # of what was sent of the tensor
        self._limits = limits
        self._deadline = deadline
        self._limit = limits.response_to(request)
        self.sent = 0
        self.first_byte: float | None = None
        self._failed: OSError | None = None

    @property
    def obstacle(self) -> Obstacle | None:
        """What TLS says of a connection that failed, or its absence of one to plain HTTP."""
        if self._failed is not None:
            return obstacle_of(self._failed)
        plain = not isinstance(self._sock, ssl.SSLSocket)
        return Obstacle.ONLY_TLS if plain and speaks_tls(bytes(self.reader.raw[:2])) else None

    @cached_property
    def reader(self) -> ResponseReader:
        """What came. It is made once the request is on its way, while the server works."""
        if self._tensor is not None:
            return StreamedReader(self._limits, self._tensor)
        return ResponseReader(self._limits, self._answers)

    def streamed(self) -> Streamed | None:
        """What there is to say of a tensor that is not kept, once the exchange has ended."""
        if self._tensor is None or not isinstance(self.reader, StreamedReader):
            return None
        return self.reader.streamed(self._tensor.size, self._digest.hexdigest())

    def response(self, streamed: Streamed | None, ending: Ending) -> Response | None:
        """The response as far as it came, or as far as it is kept."""
        if streamed is not None:
            return beginning_of(self.reader.raw, streamed, ending)
        return self.reader.response() if self.reader.in_body else None

    def forget(self) -> None:
        """Keep nothing of what came: a client that leaves reads nothing, and what comes before it
        does, while it sends, is a matter of chance."""
        self.__dict__.pop("reader", None)
        self.first_byte = None

    def run(
        self, pieces: Sequence[Buffer], pause_s: float, parting: Parting | None
    ) -> tuple[Ending, str]:
        """Write `pieces` and read the response: how it ended, and more about that in words."""
        detail = ""
        try:
            for number, piece in enumerate(pieces):
                if number and pause_s and self._wait(write=False, at_most=pause_s)[0]:
                    self._receive()
                    if self._ended():
                        break
                if not self._send(memoryview(piece)):
                    break
            else:
                self._send_tensor()
        except TimeoutError:
            return Ending.TIMEOUT, "the server stopped reading the request"
        except OSError as error:
            self._failed = error
            detail = reason_of(error)  # a server may answer, close, and leave the rest unread
        if parting in _READS_NOTHING:
            return Ending.LEFT, detail
        if parting is Parting.HALF_CLOSES:
            with contextlib.suppress(OSError):
                # Not SSLSocket's own, which drops TLS: what comes would be read encrypted.
                socket.socket.shutdown(self._sock, socket.SHUT_WR)
        try:
            while not self._ended():
                if self._receive() or self._wait(write=False)[0] or self._ended():
                    continue
                return Ending.TIMEOUT, "no complete response in time"
        except OSError as error:
            if not self.reader.answered_first:
                self._failed = error
                return Ending.RESET, reason_of(error)
            self.reader.feed(b"")  # to one of two requests, which is all that it had to answer
        if self.reader.error:
            return self.reader.error_ending, self.reader.error
        if self.reader.done:
            return Ending.COMPLETE, ""
        if len(self.reader.raw) > self._limit:
            return Ending.TOO_LARGE, f"the response goes on past {self._limit} bytes"
        return Ending.CLOSED, detail or "the server closed the connection"

    def _ended(self) -> bool:
        reader = self.reader
        return reader.done or reader.eof or bool(reader.error) or len(reader.raw) > self._limit

    def _send(self, data: memoryview) -> bool:
        """Send all of `data`; False if the response ended first."""
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

    def _send_tensor(self) -> None:
        """Send what is not kept, block by block, for as long as the server says nothing final."""
        for block in () if self._tensor is None else self._tensor.blocks():
            # A server that refuses the rest may close, which can void an answer that nobody reads.
            if ready(self._sock, write=False, timeout=0)[0]:
                self._receive()
            before = self.sent
            try:
                if self._ended() or not self._send(block):
                    return
            finally:
                self._digest.update(block[: self.sent - before])

    def _receive(self) -> bool:
        """Take what has arrived. False if nothing has, or if time is up."""
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
        return ready(self._sock, write=write, timeout=left)
