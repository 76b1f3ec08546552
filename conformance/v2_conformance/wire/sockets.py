"""Plain and TLS sockets that never block, and what helps if there is no connection."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from dataclasses import dataclass

# By X509_V_ERR_* of OpenSSL; other codes mean that no authority is trusted.
_CERTIFICATE_HINTS = {
    9: "its certificate is not valid yet; set the clock of this machine",
    10: "its certificate has expired; have it renewed",
    62: "its certificate is not for this host; use a name in the URL that the certificate is for",
    64: "its certificate is not for this IP address; use a name in the URL that the certificate is "
    "for",
}
_UNKNOWN_AUTHORITY = (
    "its certificate was not issued by an authority that this machine trusts; name the file of its "
    "authority with --cacert FILE or SSL_CERT_FILE"
)
ONLY_TLS = "this port speaks TLS; the URL must begin with https://"
_ONLY_HTTP2 = (
    "this port speaks HTTP/2 alone, as a gRPC port does; give the URL of the server's HTTP/1.1 port"
)
# By the ends of OpenSSL's reasons for a failed handshake, the first that fits.
_HANDSHAKE_HINTS = (
    (
        ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "PACKET_LENGTH_TOO_LONG"),
        "this port does not speak TLS; the URL must begin with http://, or name the port of HTTPS",
    ),
    (
        ("CERTIFICATE_REQUIRED",),
        "it wants a client certificate; give it one with --cert FILE",
    ),
    (
        ("ALERT_UNKNOWN_CA", "BAD_CERTIFICATE", "CERTIFICATE_UNKNOWN", "CERTIFICATE_EXPIRED",
         "CERTIFICATE_REVOKED", "UNSUPPORTED_CERTIFICATE", "ACCESS_DENIED"),
        "it does not accept the client certificate that it got; name another with --cert FILE",
    ),
)  # fmt: skip
_NO_AGREEMENT = (
    "it ended the TLS handshake; it may want a client certificate (--cert FILE), another version "
    "of TLS or another host name in the URL"
)


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
            raw = secure = address.tls.wrap_socket(
                raw, server_hostname=address.host, do_handshake_on_connect=False
            )
            # OpenSSL reads HelloRequests for as long as they come, whatever the timeout.
            end = threading.Timer(timeout, socket.socket.shutdown, (raw, socket.SHUT_RDWR))
            end.daemon = True
            end.start()
            try:
                secure.do_handshake()
            finally:
                end.cancel()
        raw.setblocking(False)
    except BaseException:
        raw.close()
        raise
    return raw


def ready(sock: socket.socket, *, write: bool, timeout: float) -> tuple[bool, bool]:
    """Return whether `sock` can be read, and written, within `timeout` seconds."""
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
    """Return, in words, why there is no connection, or no longer one."""
    if isinstance(error, TimeoutError):
        return "no connection in time"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS failed: certificate verify failed: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {(error.reason or str(error)).replace('_', ' ').lower()}"
    return (getattr(error, "strerror", None) or str(error)).lower()


def hint_of(error: BaseException) -> str | None:
    """Return why there is no TLS with a server that is up, and what helps; None if unknown."""
    if isinstance(error, ssl.SSLCertVerificationError):
        hint = _CERTIFICATE_HINTS.get(error.verify_code, _UNKNOWN_AUTHORITY)
        return f"{hint}, or use --insecure to skip certificate checks"
    if not isinstance(error, ssl.SSLError):
        return None
    reason = error.reason or ""
    for ends, hint in _HANDSHAKE_HINTS:
        if reason.endswith(ends):
            return hint
    return _NO_AGREEMENT if "ALERT" in reason else None


def hint_in(received: bytes) -> str | None:
    """Return what helps if an answer to plain HTTP/1.1 begins as one of another protocol: with a
    SETTINGS frame of HTTP/2 (RFC 9113, 3.4), or an alert or handshake of TLS (RFC 8446).
    """
    if received[3:4] == b"\x04" and received[5:9] == bytes(4) and received[:1] == b"\0":
        return _ONLY_HTTP2
    return ONLY_TLS if received.startswith((b"\x15\x03", b"\x16\x03")) else None
