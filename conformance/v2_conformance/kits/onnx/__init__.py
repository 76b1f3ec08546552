"""The models as ONNX graphs, in the layout of a Triton model repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from v2_conformance.kits import Kit, run_command, triton
from v2_conformance.suite.models import ModelContract, TensorSpec, contract

# Old ones that every runtime reads: the first in which Identity takes BF16, and its file format.
_OPSET = 13
_IR_VERSION = 7


def files() -> Iterator[tuple[str, bytes]]:
    """Yield NAME/config.pbtxt and NAME/1/model.onnx for each model. Needs the package onnx."""
    for model in contract().values():
        yield f"{model.model}/config.pbtxt", triton.config_pbtxt(model, "onnxruntime").encode()
        yield f"{model.model}/1/model.onnx", onnx_model(model)


def onnx_model(model: ModelContract) -> bytes:
    """The ONNX file of one model."""
    # An extra: whoever writes another kit does not need it.
    from onnx import checker, helper

    nodes, constants = _first_three() if model.does == "first_three" else (_identity(model), [])
    graph = helper.make_graph(
        nodes,
        model.model,
        [_value_info(model, tensor) for tensor in model.inputs],
        [_value_info(model, tensor) for tensor in model.outputs],
        constants,
    )
    opset = helper.make_opsetid("", _OPSET)
    made = helper.make_model(
        graph, opset_imports=[opset], ir_version=_IR_VERSION, producer_name="v2-conformance"
    )
    checker.check_model(made, full_check=True)
    content: bytes = made.SerializeToString(deterministic=True)
    return content


def _value_info(model: ModelContract, tensor: TensorSpec) -> Any:
    from onnx import TensorProto, helper

    # Other names, because equal ones stand for equal dimensions.
    dims: list[int | str] = [
        f"{tensor.name}_{axis}" if size < 0 else size for axis, size in enumerate(tensor.dims)
    ]
    if model.batching:
        dims[0] = "batch"
    names = {"FP16": "FLOAT16", "FP32": "FLOAT", "FP64": "DOUBLE", "BF16": "BFLOAT16"}
    name = names.get(tensor.datatype, tensor.datatype.replace("BYTES", "STRING"))
    return helper.make_tensor_value_info(tensor.name, TensorProto.DataType.Value(name), dims)


def _identity(model: ModelContract) -> list[Any]:
    from onnx import helper

    return [
        helper.make_node("Identity", [source.name], [result.name])
        for source, result in zip(model.inputs, model.outputs, strict=True)
    ]


def _first_three() -> tuple[list[Any], list[Any]]:
    from onnx import TensorProto, helper

    def constant(name: str, values: list[int]) -> Any:
        return helper.make_tensor(name, TensorProto.INT64, [len(values)], values)

    nodes = [
        helper.make_node("Slice", ["INPUT0", "start", "end"], ["three"]),
        helper.make_node("Reshape", ["three", "shape"], ["OUTPUT0"]),
        helper.make_node("Neg", ["OUTPUT0"], ["OUTPUT1"]),
    ]
    return nodes, [constant("start", [0]), constant("end", [3]), constant("shape", [3, 1])]


KIT = Kit(Path(__file__).parent / "files", files, run_command(8000, "raw"), requires="onnx")
