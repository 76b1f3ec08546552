"""Model kits: what to deploy on a real server so that it serves the models of the contract.

A kit is generated from `contract()`, so only cases/models.yaml says what a model looks like. The
files in `NAME/files/` are copied as they are; they run on the vendor's server. Only README.md has
the kit's command filled in. The kit `clients` has no models: its scripts put clients on the bench.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from v2_conformance.elsewhere import elsewhere
from v2_conformance.errors import UsageError
from v2_conformance.kits import Kit, openvino_ir, run_command, servers
from v2_conformance.terminal_safe_text import did_you_mean

# Some requests hang a model of Triton, some kill one or the server.
_RESTARTED = "--timeout 10 --restart-command 'python serve_wheel.py --restart'"
_TRITON = ("raw", "bf16", "compression", "compression-responses")


def _kit(name: str, files: Callable[[], servers.Files], command: str) -> Kit:
    return Kit(servers.FOLDER / name / "files", files, command)


KITS: dict[str, Kit] = {
    "clients": elsewhere("kit clients"),
    "kserve": _kit("kserve", servers.kserve, run_command(8080)),
    "lite-server": _kit("lite_server", servers.lite_server, run_command(8000, "bf16")),
    "mlserver": _kit("mlserver", servers.mlserver, run_command(8080)),
    "openvino": _kit("openvino", openvino_ir.files, run_command(8000)),
    "python": _kit("python", servers.python, run_command(8000)),
    "triton": _kit("triton", servers.triton, run_command(8000, *_TRITON, more=_RESTARTED)),
}


def write_kit(name: str, directory: Path) -> list[Path]:
    """Write a kit to a new or empty `directory` and return its files. Raises UsageError."""
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
