"""A Python program that serves the models with the kserve package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from v2_conformance.kits import Kit, json_file, run_command
from v2_conformance.suite.models import contract

_FILES = Path(__file__).resolve().parent / "files"


def files() -> Iterator[tuple[str, bytes]]:
    """Yield server.py and the models.json that it reads."""
    yield "server.py", (_FILES / "server.py").read_bytes()
    models = [{"does": model.does, **model.metadata()} for model in contract().values()]
    yield "models.json", json_file(models)


KIT = Kit(_FILES, files, run_command(8080))
