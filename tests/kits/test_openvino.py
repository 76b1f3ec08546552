"""The models of the kit openvino, loaded and run by OpenVINO: `tox -e kits`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kits.model_inputs import MODELS, RUNS, Array, inputs, outputs, same
from v2_conformance.kits.registry import write_kit
from v2_conformance.suite.models import ModelContract

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


@pytest.mark.parametrize(("model", "size"), RUNS)
def test_keeps_the_contract(model: ModelContract, size: int, kit: Path, core: Any) -> None:
    folder = kit / model.model / "1"
    compiled = core.compile_model(core.read_model(folder / "model.xml"), "CPU")
    given = inputs(model, size)
    request = compiled.create_infer_request()
    for name, array in given.items():
        request.set_tensor(name, openvino.Tensor(_as_openvino_has_it(array)))
    request.infer()
    expected = outputs(model, given)
    names = _names(folder, compiled.outputs, "outputs")
    assert names == list(expected)
    for index, name in enumerate(names):
        tensor = request.get_output_tensor(index)
        got = tensor.str_data if expected[name].dtype == np.object_ else tensor.data
        assert same(got, expected[name]), name


def _as_openvino_has_it(array: Array) -> Array:
    return array.astype(np.str_) if array.dtype == np.object_ else np.ascontiguousarray(array)
