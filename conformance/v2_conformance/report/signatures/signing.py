"""Signed reports: what a signature is of, and how it is made with a key that OpenSSH made.

docs/reports.md says how anybody checks one with `ssh-keygen` alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key

from v2_conformance.bounded_files import read_bounded
from v2_conformance.child_processes import PASSPHRASE
from v2_conformance.errors import UsageError
from v2_conformance.report.document import Report
from v2_conformance.report.files import read_report, write_atomically
from v2_conformance.report.signatures.sshsig import sign

NAMESPACE = "v2-conformance"
"""The namespace of the signatures, so that one made for another purpose is rejected."""

_LARGEST_KEY = 64 * 1024
_OPENSSH = b"-----BEGIN OPENSSH PRIVATE KEY-----"
_MAKES_ONE = "`ssh-keygen -t ed25519 -f FILE` makes one"


def statement(report: Report, digest: str) -> bytes:
    """Return what a signature is of: one line of JSON that names the report by its `digest`, the
    suite that made it, and when."""
    suite = report.suite
    said = {
        "catalogue": suite.catalogue,
        "sha256": digest,
        "started": report.started,
        "suite": suite.version,
    }
    return (json.dumps(said) + "\n").encode()


def signature_path(report: Path) -> Path:
    """Where the signature of a report is, packed or not."""
    name = report.name.removesuffix(".gz")
    return report.with_name(f"{name}.sig")


def load_signing_key(path: Path, ask: Callable[[], str | None]) -> Ed25519PrivateKey:
    """The Ed25519 key in an OpenSSH private key file. Raises UsageError in one line.

    `ask` is called for the passphrase of a key that has one; None if there is nobody to ask.
    """
    data = _key_data(path)
    try:
        try:
            key = load_ssh_private_key(data, None)
        except TypeError:  # it has a passphrase
            passphrase = ask()
            if passphrase is None:
                raise UsageError(
                    f"{path} has a passphrase: set {PASSPHRASE}, or run this on a terminal"
                ) from None
            key = load_ssh_private_key(data, passphrase.encode())
    except ValueError as error:
        raise UsageError(
            f"cannot read the key {path}: its passphrase is wrong, or the file is damaged"
        ) from error
    except UnsupportedAlgorithm as error:
        raise UsageError(f"{path} has a key that cannot sign reports: {_MAKES_ONE}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(f"{path} is not an Ed25519 key, and only those sign reports: {_MAKES_ONE}")
    return key


def _key_data(path: Path) -> bytes:
    data = read_bounded(path, _LARGEST_KEY, UsageError)
    if data.startswith((b"ssh-", b"ecdsa-", b"sk-")):
        raise UsageError(f"{path} is a public key: name the private one, the file without .pub")
    if _OPENSSH not in data:
        raise UsageError(f"{path} is not an OpenSSH private key: {_MAKES_ONE}")
    return data


def sign_report(path: Path, key: Ed25519PrivateKey) -> Path:
    """Sign the report.json in a file, packed or not, and return the path of its signature.

    Raises ReportFileError if it is no report, and UsageError if there is nothing to sign in it.
    """
    file = read_report(path, strictly=True)
    if file.is_record:
        raise UsageError(
            f"{path} is the record of a run, which cannot be signed: name its report.json"
        )
    if not file.is_intact:
        raise UsageError(f"{path} was edited: its digest is not that of its content; not signed")
    signed = signature_path(path)
    write_atomically(signed, sign(statement(file.report, file.digest), key, NAMESPACE).decode())
    return signed
