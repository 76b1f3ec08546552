"""The command `kit`: writes the models for a real server."""

from __future__ import annotations

from pathlib import Path

import cloup

from v2_conformance.cli import known_values
from v2_conformance.cli.command import FOLDER, Command


@cloup.command(
    "kit",
    cls=Command,
    examples={
        "v2-conformance kit triton models": (
            "Write a model repository for Triton into the folder models."
        ),
    },
)
@cloup.argument(
    "server",
    shell_complete=known_values.kits,
    help="The server: kserve, mlserver or triton.",
)
@cloup.argument(
    "directory",
    type=FOLDER,
    metavar="DIR",
    help="New or empty folder. Its README.md will say how to deploy the models.",
)
def kit(*, server: str, directory: Path) -> int:
    """Write the models to deploy on a real server into a folder."""
    from v2_conformance.kits import write_kit

    files = write_kit(server, directory)
    print(f"wrote {len(files)} files; next: {directory / 'README.md'}")
    return 0
