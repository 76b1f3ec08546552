"""The server that `--start` starts, and ends."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from v2_conformance.options.targets import TargetOptions
from v2_conformance.runs.targets.started import OUTPUT, started_server
from v2_conformance.runs.targets.target import Target


def server_under_test(
    options: TargetOptions, target: Target, directory: Path
) -> AbstractContextManager[int | None]:
    """The process of the server of --start, while the block lasts; None if there is none."""
    command = options.start_command
    if command is None:
        return nullcontext()
    return started_server(command, target, directory / OUTPUT, options.wait_ready)
