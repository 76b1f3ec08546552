"""A Python program that serves the models with the kserve package."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from v2_conformance.kits.kit import Kit, run_command
from v2_conformance.suite.models import ModelContract, contract

_FILES = Path(__file__).resolve().parent / "files"


def write(directory: Path) -> list[Path]:
    """Write server.py and the models.json that it reads."""
    server = directory / "server.py"
    models = directory / "models.json"
    shutil.copyfile(_FILES / "server.py", server)
    specs = [_model_spec(model) for model in contract().values()]
    models.write_text(json.dumps(specs, indent=1) + "\n", encoding="utf-8", newline="\n")
    return [server, models]


def _model_spec(model: ModelContract) -> dict[str, Any]:
    return {
        "name": model.model,
        "does": model.does,
        "inputs": [tensor.metadata() for tensor in model.inputs],
        "outputs": [tensor.metadata() for tensor in model.outputs],
    }


KIT = Kit(_FILES, write, run_command(8080))
