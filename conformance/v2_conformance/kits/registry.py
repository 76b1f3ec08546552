"""Model kits: what to deploy on a real server so that it serves the models of the contract.

A kit is generated from `contract()`, so only cases/models.yaml says what a model looks like. The
files in `NAME/files/` are copied as they are; they run on the vendor's server. Only README.md has
the kit's command filled in. The kit `clients` has no models: its scripts put clients on the bench.
"""

from __future__ import annotations

from pathlib import Path

from v2_conformance.elsewhere import elsewhere
from v2_conformance.errors import UsageError
from v2_conformance.kits import Kit, kserve, lite_server, mlserver, openvino, python, triton
from v2_conformance.terminal_safe_text import did_you_mean

KITS: dict[str, Kit] = {
    "clients": elsewhere("kit clients"),
    "kserve": kserve.KIT,
    "lite-server": lite_server.KIT,
    "mlserver": mlserver.KIT,
    "openvino": openvino.KIT,
    "python": python.KIT,
    "triton": triton.KIT,
}


def write_kit(name: str, directory: Path) -> list[Path]:
    """Write the kit `name` to `directory`, which is created if needed, and return its files.

    Raises UsageError for an unknown kit, and for a directory that is not empty: a kit never
    overwrites anything.
    """
    kit = KITS.get(name)
    if kit is None:
        hint = did_you_mean(name, KITS, f"the kits are {', '.join(sorted(KITS))}")
        raise UsageError(f"unknown kit {name!r}: {hint}")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise UsageError(f"{directory} is not empty: choose a new or empty folder for the kit")
        readme = (kit.folder / "README.md").read_bytes()
        files = dict(kit.files())
        files["README.md"] = readme.replace(b"{command}", kit.command.encode())
        for path, content in files.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_bytes(content)
        return [directory / path for path in files]
    except OSError as error:
        raise UsageError(
            f"cannot write the kit to {directory}: {error.strerror or error}"
        ) from error
