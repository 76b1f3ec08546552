"""Checks that somebody who may sign a report did sign it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from v2_conformance.bounded_files import read_bounded
from v2_conformance.errors import ReportFileError
from v2_conformance.report.signatures.signing import NAMESPACE, signature_path, statement
from v2_conformance.report.signatures.sshsig import (
    ED25519,
    SignatureFormatError,
    SshSignature,
    fingerprint,
    read_signature,
)
from v2_conformance.suite.causes.base import printable
from v2_conformance.verifying.signatures.allowed_signers import AllowedSigner
from v2_conformance.verifying.verification import Verification

_LARGEST = 64 * 1024
_SHOWN = 200


@dataclass(frozen=True)
class Signed:
    """Result of checking a signature, in one line. `exit_code` is 0 if it is good, 1 if it does not
    belong to this report, and 2 if no allowed signer made it. `principals` are those who did.
    """

    exit_code: int
    words: str
    principals: str | None = None


def check_signature(
    verified: Verification, allowed: Sequence[AllowedSigner], now: datetime
) -> Signed:
    """Check the signature beside a report that was verified, as `ssh-keygen -Y verify` does."""
    beside = signature_path(verified.path)
    if verified.unsealed:
        return Signed(2, "not signed: only the report.json of a run can be signed, not its record")
    if not os.path.lexists(beside):
        return Signed(2, f"not signed: there is no {beside.name} beside the report")
    try:
        text = read_bounded(beside, _LARGEST, ReportFileError, regular=True)
    except ReportFileError as error:
        return Signed(2, f"not signed: {error}")
    try:
        signature = read_signature(text)
    except SignatureFormatError as error:
        return Signed(1, f"wrong signature: {beside.name} is not an SSH signature: {error}")
    return _of_message(signature, statement(verified.report, verified.digest), allowed, now)


def _of_message(
    found: SshSignature, message: bytes, allowed: Sequence[AllowedSigner], now: datetime
) -> Signed:
    key = f"key {fingerprint(found.public_key)}"
    if found.key_type != ED25519:
        kind = printable(found.key_type, 40)
        return Signed(2, f"signature not checked: its key is of the type {kind}, not Ed25519")
    if found.namespace != NAMESPACE:
        other = printable(found.namespace, 40)
        return Signed(1, f"wrong signature: it is for {other}, not for {NAMESPACE}")
    if not found.fits(message):
        return Signed(1, f"wrong signature: {key} did not sign the report as it is")
    lines = [line for line in allowed if line.public_key == found.public_key]
    if not lines:
        return Signed(2, f"unknown signer: the allowed signers do not have {key}")
    problems = [line.problem(NAMESPACE, now) for line in lines]
    names = [line.principals for line, no in zip(lines, problems, strict=True) if no is None]
    if not names:
        return Signed(2, f"signer not allowed: {problems[0]} ({key})")
    principals = printable(",".join(names), _SHOWN)
    return Signed(0, f"signed by {principals}, {key}", principals)
