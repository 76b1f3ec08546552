"""Adapters that put public clients on the client bench, and a plain client as an example.

Each is a script of its own, without v2-conformance: it runs in the environment of its client.
Cargo.toml is for client.rs.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from v2_conformance.kits.kit import Kit

ADAPTERS = Path(__file__).resolve().parent
"""The folder with the scripts."""

NAMES = (
    "Cargo.toml",
    "Client.java",
    "client.cpp",
    "client.go",
    "client.rs",
    "kserve_rest.py",
    "node.mjs",
    "plain.py",
    "pyotritonclient_http.py",
    "tritonclient_aio.py",
    "tritonclient_http.py",
)


def write(directory: Path) -> list[Path]:
    """Write the adapters."""
    return [Path(shutil.copyfile(ADAPTERS / name, directory / name)) for name in NAMES]


KIT = Kit(write, "v2-conformance client -- python plain.py")
