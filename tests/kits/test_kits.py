"""The model kits: what is generated, and what is refused. No server is started here."""

from __future__ import annotations

import json
import os
import py_compile
import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from v2_clients.adapters import ADAPTERS
from v2_clients.command import client
from v2_conformance.cli.run.command import run
from v2_conformance.errors import UsageError
from v2_conformance.kits.registry import KITS, write_kit
from v2_conformance.suite.models import contract

NEEDS = {"onnx": "onnx is not installed: `tox -e kits`"}
NAMES = [
    pytest.param(name, marks=pytest.mark.skipif(missing, reason=NEEDS.get(name, "")))
    for name in sorted(KITS)
    for missing in [name in NEEDS and find_spec(name) is None]
]
WITH_PYTHON = ["clients", "kserve", "mlserver", "triton"]
EXPECTATIONS = Path(__file__).parents[1] / "real" / "expectations"


@pytest.fixture(scope="session", autouse=True)
def _everything_is_tested_where_everything_is_installed() -> None:
    if os.environ.get("V2_KITS"):
        for module in ("onnx", "onnxruntime", "openvino"):
            assert find_spec(module), f"{module} is not installed"


@pytest.mark.parametrize("name", NAMES)
def test_a_kit_returns_exactly_the_files_it_wrote(name: str, tmp_path: Path) -> None:
    directory = tmp_path / "new" / "kit"
    files = write_kit(name, directory)
    assert sorted(files) == sorted(path for path in directory.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", NAMES)
def test_readme_has_the_commands_of_the_kit(name: str, tmp_path: Path) -> None:
    write_kit(name, tmp_path)
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "\nStart it: `" in readme
    assert f"`{KITS[name].command}`" in readme
    assert "{command}" not in readme


@pytest.mark.parametrize("name", sorted(KITS))
def test_the_command_of_a_kit_is_one_that_the_program_takes(name: str) -> None:
    program, command, *arguments = shlex.split(KITS[name].command)
    assert program == "v2-conformance"
    assert {"run": run, "client": client}[command].make_context(command, arguments)


@pytest.mark.parametrize("name", ["kserve", "mlserver", "triton"])
def test_the_profiles_of_the_command_are_those_of_the_newest_real_server(name: str) -> None:
    def release(path: Path) -> list[int]:
        return [int(part) for part in path.stem.rpartition("-")[2].split(".")]

    newest = max(EXPECTATIONS.glob(f"{name}-*.yaml"), key=release)
    arguments = shlex.split(KITS[name].command)[2:]
    claimed = run.make_context("run", arguments).params["profiles"]
    profiles = yaml.safe_load(newest.read_text(encoding="utf-8"))["profiles"]
    assert ["binary", *claimed] == profiles


@pytest.mark.parametrize("name", NAMES)
def test_no_file_names_a_registry(name: str, tmp_path: Path) -> None:
    for path in write_kit(name, tmp_path):
        assert not re.search(rb"\b(nvcr\.io|docker\.io|ghcr\.io|quay\.io)\b", path.read_bytes())


def test_the_readme_of_the_clients_names_every_script_and_the_command(tmp_path: Path) -> None:
    files = write_kit("clients", tmp_path)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "`v2-conformance client -- python plain.py`" in text
    assert all(path.name in text for path in files if path.suffix == ".py")


def test_every_script_for_a_client_is_written(tmp_path: Path) -> None:
    scripts = {path.name for path in write_kit("clients", tmp_path) if path.suffix == ".py"}
    assert scripts == {"codec.py", *(path.name for path in ADAPTERS.glob("[!_]*.py"))}


@pytest.mark.parametrize("name", WITH_PYTHON)
def test_the_python_of_a_kit_compiles(name: str, tmp_path: Path) -> None:
    sources = [path for path in write_kit(name, tmp_path / "kit") if path.suffix == ".py"]
    assert sources
    for source in sources:
        py_compile.compile(str(source), cfile=str(tmp_path / "out.pyc"), doraise=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_with_something_in_it_is_refused_and_left_alone(name: str, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match=r"is not empty") as refused:
        write_kit(name, tmp_path)
    assert "\n" not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(UsageError, match="cannot write the kit"):
        write_kit("triton", file)


def test_an_unknown_kit_is_refused_and_the_kits_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown kit 'seldon': the kits are .*kserve.*triton"):
        write_kit("seldon", tmp_path / "kit")
    assert not (tmp_path / "kit").exists()


def test_an_unknown_kit_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^unknown kit 'Tritn': did you mean triton\? "):
        write_kit("Tritn", tmp_path / "kit")


def test_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("v2_conformance.kits.registry.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"needs the package onnx: pip install .*\[onnx\]'$"):
        write_kit("onnx", tmp_path / "kit")
    assert not (tmp_path / "kit").exists()


def test_triton_gets_a_configuration_and_code_for_every_model(tmp_path: Path) -> None:
    write_kit("triton", tmp_path)
    folders = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    assert folders == {model.model for model in contract().values()}
    for model in contract().values():
        config = (tmp_path / model.model / "config.pbtxt").read_text(encoding="utf-8")
        assert f'name: "{model.model}"' in config
        assert (tmp_path / model.model / "1" / "model.py").is_file()


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (
            "identity_bf16",
            """\
name: "identity_bf16"
backend: "python"
max_batch_size: 0
input { name: "INPUT0" data_type: TYPE_BF16 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_BF16 dims: [ -1 ] }
parameters { key: "does" value { string_value: "identity" } }
instance_group { kind: KIND_CPU count: 1 }
""",
        ),
        (
            "raw_bytes",
            """\
name: "raw_bytes"
backend: "python"
max_batch_size: 0
input { name: "INPUT0" data_type: TYPE_STRING dims: [ 1 ] }
output { name: "OUTPUT0" data_type: TYPE_STRING dims: [ 1 ] }
parameters { key: "does" value { string_value: "identity" } }
instance_group { kind: KIND_CPU count: 1 }
""",
        ),
        (
            "raw_batched",
            """\
name: "raw_batched"
backend: "python"
max_batch_size: 8
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
parameters { key: "does" value { string_value: "identity" } }
instance_group { kind: KIND_CPU count: 1 }
""",
        ),
        (
            "raw_two_outputs",
            """\
name: "raw_two_outputs"
backend: "python"
max_batch_size: 0
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 3, 1 ] }
output { name: "OUTPUT1" data_type: TYPE_FP32 dims: [ 3, 1 ] }
parameters { key: "does" value { string_value: "first_three" } }
instance_group { kind: KIND_CPU count: 1 }
""",
        ),
    ],
)
def test_the_triton_configuration(model: str, expected: str, tmp_path: Path) -> None:
    write_kit("triton", tmp_path)
    assert (tmp_path / model / "config.pbtxt").read_text(encoding="utf-8") == expected


def test_openvino_gets_all_models_but_bf16(tmp_path: Path) -> None:
    write_kit("openvino", tmp_path)
    names = [m.model for m in contract().values() if m.model != "identity_bf16"]
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    served = [entry["config"] for entry in config["model_config_list"]]
    assert served == [{"name": name, "base_path": name} for name in names]
    for name in names:
        network = ElementTree.parse(tmp_path / name / "1" / "model.xml").getroot()
        assert network.get("name") == name
        # The model server wants the file, and nobody can map an empty one into memory.
        assert (tmp_path / name / "1" / "model.bin").stat().st_size > 0


def test_openvino_identities_connect_inputs_to_outputs_and_name_both(tmp_path: Path) -> None:
    write_kit("openvino", tmp_path)
    folder = tmp_path / "mixed" / "1"
    layers = list(ElementTree.parse(folder / "model.xml").getroot().iter("layer"))
    # An operation between them would have the plugin convert 64-bit elements.
    assert {layer.get("type") for layer in layers} == {"Parameter", "Result"}
    ports = [
        (port.get("names"), port.get("precision"), [dim.text for dim in port])
        for layer in layers
        for port in layer.findall("output/port")
    ]
    assert ports == [
        ("INPUT0", "FP16", ["-1", "-1"]),
        ("INPUT1", "U32", ["-1", "-1"]),
        ("INPUT2", "BOOL", ["-1"]),
    ]
    mapping = json.loads((folder / "mapping_config.json").read_text(encoding="utf-8"))
    assert mapping == {"outputs": {f"INPUT{i}": f"OUTPUT{i}" for i in range(3)}}


def test_kserve_gets_every_model_as_the_contract_has_it(tmp_path: Path) -> None:
    write_kit("kserve", tmp_path)
    models = json.loads((tmp_path / "models.json").read_text(encoding="utf-8"))
    assert [model["name"] for model in models] == [m.model for m in contract().values()]
    for entry, model in zip(models, contract().values(), strict=True):
        assert entry["does"] == model.does
        for field, tensors in (("inputs", model.inputs), ("outputs", model.outputs)):
            assert entry[field] == [
                {"name": t.name, "datatype": t.datatype, "shape": list(t.dims)} for t in tensors
            ]


def test_kserve_says_which_versions_it_is_for(tmp_path: Path) -> None:
    write_kit("kserve", tmp_path)
    assert "kserve>=0.14.1" in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_mlserver_gets_a_folder_for_every_model_but_bf16(tmp_path: Path) -> None:
    write_kit("mlserver", tmp_path)
    folders = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    # MLServer refuses to load a model with a datatype that it does not support.
    assert folders == {model.model for model in contract().values()} - {"identity_bf16"}


def test_mlserver_settings_say_what_the_contract_says(tmp_path: Path) -> None:
    write_kit("mlserver", tmp_path)
    for model in contract().values():
        path = tmp_path / model.model / "model-settings.json"
        if not path.is_file():
            continue
        settings = json.loads(path.read_text(encoding="utf-8"))
        assert settings["name"] == model.model
        assert settings["parameters"]["extra"]["does"] == model.does
        for field, tensors in (("inputs", model.inputs), ("outputs", model.outputs)):
            assert settings[field] == [
                {"name": t.name, "datatype": t.datatype, "shape": list(t.dims)} for t in tensors
            ]


def test_every_mlserver_model_is_the_class_of_the_kit(tmp_path: Path) -> None:
    write_kit("mlserver", tmp_path)
    assert "class ContractModel(" in (tmp_path / "contract_model.py").read_text(encoding="utf-8")
    for path in tmp_path.glob("*/model-settings.json"):
        settings = json.loads(path.read_text(encoding="utf-8"))
        assert settings["implementation"] == "contract_model.ContractModel"


def test_mlserver_settings_are_those_of_the_readme(tmp_path: Path) -> None:
    write_kit("mlserver", tmp_path)
    settings = json.loads((tmp_path / "settings.json").read_text(encoding="utf-8"))
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    # In debug mode, the default, its responses contain tracebacks with paths of the machine.
    assert settings["debug"] is False
    assert f"http://{settings['host']}:{settings['http_port']}`" in readme
    assert str(settings["grpc_port"]) in readme
