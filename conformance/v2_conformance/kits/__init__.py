"""Model kits: see `registry`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Kit:
    """One kit: the `folder` of its README.md, its other `files`, the `command` that tests it."""

    folder: Path
    files: Callable[[], Iterable[tuple[str, bytes]]]
    command: str


def run_command(port: int, *profiles: str, more: str = "") -> str:
    """Return the command that tests a local server and claims these profiles."""
    claims = "".join(f" --profile {profile}" for profile in profiles)
    return f"v2-conformance run http://127.0.0.1:{port}{claims}{more and ' '}{more}"


def json_file(document: object) -> bytes:
    """Return the content of a file with this JSON."""
    return (json.dumps(document, indent=1) + "\n").encode()
