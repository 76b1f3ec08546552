"""The graphs of the kit onnx, checked by onnx and run by ONNX Runtime: `tox -e kits`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kits.model_inputs import RUNS, inputs, outputs, same
from v2_conformance.kits.registry import write_kit
from v2_conformance.suite.models import ModelContract, contract

onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed: `tox -e kits`")
runtime: Any = pytest.importorskip(
    "onnxruntime", reason="onnxruntime is not installed: `tox -e kits`"
)

_TYPES = {"FLOAT16": "FP16", "FLOAT": "FP32", "DOUBLE": "FP64", "BFLOAT16": "BF16"}


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("onnx")
    write_kit("onnx", folder)
    return folder


def _graph(kit: Path, model: ModelContract) -> Path:
    return kit / model.model / "1" / "model.onnx"


@pytest.mark.parametrize("model", contract().values(), ids=lambda model: model.model)
def test_its_metadata_is_that_of_the_contract(model: ModelContract, kit: Path) -> None:
    loaded = onnx.load(_graph(kit, model))
    onnx.checker.check_model(loaded, full_check=True)
    for declared, tensors in (
        (loaded.graph.input, model.inputs),
        (loaded.graph.output, model.outputs),
    ):
        for value, tensor in zip(declared, tensors, strict=True):
            assert value.name == tensor.name
            kind = onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type)
            assert _TYPES.get(kind, kind.replace("STRING", "BYTES")) == tensor.datatype
            dims = value.type.tensor_type.shape.dim
            assert tuple(-1 if dim.dim_param else dim.dim_value for dim in dims) == tensor.dims


def test_only_the_batch_is_one_dimension_for_all_tensors(kit: Path) -> None:
    for model in contract().values():
        graph = onnx.load(_graph(kit, model)).graph
        names = [
            dim.dim_param
            for value in graph.input
            for dim in value.type.tensor_type.shape.dim
            if dim.dim_param
        ]
        expected = len(model.inputs) if model.batching else 0
        assert names.count("batch") == expected
        others = [name for name in names if name != "batch"]
        assert len(set(others)) == len(others)


@pytest.mark.parametrize(("model", "size"), RUNS)
def test_it_does_what_the_contract_says(model: ModelContract, size: int, kit: Path) -> None:
    given = inputs(model, size)
    got = _session(kit, model).run(None, given)
    for (name, expected), array in zip(outputs(model, given).items(), got, strict=True):
        assert same(array, expected), name


def _session(kit: Path, model: ModelContract) -> Any:
    options = runtime.SessionOptions()
    options.log_severity_level = 4  # errors that tests provoke
    return runtime.InferenceSession(_graph(kit, model), options, providers=["CPUExecutionProvider"])
