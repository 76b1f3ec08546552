"""A model repository for Triton's Python backend, and a script that serves it from a wheel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from v2_conformance.kits import Kit, run_command
from v2_conformance.suite.models import ModelContract, TensorSpec, contract

_FILES = Path(__file__).resolve().parent / "files"
_MAX_BATCH_SIZE = 8


def files() -> Iterator[tuple[str, bytes]]:
    """Yield serve_wheel.py, and NAME/config.pbtxt and NAME/1/model.py for each model."""
    yield "serve_wheel.py", (_FILES / "serve_wheel.py").read_bytes()
    for model in contract().values():
        yield f"{model.model}/config.pbtxt", _config(model).encode()
        yield f"{model.model}/1/model.py", (_FILES / "model.py").read_bytes()


def _config(model: ModelContract) -> str:
    """Return the Triton configuration of one model; its code reads what it `does`."""
    lines = [
        f'name: "{model.model}"',
        'backend: "python"',
        f"max_batch_size: {_MAX_BATCH_SIZE if model.batching else 0}",
        *(_tensor("input", model, tensor) for tensor in model.inputs),
        *(_tensor("output", model, tensor) for tensor in model.outputs),
        f'parameters {{ key: "does" value {{ string_value: "{model.does}" }} }}',
        "instance_group { kind: KIND_CPU count: 1 }",
        "",
    ]
    return "\n".join(lines)


def _tensor(field: str, model: ModelContract, tensor: TensorSpec) -> str:
    # Triton's configuration still calls BYTES by its older name.
    datatype = "STRING" if tensor.datatype == "BYTES" else tensor.datatype
    # It leaves out the batch dimension of a batching model.
    dims = tensor.dims[1:] if model.batching else tensor.dims
    shown = ", ".join(map(str, dims))
    return f'{field} {{ name: "{tensor.name}" data_type: TYPE_{datatype} dims: [ {shown} ] }}'


KIT = Kit(
    _FILES,
    files,
    run_command(
        8000,
        *("raw", "bf16", "compression", "compression-responses"),
        # Some requests hang a model, some kill one or the server.
        more="--timeout 10 --restart-command 'python serve_wheel.py --restart'",
    ),
)
