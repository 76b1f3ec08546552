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
        "v2-conformance kit kubernetes manifests --image suite:1": (
            "Write manifests that run the suite in a cluster, with this image."
        ),
        "v2-conformance kit clients adapters": (
            "Write scripts that put clients on the bench into the folder adapters."
        ),
    },
)
@cloup.argument(
    "name",
    shell_complete=known_values.kits,
    help="The server: kserve, mlserver, onnx (any server of ONNX models), openvino or triton; or "
    "kubernetes, or clients.",
)
@cloup.argument(
    "directory",
    type=FOLDER,
    metavar="DIR",
    help="New or empty folder. Its README.md will say what to do with the files.",
)
@cloup.option(
    "--image",
    metavar="IMAGE",
    help="For kubernetes: the container image that has v2-conformance.",
)
@cloup.option(
    "--server-image",
    metavar="IMAGE",
    help="For kubernetes: the container image that has a Python with kserve.",
)
def kit(*, name: str, directory: Path, **options: str | None) -> int:
    """Write the models for a real server, or scripts for clients."""
    from v2_conformance.kits import KITS, write_kit

    given = {option: value for option, value in options.items() if value is not None}
    files = write_kit(name, directory, **given)
    print(f"wrote {len(files)} files; next: {directory / 'README.md'}")
    print(f"then: {KITS[name].command}")
    return 0
