"""The command `kit`: writes the models for a real server, or the scripts for clients."""

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
        "v2-conformance kit clients adapters": (
            "Write scripts that put clients on the bench into the folder adapters."
        ),
    },
)
@cloup.argument(
    "name",
    shell_complete=known_values.kits,
    help="The server: kserve, mlserver or triton; or clients.",
)
@cloup.argument(
    "directory",
    type=FOLDER,
    metavar="DIR",
    help="New or empty folder. Its README.md will say what to do with the files.",
)
def kit(*, name: str, directory: Path) -> int:
    """Write the models for a real server, or scripts for clients."""
    from v2_conformance.kits import KITS, write_kit

    files = write_kit(name, directory)
    print(f"wrote {len(files)} files; next: {directory / 'README.md'}")
    print(f"then: {KITS[name].command}")
    return 0
