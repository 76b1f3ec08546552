"""HTTP/1.1 over a plain or TLS socket: a request's bytes are sent exactly as given.

No HTTP library stands between the caller and the request's bytes, and the response is read from the
raw bytes that the transcript keeps. What a server sends is bounded in time and in size.
"""

from __future__ import annotations

import re
import socket
import struct
import time
from dataclasses import dataclass

import msgspec

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.wire.http1.exchange import RECEIVE, SocketExchange
from v2_conformance.wire.http1.request import asks_to_close
from v2_conformance.wire.obstacle import obstacle_of
from v2_conformance.wire.sockets import Opener, SocketAddress, ready, reason_of
from v2_conformance.wire.tls import TlsSocket
from v2_conformance.wire.transcript import Ending, Limits, Transcript, as_recorded
from v2_conformance.wire.transport import Connection, Parting, Request

_MOMENT_S = 1.0
_SENT_AHEAD = 64 * 1024  # a longer request waits until its answer is read as well
# Servers may send it unasked when they close an idle connection (RFC 9110, section 15.5.9).
_IDLE_TOO_LONG = re.compile(rb"HTTP/1\.[01] 408 ")
_NO_LINGER = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Http1Transport:
    """See transport.Transport."""

    address: SocketAddress
    limits: Limits

    def connection(self) -> Connection:
        """See transport.Transport."""
        return Http1Connection(self.address, self.limits)


