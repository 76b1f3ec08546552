"""The models of the kit openvino, loaded and run by OpenVINO: `tox -e kits`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from v2_conformance.kits.registry import write_kit
from v2_conformance.suite.models import ModelContract, contract

Array = npt.NDArray[np.generic]
# Numpy has no BF16.
MODELS = [model for model in contract().values() if "BF16" not in model.datatypes]

# As bits, so that numbers for which there is no literal are among them: NaNs with a payload, the
# least positive numbers, and integers that no float and no smaller integer can hold.
_BITS: dict[str, Array] = {
    "BOOL": np.array([1, 0, 1], np.uint8).view(np.bool_),
    "UINT8": np.array([255, 0, 128], np.uint8),
    "UINT16": np.array([0xFFFF, 0, 0x8001], np.uint16),
    "UINT32": np.array([0xFFFFFFFF, 0, 0x80000001], np.uint32),
    "UINT64": np.array([0xFFFFFFFFFFFFFFFF, 0, 0x8000000000000001], np.uint64),
    "INT8": np.array([-128, 127, -1], np.int8),
    "INT16": np.array([-0x8000, 0x7FFF, -1], np.int16),
    "INT32": np.array([-0x80000000, 0x7FFFFFFF, -1], np.int32),
    "INT64": np.array([-(1 << 63), (1 << 63) - 1, 1 << 53 | 1], np.int64),
    "FP16": np.array([0x7E01, 0x0001, 0x8000], np.uint16).view(np.float16),
    "FP32": np.array([0x7FC00001, 0x00000001, 0x80000000], np.uint32).view(np.float32),
    "FP64": np.array([0x7FF8000000000001, 1, 1 << 63], np.uint64).view(np.float64),
    "BYTES": np.array(["", "a\0b", "größer"], np.object_),
}

openvino: Any = pytest.importorskip("openvino", reason="openvino is not installed: `tox -e kits`")


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("openvino")
    write_kit("openvino", folder)
    return folder


@pytest.fixture(scope="module")
def core() -> Any:
    return openvino.Core()


def _names(folder: Path, ports: list[Any], kind: str) -> list[str]:
    """The names of a model's inputs or outputs as OpenVINO Model Server shows them."""
    mapping = folder / "mapping_config.json"
    names = json.loads(mapping.read_text("utf-8")).get(kind, {}) if mapping.is_file() else {}
    return [names.get(port.get_any_name(), port.get_any_name()) for port in ports]


def _datatype(port: Any) -> str:
    name: str = port.get_element_type().get_type_name()
    special = {"boolean": "BOOL", "string": "BYTES"}
    if name in special:
        return special[name]
    return {"u": "UINT", "i": "INT", "f": "FP"}[name[0]] + name[1:]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.model)
def test_its_metadata_is_that_of_the_contract(model: ModelContract, kit: Path, core: Any) -> None:
    folder = kit / model.model / "1"
    network = core.read_model(folder / "model.xml")
    for kind, ports, tensors in (
        ("inputs", network.inputs, model.inputs),
        ("outputs", network.outputs, model.outputs),
    ):
        assert _names(folder, ports, kind) == [tensor.name for tensor in tensors]
        assert [_datatype(port) for port in ports] == [tensor.datatype for tensor in tensors]
        assert [
            tuple(-1 if size.is_dynamic else size.get_length() for size in port.get_partial_shape())
            for port in ports
        ] == [tensor.dims for tensor in tensors]


def _given(model: ModelContract, size: int) -> dict[str, Array]:
    """Return an array for each input; every variable dimension has this `size`."""
    given = {}
    for tensor in model.inputs:
        shape = tuple(size if dim < 0 else dim for dim in tensor.dims)
        given[tensor.name] = np.resize(_BITS[tensor.datatype], shape)
    if model.does == "first_three":  # it computes, and the contract does not say what of a NaN
        given["INPUT0"] = np.arange(1, size + 1).astype(given["INPUT0"].dtype)
    return given


def _expected(model: ModelContract, given: dict[str, Array]) -> dict[str, Array]:
    if model.does == "first_three":
        three = given["INPUT0"].reshape(-1)[:3].reshape(3, 1)
        return {"OUTPUT0": three, "OUTPUT1": np.negative(three)}
    pairs = zip(model.inputs, model.outputs, strict=True)
    return {result.name: given[source.name] for source, result in pairs}


@pytest.mark.parametrize(
    ("model", "size"),
    [(m, n) for m in MODELS for n in (0, 1, 3, 5) if m.does == "identity" or n >= 3],
    ids=lambda value: getattr(value, "model", value),
)
def test_keeps_the_contract(model: ModelContract, size: int, kit: Path, core: Any) -> None:
    folder = kit / model.model / "1"
    compiled = core.compile_model(core.read_model(folder / "model.xml"), "CPU")
    given = _given(model, size)
    request = compiled.create_infer_request()
    for name, array in given.items():
        texts = array.dtype == np.object_
        held = array.astype(np.str_) if texts else np.ascontiguousarray(array)
        request.set_tensor(name, openvino.Tensor(held))
    request.infer()
    expected = _expected(model, given)
    names = _names(folder, compiled.outputs, "outputs")
    assert names == list(expected)
    for index, name in enumerate(names):
        tensor = request.get_output_tensor(index)
        wanted = expected[name]
        if wanted.dtype == np.object_:
            assert np.array_equal(tensor.str_data, wanted)
        else:
            got = tensor.data.dtype, tensor.data.shape, tensor.data.tobytes()
            assert got == (wanted.dtype, wanted.shape, wanted.tobytes())
