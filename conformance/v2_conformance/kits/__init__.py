"""Model kits: what to deploy on a real server so that it holds the models of the contract.

A kit is generated from `contract()`, so cases/models.yaml is the only place that says what a model
looks like. The files under `NAME/files/` are copied as they stand; they run on the vendor's server.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from v2_conformance.errors import UsageError
from v2_conformance.kits import kserve, mlserver, triton

KITS: dict[str, Callable[[Path], list[Path]]] = {
    "kserve": kserve.write,
    "mlserver": mlserver.write,
    "triton": triton.write,
}
"""Per kit, what writes its files below an empty folder and returns their paths."""

_HERE = Path(__file__).resolve().parent


def write_kit(name: str, directory: Path) -> list[Path]:
    """Write the kit `name` into `directory`, which is made if need be, and return its files.

    Raises UsageError for an unknown kit and for a directory that has something in it: a kit never
    overwrites anything.
    """
    write = KITS.get(name)
    if write is None:
        raise UsageError(f"there is no kit {name!r}; the kits are {', '.join(sorted(KITS))}")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise UsageError(f"{directory} is not empty; name a new or an empty folder for the kit")
        readme = directory / "README.md"
        shutil.copyfile(_HERE / name / "files" / "README.md", readme)
        return [readme, *write(directory)]
    except OSError as error:
        raise UsageError(
            f"cannot write the kit to {directory}: {error.strerror or error}"
        ) from error