class Http1Connection:
    """See transport.Connection."""

    def __init__(self, address: SocketAddress, limits: Limits) -> None:
        self._opener = Opener(address, limits.connect_s)
        self._limits = limits
        self._socket: socket.socket | None = None
        self._kept_at: float | None = None  # when it was left open, for either side to use again
        self._closed_before_s: float | None = None
        self._stray = 0  # bytes that came while it was left open
        self._begun: _Begun | None = None
        self._is_timed = False  # whether the kernel says when bytes come on the open connection

    @property
    def open(self) -> bool:
        """See transport.Connection."""
        return self._socket is not None and (self._begun is not None or not self._peer_closed())

    def pending(self) -> bool:
        """See transport.Connection."""
        return self._socket is not None and self._begun is None and self._peek() > 0

    def open_ahead(self) -> None:
        """See transport.Connection."""
        self._opener.begin()

    def close(self) -> None:
        """See transport.Connection."""
        self._begun = None
        if self._socket is not None:
            plain = not isinstance(self._socket, TlsSocket)  # TLS cannot peek
            if self._kept_at is not None and plain:
                self._stray = self._count_stray()
                if self._peer_closed():
                    self._closed_before_s = round(time.perf_counter() - self._kept_at, 3)
            self._socket.close()
            self._socket = self._kept_at = None

    def begin(self, request: Request) -> None:
        """See transport.Connection."""
        whole = len(request.http1) == 1 and request.parting is None
        if not whole or len(request.http1[0]) > _SENT_AHEAD:
            return
        if self._is_timed and self._peek() < 0 and self._socket is not None:
            self._begun = self._begin(request, self._socket, time.perf_counter())
            self._begun.current.send_ahead(request.http1[0])

    def exchange(self, request: Request, *, fresh: bool = False) -> Transcript:
        """See transport.Connection. A pause between writes ends as soon as the server answers."""
        begun, self._begun = self._begun, None
        if begun is not None and begun.request is request and not fresh:
            begun.current.resume()
            return self._finish(begun)
        if begun is not None:
            self.close()
        started = time.perf_counter()
        if fresh or not self.open:
            self.close()
        try:
            sock = self._socket or self._opener.opened()
        except (OSError, UnicodeError) as error:  # a host name may be invalid in DNS
            return _refused(request, error)
        return self._finish(self._begin(request, sock, started))

    def _begin(self, request: Request, sock: socket.socket, started: float) -> _Begun:
        """Begin an exchange on `sock`, on which nothing has been sent."""
        usual = self._limits.exchange_s
        limit = usual if request.limit_s is None else min(request.limit_s, usual)
        deadline = started + (limit if request.parting is None else min(limit, _MOMENT_S))
        data = request.data
        current = SocketExchange(sock, self._limits, started, deadline, data, request.answers)
        begun = _Begun(
            request,
            data,
            started,
            limit if limit < usual else None,
            self._socket is not None,
            self._kept_at,
            self._closed_before_s,
            self._stray,
            current,
        )
        self._socket = sock
        self._kept_at = self._closed_before_s = None
        self._stray = 0
        return begun

    def _finish(self, begun: _Begun) -> Transcript:
        """Send the rest, read the response, and keep the connection or close it."""
        request, current = begun.request, begun.current
        ending, detail = current.run(request)
        if ending is Ending.LEFT:
            current.forget()
        reader, first = current.reader, current.first_byte
        whole = ending is Ending.COMPLETE and current.sent == request.size
        # After its half-close a client can send no other request, and after it asked the server to
        # close the connection it must not (RFC 9112, section 9.6).
        last = request.parting is Parting.HALF_CLOSES or asks_to_close(begun.data)
        keep = whole and reader.reusable and not last
        ended = time.perf_counter()
        if request.parting is Parting.RESETS and self._socket is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self._is_timed = current.last_byte is not None
        if not keep:
            self.close()
        elif request.parting is None:
            self._kept_at = ended
        closed_before_s = begun.closed_before_s
        lost = ending in (Ending.CLOSED, Ending.RESET) and not reader.raw
        if begun.kept_at is not None and lost:
            closed_before_s = round(begun.started - begun.kept_at, 3)
            self._closed_before_s = closed_before_s  # this one is not an answer, and may be dropped
        if ending is Ending.COMPLETE and current.last_byte is not None:
            ended = current.last_byte
        return Transcript(
            begun.data,
            current.sent,
            bytes(reader.raw) if len(reader.raw) < RECEIVE else reader.raw,
            ending,
            detail,
            begun.reused,
            keep,
            None if first is None else as_recorded(first - begun.started),
            as_recorded(ended - begun.started),
            tuple(len(piece) for piece in request.http1),
            as_recorded(request.pause_s) if len(request.http1) > 1 else 0.0,
            closed_before_s,
            begun.stray,
            request.answers,
            reader.response() if reader.in_body else None,
            begun.shortened_s,
            current.obstacle,
        )

    def _peek(self) -> int:
        """Return the number of waiting bytes: -1 none, 0 closed. TLS cannot peek: any record counts
        as closed.
        """
        if self._socket is None:
            return -1
        if isinstance(self._socket, TlsSocket):
            return 0 if ready(self._socket, write=False, timeout=0)[0] else -1
        try:
            return len(self._socket.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return -1
        except OSError:
            return 0

    def _count_stray(self) -> int:
        """Return the number of unsolicited bytes on the plain connection so far."""
        if self._socket is None:
            return 0
        try:
            data = self._socket.recv(RECEIVE, socket.MSG_PEEK)
        except OSError:
            return 0
        return 0 if _IDLE_TOO_LONG.match(data) else len(data)

    def _peer_closed(self) -> bool:
        return self._peek() == 0


class _Begun(msgspec.Struct):
    """A begun exchange, and what was known of its connection: see `Transcript`.

    `kept_at` is since when it had been left open.
    """

    request: Request
    data: Buffer
    started: float
    shortened_s: float | None
    reused: bool
    kept_at: float | None
    closed_before_s: float | None
    stray: int
    current: SocketExchange


def _refused(request: Request, error: OSError | UnicodeError) -> Transcript:
    """Return the transcript of a request for which there is no connection."""
    ending = Ending.TIMEOUT if isinstance(error, TimeoutError) else Ending.REFUSED
    return Transcript(
        request.data,
        0,
        b"",
        ending,
        reason_of(error),
        obstacle=obstacle_of(error),
    )
