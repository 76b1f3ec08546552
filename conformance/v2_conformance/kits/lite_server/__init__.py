"""A model repository for lite-server, the package miraserver: a folder for each model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from v2_conformance.kits import Kit, json_file, run_command
from v2_conformance.suite.models import contract

_FILES = Path(__file__).resolve().parent / "files"


def files() -> Iterator[tuple[str, bytes]]:
    """Yield server.yaml, and NAME/1/model.py and NAME/1/config.yaml for each model."""
    models = contract().values()
    # JSON is YAML.
    server = {
        "server": {"host": "127.0.0.1", "http_port": 8000},
        "grpc": {"enabled": False},
        "metrics": {"enabled": False},
        "model_repository": {"path": "models"},
        "orchestration": {"control_mode": "explicit", "load_models": [m.model for m in models]},
    }
    yield "server.yaml", json_file(server)
    for model in models:
        yield f"models/{model.model}/1/model.py", (_FILES / "model.py").read_bytes()
        config = {
            # A probe that is late, as on a busy machine, would take the model away for seconds.
            "health_check_interval": 0,
            "does": model.does,
            **model.metadata(),
        }
        yield f"models/{model.model}/1/config.yaml", json_file(config)


KIT = Kit(_FILES, files, run_command(8000, "bf16"))
