"""Plain and TLS sockets that never block, as all transports use them."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from v2_conformance.wire.arrival import note_arrivals
from v2_conformance.wire.tls import TlsSocket


@dataclass(frozen=True)
class SocketAddress:
    """Where to connect; `tls` is the context for https."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None


def connected(address: SocketAddress, timeout: float) -> socket.socket:
    """Return a non-blocking socket, connected within `timeout` seconds. Raises OSError, and
    UnicodeError for a host name that is invalid in DNS.
    """
    raw = socket.create_connection((address.host, address.port), timeout)
    try:
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address.tls is not None:
            raw = secure = TlsSocket(raw, address.tls, address.host)
            secure.handshake(timeout)
        else:
            note_arrivals(raw)
            raw.setblocking(False)
    except BaseException:
        raw.close()
        raise
    return raw


class Opener:
    """Opens sockets to one address, one of which may be opened ahead of time."""

    def __init__(self, address: SocketAddress, timeout: float) -> None:
        self._address = address
        self._timeout = timeout
        self._ahead: Future[socket.socket] | None = None

    def begin(self) -> None:
        """Begin to connect in a thread of its own, for the next `opened`."""
        pool = ThreadPoolExecutor(1)
        self._ahead = pool.submit(connected, self._address, self._timeout)
        pool.shutdown(wait=False)

    def opened(self, *, speaks: bool = False) -> socket.socket:
        """Return the socket that was begun, if the other end has neither closed it nor sent
        anything (unless it `speaks` first); otherwise a new one. Raises as `connected` does.
        """
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            with contextlib.suppress(OSError, UnicodeError):
                sock = ahead.result()
                if speaks or _silent(sock):
                    return sock
                sock.close()
        return connected(self._address, self._timeout)


def _silent(sock: socket.socket) -> bool:
    try:
        sock.recv(1)
    except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
        return True
    except OSError:
        return False
    return False


def ready(sock: socket.socket, *, write: bool, timeout: float) -> tuple[bool, bool]:
    """Return whether `sock` can be read, and written, within `timeout` seconds."""
    if isinstance(sock, TlsSocket) and sock.pending():
        return True, False
    poll = select.poll()
    poll.register(sock, select.POLLIN | (select.POLLOUT if write else 0))
    events = poll.poll(timeout * 1000)
    if not events:
        return False, False
    mask = events[0][1]
    broken = mask & (select.POLLHUP | select.POLLERR | select.POLLNVAL)
    return bool(mask & select.POLLIN or broken), bool(mask & select.POLLOUT)


def reason_of(error: OSError | UnicodeError) -> str:
    """Return, in words, why there is no connection, or no longer one."""
    if isinstance(error, TimeoutError):
        return "no connection in time"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS failed: certificate verify failed: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {(error.reason or str(error)).replace('_', ' ').lower()}"
    return (getattr(error, "strerror", None) or str(error)).lower()
