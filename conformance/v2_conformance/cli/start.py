"""The option `--start`: a run starts the server under test, and ends it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import cloup

if TYPE_CHECKING:
    from v2_conformance.runs.targets.target import Target

START = cloup.option(
    "--start",
    "start_command",
    metavar="COMMAND",
    help="Start the server with this shell command, wait until it is ready (--wait-ready, here 60 "
    "by default), and end it at the end. What it prints is in server.log beside the report.",
)


def server_under_test(
    command: str | None, target: Target, directory: Path, ready_within_s: float | None
) -> AbstractContextManager[int | None]:
    """The process of the server that `command` starts, while the block lasts; without one, None."""
    from v2_conformance.runs.targets.started import OUTPUT, started_server

    if command is None:
        return nullcontext()
    return started_server(command, target, directory / OUTPUT, ready_within_s)
