"""OpenSSH's signature format (PROTOCOL.sshsig) for Ed25519, as `ssh-keygen -Y` has it.

The library sshsig cannot sign, and accepts signatures with bytes behind their end, without an end
line and with any hash. So this is our own; the signing itself is cryptography's.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import struct
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ED25519 = "ssh-ed25519"
"""The type of key that this module knows, as OpenSSH calls it."""

_MAGIC = b"SSHSIG"
_VERSION = 1
_HASH = "sha512"
_HASHES = ("sha256", "sha512")
_LINE = 70
_ARMOR = re.compile(
    rb"\s*-----BEGIN SSH SIGNATURE-----\s+([A-Za-z0-9+/=\s]+?)\s*-----END SSH SIGNATURE-----\s*"
)


class SignatureFormatError(ValueError):
    """Bytes that are not an SSH signature: what is wrong, in words."""


@dataclass(frozen=True)
class SshSignature:
    """A signature as its file has it. `public_key` is in OpenSSH's binary form."""

    public_key: bytes
    namespace: str
    hash_name: str
    signature: bytes

    @property
    def key_type(self) -> str:
        """The type of the key that made it, such as "ssh-ed25519"."""
        return _Reader(self.public_key).text()

    def fits(self, message: bytes) -> bool:
        """Return True if its key made it of `message`, in its namespace. Only for Ed25519."""
        key, signature = _Reader(self.public_key), _Reader(self.signature)
        try:
            if (key.text(), signature.text()) != (ED25519, ED25519):
                return False
            public = Ed25519PublicKey.from_public_bytes(key.last())
            public.verify(signature.last(), _signed(message, self.namespace, self.hash_name))
        except (InvalidSignature, ValueError):
            return False
        return True


def sign(message: bytes, key: Ed25519PrivateKey, namespace: str) -> bytes:
    """The text of a signature file for `message`."""
    signature = key.sign(_signed(message, namespace, _HASH))
    blob = b"".join(
        (
            _MAGIC,
            struct.pack(">I", _VERSION),
            _string(public_blob(key)),
            _string(namespace.encode()),
            _string(b""),
            _string(_HASH.encode()),
            _string(_string(ED25519.encode()) + _string(signature)),
        )
    )
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + _LINE] for at in range(0, len(text), _LINE)]
    armored = ["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""]
    return "\n".join(armored).encode()


def read_signature(text: bytes) -> SshSignature:
    """The signature in the text of a file. Raises SignatureFormatError."""
    armored = _ARMOR.fullmatch(text)
    if armored is None:
        raise SignatureFormatError("it does not look like what `ssh-keygen -Y sign` writes")
    try:
        blob = base64.b64decode(b"".join(armored[1].split()), validate=True)
    except binascii.Error as error:
        raise SignatureFormatError("its base64 is broken") from error
    if not blob.startswith(_MAGIC):
        raise SignatureFormatError("it does not begin like a signature")
    reader = _Reader(blob[len(_MAGIC) :])
    version = reader.number()
    if version != _VERSION:
        raise SignatureFormatError(f"expected version {_VERSION}, got {version}")
    public_key, namespace = reader.string(), reader.text()
    reader.string()  # reserved
    hash_name, signature = reader.text(), reader.last()
    if hash_name not in _HASHES:
        raise SignatureFormatError(f"expected the hash {' or '.join(_HASHES)}")
    found = SshSignature(public_key, namespace, hash_name, signature)
    _ = found.key_type  # raises for a key that is none
    return found


def public_blob(key: Ed25519PrivateKey) -> bytes:
    """The public key of `key` in OpenSSH's binary form."""
    raw = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return _string(ED25519.encode()) + _string(raw)


def fingerprint(public_key: bytes) -> str:
    """The fingerprint of a public key in OpenSSH's binary form, as `ssh-keygen -l` prints it."""
    digest = base64.b64encode(hashlib.sha256(public_key).digest()).decode()
    return "SHA256:" + digest.rstrip("=")


def _signed(message: bytes, namespace: str, hash_name: str) -> bytes:
    """The bytes that the key itself signs."""
    digest = hashlib.new(hash_name, message).digest()
    parts = (namespace.encode(), b"", hash_name.encode(), digest)
    return _MAGIC + b"".join(map(_string, parts))


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


class _Reader:
    """Reads SSH's binary data (RFC 4251, section 5). Raises SignatureFormatError at its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def number(self) -> int:
        return int.from_bytes(self._take(4), "big")

    def string(self) -> bytes:
        return self._take(self.number())

    def text(self) -> str:
        try:
            return self.string().decode("ascii")
        except UnicodeDecodeError as error:
            raise SignatureFormatError("a name in it is not ASCII") from error

    def last(self) -> bytes:
        """The string that must be the last thing."""
        found = self.string()
        if self._data:
            raise SignatureFormatError("bytes follow its end")
        return found

    def _take(self, count: int) -> bytes:
        if count > len(self._data):
            raise SignatureFormatError("it was cut off")
        taken, self._data = self._data[:count], self._data[count:]
        return taken
