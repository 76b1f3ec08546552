"""HTTP/2 over a plain socket, by prior knowledge, or over TLS, where ALPN must choose it.

One stream at a time (see `exchange`): this tests the server's answer, not its multiplexing.
Exchanges are recorded as `notation` says; frames are not.
"""

from __future__ import annotations

import socket
import ssl
import time
from dataclasses import dataclass

from v2_conformance.wire.http2.exchange import Http2Exchange
from v2_conformance.wire.http2.notation import read_response
from v2_conformance.wire.http2.session import PROTOCOL, Http2Session
from v2_conformance.wire.obstacle import Obstacle, obstacle_of
from v2_conformance.wire.pace import Pace
from v2_conformance.wire.sockets import Opener, SocketAddress, ready, reason_of
from v2_conformance.wire.tls import TlsSocket
from v2_conformance.wire.transcript import Ending, Http2Facts, Limits, Transcript, as_recorded
from v2_conformance.wire.transport import Parting, Request

_MOMENT_S = 1.0
_COPIED = 256 * 1024
_NO_LINGER = b"\x01\0\0\0\0\0\0\0"
# Of what came while nothing was asked: reading a piece of small frames takes long.
_MOST_IDLE_READS = 16


@dataclass(frozen=True)
class Http2Transport:
    """See transport.Transport. Each exchange waits for its turn at a `pace`, if there is one."""

    address: SocketAddress
    limits: Limits
    pace: Pace | None = None

    def connection(self) -> Http2Connection:
        """See transport.Transport."""
        return Http2Connection(self.address, self.limits, self.pace)


def offer_http2(tls: ssl.SSLContext | None) -> None:
    """Offer nothing but HTTP/2 in ALPN."""
    if tls is not None:
        tls.set_alpn_protocols([PROTOCOL])


class _NoHttp2Error(OSError):
    """The server did not choose HTTP/2 in ALPN."""

    strerror = "the server did not choose h2 in ALPN"


class Http2Connection:
    """See transport.Connection."""

    def __init__(self, address: SocketAddress, limits: Limits, pace: Pace | None = None) -> None:
        self._address = address
        self._opener = Opener(address, limits.connect_s)
        self._limits = limits
        self._pace = pace
        self._session: Http2Session | None = None

    @property
    def open(self) -> bool:
        """See transport.Connection. This reads what came since the last exchange,
        such as a GOAWAY.
        """
        session = self._session
        if session is None:
            return False
        try:
            for _ in range(_MOST_IDLE_READS):
                if not ready(session.socket, write=False, timeout=0)[0]:
                    return session.usable
                session.drain()
                if not session.usable:
                    return False
        except OSError:
            pass
        return False

    def pending(self) -> bool:
        """See transport.Connection. Bytes belong to a stream or to the connection, so they are
        never stray.
        """
        return False

    def open_ahead(self) -> None:
        """See transport.Connection."""
        self._opener.begin()

    def begin(self, request: Request) -> None:
        """See transport.Connection. Never sends ahead: frames may have to be answered."""

    def close(self) -> None:
        """See transport.Connection."""
        if self._session is not None:
            self._session.socket.close()
            self._session = None

    def exchange(self, request: Request, *, fresh: bool = False) -> Transcript:
        """See transport.Connection."""
        if self._pace is not None:
            self._pace.wait()
        started = time.perf_counter()
        usual = self._limits.exchange_s
        limit = usual if request.limit_s is None else min(request.limit_s, usual)
        deadline = started + (limit if request.parting is None else min(limit, _MOMENT_S))
        pieces = request.http1
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if fresh or not self.open:
            self.close()
        reused = self._session is not None
        try:
            session = self._session or self._connect()
        except (OSError, UnicodeError) as error:  # a host name may be invalid in DNS
            ending = Ending.TIMEOUT if isinstance(error, TimeoutError) else Ending.REFUSED
            none = isinstance(error, _NoHttp2Error)
            found = Obstacle.NO_HTTP2 if none else obstacle_of(error)
            words = reason_of(error)
            return Transcript(data, 0, b"", ending, words, obstacle=found, http2=Http2Facts())
        self._session = session
        current = Http2Exchange(session, self._limits, deadline, len(data))
        scheme = "http" if self._address.tls is None else "https"
        ending, detail = current.run(request, scheme)
        of_stream = ending is Ending.COMPLETE or current.reset is not None
        keep = of_stream and request.parting is None and current.released() and session.usable
        if request.parting is Parting.RESETS:
            session.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        if not keep:
            self.close()
        if ending is Ending.LEFT:
            current.forget()
        first, received = current.first_byte, current.received
        return Transcript(
            data,
            current.sent,
            bytes(received) if len(received) < _COPIED else received,
            ending,
            detail,
            reused,
            keep,
            None if first is None else as_recorded(first - started),
            as_recorded(time.perf_counter() - started),
            tuple(len(piece) for piece in pieces),
            as_recorded(request.pause_s) if len(pieces) > 1 else 0.0,
            partial=read_response(received, whole=ending is Ending.COMPLETE),
            shortened_s=limit if limit < usual else None,
            obstacle=current.obstacle,
            http2=current.facts,
        )

    def _connect(self) -> Http2Session:
        sock = self._opener.opened(speaks=True)
        if isinstance(sock, TlsSocket) and sock.selected_alpn_protocol() != PROTOCOL:
            sock.close()
            raise _NoHttp2Error
        return Http2Session(sock, self._limits.head)
