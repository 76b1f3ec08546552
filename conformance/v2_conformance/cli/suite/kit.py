"""The command `kit`: writes the models for a real server, or the scripts for clients."""

from __future__ import annotations

from pathlib import Path

import click

from v2_conformance.cli.command import FOLDER, command


@command(
    "kit",
    examples={
        "v2-conformance kit triton models": (
            "Write a model repository for Triton into the folder models."
        ),
        "v2-conformance kit clients adapters": (
            "Write scripts that put clients on the bench into the folder adapters."
        ),
    },
)
@click.argument(
    "name",
    help="The server: kserve, mlserver, onnx (any server of ONNX models), openvino or triton; or "
    "clients.",
)
@click.argument(
    "directory",
    metavar="DIR",
    type=FOLDER,
    help="New or empty folder. Its README.md will say what to do with the files.",
)
def kit(name: str, directory: Path) -> int:
    """Write the models for a real server, or scripts for clients."""
    from v2_conformance.kits.registry import KITS, write_kit

    files = write_kit(name, directory)
    print(f"wrote {len(files)} files; next: {directory / 'README.md'}")
    print(f"then: {KITS[name].command}")
    return 0
