"""Model kits: what to deploy on a real server so that it serves the models of the contract.

A kit is generated from `contract()`, so only cases/models.yaml says what a model looks like. The
files in `NAME/files/` are copied as they are; they run on the vendor's server. Only README.md has
the kit's command filled in. The kit `clients` has no models: its scripts put clients on the bench.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from v2_conformance.elsewhere import elsewhere
from v2_conformance.errors import UsageError
from v2_conformance.kits import Kit, json_file, openvino_ir, run_command
from v2_conformance.suite.models import ModelContract, TensorSpec, contract
from v2_conformance.terminal_safe_text import did_you_mean

_FOLDER = Path(__file__).resolve().parent
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
    return (_FOLDER / path).read_bytes()


# Some requests hang a model of Triton, some kill one or the server.
_RESTARTED = "--timeout 10 --restart-command 'python serve_wheel.py --restart'"
_TRITON = ("raw", "bf16", "compression", "compression-responses")


def _kit(name: str, files: Callable[[], Files], command: str) -> Kit:
    return Kit(_FOLDER / name / "files", files, command)


KITS: dict[str, Kit] = {
    "clients": elsewhere("kit clients"),
    "kserve": _kit("kserve", kserve, run_command(8080)),
    "lite-server": _kit("lite_server", lite_server, run_command(8000, "bf16")),
    "mlserver": _kit("mlserver", mlserver, run_command(8080)),
    "openvino": _kit("openvino", openvino_ir.files, run_command(8000)),
    "python": _kit("python", python, run_command(8000)),
    "triton": _kit("triton", triton, run_command(8000, *_TRITON, more=_RESTARTED)),
}


def write_kit(name: str, directory: Path) -> list[Path]:
    """Write a kit to a new or empty `directory` and return its files. Raises UsageError."""
    kit = KITS.get(name)
    if kit is None:
        hint = did_you_mean(name, KITS, f"the kits are {', '.join(sorted(KITS))}")
        raise UsageError(f"unknown kit {name!r}: {hint}")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise UsageError(f"{directory} is not empty: choose a new or empty folder for the kit")
        readme = (kit.folder / "README.md").read_bytes()
        files = dict(kit.files())
        files["README.md"] = readme.replace(b"{command}", kit.command.encode())
        for path, content in files.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_bytes(content)
        return [directory / path for path in files]
    except OSError as error:
        raise UsageError(
            f"cannot write the kit to {directory}: {error.strerror or error}"
        ) from error
