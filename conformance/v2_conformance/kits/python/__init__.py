"""A server of one file on Python's standard library, to run, read or write again elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from v2_conformance.kits import Kit, json_file, run_command
from v2_conformance.suite.models import contract

_FILES = Path(__file__).resolve().parent / "files"


def files() -> Iterator[tuple[str, bytes]]:
    """Yield server.py and the models.json that it reads: what it needs for the profile binary."""
    yield "server.py", (_FILES / "server.py").read_bytes()
    models = (model for model in contract().values() if model.profile == "binary")
    yield "models.json", json_file({model.model: model.metadata() for model in models})


KIT = Kit(_FILES, files, run_command(8000))
