"""The command `sign`: signs a report with an OpenSSH key."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from v2_conformance.child_processes import PASSPHRASE
from v2_conformance.cli.command import command
from v2_conformance.errors import UsageError
from v2_conformance.options.reports import SignOptions

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@command(
    "sign",
    SignOptions,
    examples={"v2-conformance sign report.json ~/.ssh/id_ed25519": "Write report.json.sig."},
    exit_codes={
        0: "Signed.",
        2: "Nothing was signed: the report or the key cannot be read, or the report was edited.",
    },
)
def sign(options: SignOptions) -> int:
    """Sign a report, so that others can tell who published it.

    Writes report.json.sig beside it, which `v2-conformance verify --allowed-signers` and
    `ssh-keygen -Y verify` check.
    """
    from v2_conformance.report.signatures.signing import sign_report

    if options.report.is_dir():
        raise UsageError(f"{options.report} is a folder: name the report.json in it")
    path = sign_report(options.report, signing_key(options.key))
    print(f"wrote {path}")
    return 0


def signing_key(path: Path) -> Ed25519PrivateKey:
    """The key in a file, after asking for its passphrase if it has one. Raises UsageError."""
    from v2_conformance.report.signatures.signing import load_signing_key

    return load_signing_key(path, lambda: _passphrase(path))


def _passphrase(path: Path) -> str | None:
    given = os.environ.get(PASSPHRASE)
    if given is not None or not sys.stdin.isatty():
        return given
    asked: str = click.prompt(f"Passphrase of {path}", hide_input=True, err=True)
    return asked
