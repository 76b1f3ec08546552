"""The server that `--start` starts, and ends."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from v2_conformance.cli.options import SendingOptions
from v2_conformance.runs.targets.started import OUTPUT, started_server
from v2_conformance.runs.targets.target import Target


def server_under_test(
    options: SendingOptions, target: Target, directory: Path
) -> AbstractContextManager[None]:
    """Run the server of --start, if there is one, while the block lasts."""
    command = options.start_command
    if command is None:
        return nullcontext()
    return started_server(command, target, directory / OUTPUT, options.wait_ready)
