"""A Python program that serves the models with the kserve package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from v2_conformance.kits import Kit, json_file, run_command
from v2_conformance.suite.models import ModelContract, contract

_FILES = Path(__file__).resolve().parent / "files"


def files() -> Iterator[tuple[str, bytes]]:
    """Yield server.py and the models.json that it reads."""
    yield "server.py", (_FILES / "server.py").read_bytes()
    yield "models.json", json_file([_model_spec(model) for model in contract().values()])


def _model_spec(model: ModelContract) -> dict[str, Any]:
    return {
        "name": model.model,
        "does": model.does,
        "inputs": [tensor.metadata() for tensor in model.inputs],
        "outputs": [tensor.metadata() for tensor in model.outputs],
    }


KIT = Kit(_FILES, files, run_command(8080))
