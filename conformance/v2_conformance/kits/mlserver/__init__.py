"""A folder of models for MLServer, each with its model-settings.json."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from v2_conformance.kits.kit import Kit, run_command
from v2_conformance.suite.models import ModelContract, contract

_FILES = Path(__file__).resolve().parent / "files"
# MLServer supports the 13 datatypes of the V2 protocol and refuses to load models with others.
_UNSUPPORTED_DATATYPE = "BF16"


def write(directory: Path) -> list[Path]:
    """Write settings.json, contract_model.py and NAME/model-settings.json for each model."""
    written = []
    for name in ("settings.json", "contract_model.py"):
        shutil.copyfile(_FILES / name, directory / name)
        written.append(directory / name)
    for model in contract().values():
        if any(tensor.datatype == _UNSUPPORTED_DATATYPE for tensor in model.inputs):
            continue
        settings = directory / model.model / "model-settings.json"
        settings.parent.mkdir()
        text = json.dumps(_settings(model), indent=1) + "\n"
        settings.write_text(text, encoding="utf-8", newline="\n")
        written.append(settings)
    return written


def _settings(model: ModelContract) -> dict[str, Any]:
    return {
        "name": model.model,
        "implementation": "contract_model.ContractModel",
        "parameters": {"extra": {"does": model.does}},
        "inputs": [tensor.metadata() for tensor in model.inputs],
        "outputs": [tensor.metadata() for tensor in model.outputs],
    }


KIT = Kit(_FILES, write, run_command(8080))
