"""The command `kit`: writes the models for a real server, or the scripts for clients."""

from __future__ import annotations

from v2_conformance.cli.command import command
from v2_conformance.options.others import KitOptions


@command(
    "kit",
    KitOptions,
    examples={
        "v2-conformance kit triton models": (
            "Write a model repository for Triton into the folder models."
        ),
        "v2-conformance kit clients adapters": (
            "Write scripts that put clients on the bench into the folder adapters."
        ),
    },
)
def kit(options: KitOptions) -> int:
    """Write the models for a real server, or scripts for clients."""
    from v2_conformance.kits.registry import KITS, write_kit

    files = write_kit(options.name, options.directory)
    print(f"wrote {len(files)} files; next: {options.directory / 'README.md'}")
    print(f"then: {KITS[options.name].command}")
    return 0
