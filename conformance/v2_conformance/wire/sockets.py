"""Plain and TLS sockets that never block, as all transports use them."""

from __future__ import annotations

import select
import socket
import ssl
from dataclasses import dataclass

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
            raw.setblocking(False)
    except BaseException:
        raw.close()
        raise
    return raw


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
