"""Plain and TLS sockets that never block, as all transports use them."""

from __future__ import annotations

import select
import socket
import ssl
from dataclasses import dataclass


@dataclass(frozen=True)
class Endpoint:
    """Where to connect; `tls` is the context for https."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None


def connected(endpoint: Endpoint, timeout: float) -> socket.socket:
    """A socket that is connected within `timeout` seconds and does not block. Raises OSError, and
    UnicodeError for a host name that no DNS can hold."""
    raw = socket.create_connection((endpoint.host, endpoint.port), timeout)
    try:
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if endpoint.tls is not None:
            raw = endpoint.tls.wrap_socket(raw, server_hostname=endpoint.host)
        raw.setblocking(False)
    except BaseException:
        raw.close()
        raise
    return raw


def ready(sock: socket.socket, *, write: bool, timeout: float) -> tuple[bool, bool]:
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


def reason_of(error: OSError | UnicodeError) -> str:
    """Why there is no connection, or none any more, in words."""
    if isinstance(error, TimeoutError):
        return "no connection in time"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS failed: certificate verify failed: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {(error.reason or str(error)).replace('_', ' ').lower()}"
    return (getattr(error, "strerror", None) or str(error)).lower()
