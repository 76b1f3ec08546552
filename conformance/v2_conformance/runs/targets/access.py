"""Access to a server: credentials and certificates."""

from __future__ import annotations

import base64
import os
import ssl
from pathlib import Path
from typing import NoReturn

from v2_conformance.bounded_files import read_bounded
from v2_conformance.errors import UsageError

_LONGEST_SECRET = 64 << 10
_CA_VARIABLE = "SSL_CERT_FILE"


def of_environment(name: str) -> str:
    """The value of an environment variable. Raises UsageError if there is none."""
    value = os.environ.get(name)
    if not value:
        raise UsageError(f"the environment variable {ascii(name)[1:-1]} is not set or empty")
    return value


def of_file(path: Path) -> str:
    """The secret in a file, without the white space around it. Raises UsageError."""
    data = read_bounded(path, _LONGEST_SECRET, UsageError)
    try:
        value = data.decode("ascii").strip()
    except UnicodeDecodeError:
        value = "\0"
    if not value:
        raise UsageError(f"{path} is empty: it should have a secret, such as a token")
    if not value.isprintable():
        raise UsageError(f"{path} has more than one line of printable ASCII in it")
    return value


def bearer(token: str) -> str:
    """The value of Authorization for a token (RFC 6750). Raises UsageError."""
    if " " in token or not (token.isascii() and token.isprintable()):
        raise UsageError(
            "a bearer token must be printable ASCII without spaces: leave out `Bearer`"
        )
    return f"Bearer {token}"


def basic(pair: str) -> str:
    """The value of Authorization for USER:PASSWORD (RFC 7617). Raises UsageError."""
    if ":" not in pair:
        raise UsageError("the credentials for basic authentication must be USER:PASSWORD")
    return "Basic " + base64.b64encode(pair.encode()).decode()


def tls_context(verify: bool | str, cert: str | None, key: str | None) -> ssl.SSLContext:
    """A context for clients: `verify` is a CA file, or whether to check certificates at all.

    `cert` and `key` are the client's own, in PEM; without a `key`, `cert` has both. Raises
    UsageError for a file that cannot be used.
    """
    named = os.environ.get(_CA_VARIABLE)
    if verify is True and named and not os.access(named, os.R_OK):
        raise UsageError(f"cannot read the CA file {named}, which {_CA_VARIABLE} names")
    try:
        context = ssl.create_default_context(cafile=verify if isinstance(verify, str) else None)
    except OSError as error:
        raise UsageError(f"cannot read the CA file {verify}: {error.strerror}") from error
    if verify is False:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if cert is None:
        return context
    pair = cert if key is None else f"{cert} with the key {key}"

    def passphrase() -> NoReturn:
        raise UsageError(f"the private key of {cert} is encrypted: give one without a passphrase")

    try:
        context.load_cert_chain(cert, key, passphrase)
    except ssl.SSLError as error:
        raise UsageError(
            f"cannot use the client certificate {pair}: they are not a certificate and its private "
            "key in PEM"
        ) from error
    except OSError as error:
        raise UsageError(f"cannot read the client certificate {pair}: {error.strerror}") from error
    return context
