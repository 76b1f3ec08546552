"""Obstacles to an HTTP exchange with a server that is up, as TLS or its first bytes show them."""

from __future__ import annotations

import ssl
from enum import Enum

_EXPIRED, _NOT_YET = 10, 9
_WRONG_NAME = (62, 64)
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "PACKET_LENGTH_TOO_LONG")
_CERTIFICATE_REQUIRED = ("CERTIFICATE_REQUIRED",)
_CERTIFICATE_REFUSED = (
    "ALERT_UNKNOWN_CA",
    "BAD_CERTIFICATE",
    "CERTIFICATE_UNKNOWN",
    "CERTIFICATE_EXPIRED",
    "CERTIFICATE_REVOKED",
    "UNSUPPORTED_CERTIFICATE",
    "ACCESS_DENIED",
)
_TLS_RECORDS = (b"\x15\x03", b"\x16\x03")


class Obstacle(Enum):
    """One obstacle; its value names it."""

    UNKNOWN_AUTHORITY = "unknown authority"  # X.509: no path to a certificate that is trusted
    EXPIRED = "expired"
    NOT_YET_VALID = "not yet valid"
    WRONG_NAME = "wrong name"  # the certificate is for other hosts
    NO_TLS = "no TLS"  # https to a port that does not speak TLS
    ONLY_TLS = "only TLS"  # http to a port that speaks TLS
    ONLY_HTTP2 = "only HTTP/2"  # HTTP/1.1 to a port that speaks HTTP/2 at once, as gRPC does
    CERTIFICATE_REQUIRED = "certificate required"  # the server wants one from the client
    CERTIFICATE_REFUSED = "certificate refused"  # and rejects the one that it got
    NO_AGREEMENT = "no agreement"  # no common version, cipher or name, or a client certificate


def obstacle_of(error: BaseException) -> Obstacle | None:
    """Return the obstacle in an error of Python's ssl module, None for other errors.

    The certificate's checks have OpenSSL's X509_V_ERR_* codes, the handshake its reasons.
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        code = error.verify_code
        if code in _WRONG_NAME:
            return Obstacle.WRONG_NAME
        dates = {_EXPIRED: Obstacle.EXPIRED, _NOT_YET: Obstacle.NOT_YET_VALID}
        return dates.get(code, Obstacle.UNKNOWN_AUTHORITY)
    if not isinstance(error, ssl.SSLError):
        return None
    reason = error.reason or ""
    if reason in _NO_TLS:
        return Obstacle.NO_TLS
    if reason.endswith(_CERTIFICATE_REQUIRED):
        return Obstacle.CERTIFICATE_REQUIRED
    if reason.endswith(_CERTIFICATE_REFUSED):
        return Obstacle.CERTIFICATE_REFUSED
    return Obstacle.NO_AGREEMENT if "ALERT" in reason else None


def speaks_http2(received: bytes) -> bool:
    """Return True if the answer begins with a SETTINGS frame of HTTP/2 (RFC 9113 3.4)."""
    return received[3:4] == b"\x04" and received[5:9] == bytes(4) and received[:1] == b"\0"


def speaks_tls(received: bytes) -> bool:
    """Return True if an answer to plain HTTP is a TLS record (RFC 8446), an alert or
    a handshake.
    """
    return received.startswith(_TLS_RECORDS)
