"""The type of a kit, with the command that tests a server of its models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Kit:
    """One kit.

    `files` is the folder that has its README.md. `write` writes all other files to an empty folder
    and returns their paths. `command` tests what the kit is for, once it runs as README.md says.
    `requires` names the package, and the extra of v2-conformance, without which `write` cannot
    work.
    """

    files: Path
    write: Callable[[Path], list[Path]]
    command: str
    requires: str | None = None


def run_command(port: int, *profiles: str, more: str = "") -> str:
    """Return the command that tests a server on this machine and claims what its kit can hold, with
    `more` options."""
    claims = "".join(f" --profile {profile}" for profile in profiles)
    return f"v2-conformance run http://127.0.0.1:{port}{claims}{more and ' '}{more}"
