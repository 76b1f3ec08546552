"""Adapters that put public clients on the client bench, and a plain client as an example.

Each is a script of its own, without v2-conformance: it runs in the environment of its client.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from v2_conformance.kits.kit import Kit

ADAPTERS = Path(__file__).resolve().parent
"""The folder with the scripts, NAME.py for each of NAMES."""

NAMES = (
    "kserve_rest",
    "plain",
    "pyotritonclient_http",
    "tritonclient_aio",
    "tritonclient_http",
)


def write(directory: Path) -> list[Path]:
    """Write the adapters."""
    return [
        Path(shutil.copyfile(ADAPTERS / f"{name}.py", directory / f"{name}.py")) for name in NAMES
    ]


KIT = Kit(write, "v2-conformance client -- python plain.py")
