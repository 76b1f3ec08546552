"""Model kits: what to deploy on a real server so that it serves the models of the contract.

A kit is generated from `contract()`, so only cases/models.yaml says what a model looks like. The
files in `NAME/files/` are copied as they are; they run on the vendor's server. The kit `clients`
has no models: its scripts put clients on the bench.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from v2_conformance.errors import UsageError
from v2_conformance.kits import clients, kserve, mlserver, triton
from v2_conformance.suggestions import did_you_mean

KITS: dict[str, Callable[[Path], list[Path]]] = {
    "clients": clients.write,
    "kserve": kserve.write,
    "mlserver": mlserver.write,
    "triton": triton.write,
}
"""The function of each kit that writes its files to an empty folder and returns their paths."""

_HERE = Path(__file__).resolve().parent


def write_kit(name: str, directory: Path) -> list[Path]:
    """Write the kit `name` to `directory`, which is created if needed, and return its files.

    Raises UsageError for an unknown kit, and for a directory that is not empty: a kit never
    overwrites anything.
    """
    write = KITS.get(name)
    if write is None:
        hint = did_you_mean(name, KITS, f"the kits are {', '.join(sorted(KITS))}")
        raise UsageError(f"unknown kit {name!r}: {hint}")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise UsageError(f"{directory} is not empty: choose a new or empty folder for the kit")
        readme = directory / "README.md"
        shutil.copyfile(_HERE / name / "files" / "README.md", readme)
        return [readme, *write(directory)]
    except OSError as error:
        raise UsageError(
            f"cannot write the kit to {directory}: {error.strerror or error}"
        ) from error
