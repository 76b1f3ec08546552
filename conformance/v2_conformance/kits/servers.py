"""The files of the kits for servers, made of the models of the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from v2_conformance.kits import json_file
from v2_conformance.suite.models import ModelContract, TensorSpec, contract

FOLDER = Path(__file__).resolve().parent
# MLServer supports the 13 datatypes of the V2 protocol and refuses to load models with others.
_NOT_IN_MLSERVER = "BF16"
_TRITONS_BATCHES = 8

Files = Iterator[tuple[str, bytes]]


def kserve() -> Files:
    """Yield a program that serves the models with the kserve package, and what it reads."""
    yield "server.py", _copied("kserve/files/server.py")
    models = [{"does": model.does, **model.metadata()} for model in contract().values()]
    yield "models.json", json_file(models)


def python() -> Files:
    """Yield a server on Python's standard library, and the models of the profile binary."""
    for name in ("server.py", "identity.py"):
        yield name, _copied(f"python/files/{name}")
    models = (model for model in contract().values() if model.profile == "binary")
    yield "models.json", json_file({model.model: model.metadata() for model in models})


def mlserver() -> Files:
    """Yield a folder of models for MLServer, each with its model-settings.json."""
    for name in ("settings.json", "contract_model.py"):
        yield name, _copied(f"mlserver/files/{name}")
    for model in contract().values():
        if _NOT_IN_MLSERVER not in model.datatypes:
            settings = {
                **model.metadata(),
                "implementation": "contract_model.ContractModel",
                "parameters": {"extra": {"does": model.does}},
            }
            yield f"{model.model}/model-settings.json", json_file(settings)


def lite_server() -> Files:
    """Yield a model repository for lite-server, the package miraserver."""
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
        yield f"models/{model.model}/1/model.py", _copied("lite_server/files/model.py")
        config = {
            # A probe that is late, as on a busy machine, would take the model away for seconds.
            "health_check_interval": 0,
            "does": model.does,
            **model.metadata(),
        }
        yield f"models/{model.model}/1/config.yaml", json_file(config)


def triton() -> Files:
    """Yield a model repository for Triton's Python backend, and a script that serves it."""
    yield "serve_wheel.py", _copied("triton/files/serve_wheel.py")
    for model in contract().values():
        lines = [
            f'name: "{model.model}"',
            'backend: "python"',
            f"max_batch_size: {_TRITONS_BATCHES if model.batching else 0}",
            *(_in_triton("input", model, tensor) for tensor in model.inputs),
            *(_in_triton("output", model, tensor) for tensor in model.outputs),
            f'parameters {{ key: "does" value {{ string_value: "{model.does}" }} }}',
            "instance_group { kind: KIND_CPU count: 1 }",
            "",
        ]
        yield f"{model.model}/config.pbtxt", "\n".join(lines).encode()
        yield f"{model.model}/1/model.py", _copied("triton/files/model.py")


def _in_triton(field: str, model: ModelContract, tensor: TensorSpec) -> str:
    # Triton's configuration still calls BYTES by its older name.
    datatype = "STRING" if tensor.datatype == "BYTES" else tensor.datatype
    # It leaves out the batch dimension of a batching model.
    dims = tensor.dims[1:] if model.batching else tensor.dims
    shown = ", ".join(map(str, dims))
    return f'{field} {{ name: "{tensor.name}" data_type: TYPE_{datatype} dims: [ {shown} ] }}'


def _copied(path: str) -> bytes:
    return (FOLDER / path).read_bytes()
