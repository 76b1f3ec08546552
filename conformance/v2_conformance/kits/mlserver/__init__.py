"""A folder of models for MLServer, each with its model-settings.json."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from v2_conformance.kits import Kit, json_file, run_command
from v2_conformance.suite.models import ModelContract, contract

_FILES = Path(__file__).resolve().parent / "files"
# MLServer supports the 13 datatypes of the V2 protocol and refuses to load models with others.
_UNSUPPORTED_DATATYPE = "BF16"


def files() -> Iterator[tuple[str, bytes]]:
    """Yield settings.json, contract_model.py and NAME/model-settings.json for each model."""
    for name in ("settings.json", "contract_model.py"):
        yield name, (_FILES / name).read_bytes()
    for model in contract().values():
        if _UNSUPPORTED_DATATYPE not in model.datatypes:
            yield f"{model.model}/model-settings.json", json_file(_settings(model))


def _settings(model: ModelContract) -> dict[str, Any]:
    return {
        **model.metadata(),
        "implementation": "contract_model.ContractModel",
        "parameters": {"extra": {"does": model.does}},
    }


KIT = Kit(_FILES, files, run_command(8080))
