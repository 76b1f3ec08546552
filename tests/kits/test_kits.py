"""The model kits: what is generated, and what is refused. No server is started here."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from support.commands import Cli
from support.servers import free_port
from v2_clients.adapters import ADAPTERS
from v2_clients.command import client
from v2_conformance.cli.run.command import run
from v2_conformance.errors import UsageError
from v2_conformance.kits.registry import KITS, write_kit
from v2_conformance.suite.models import ModelContract, contract
from v2_publishing.trend import version_order

EXPECTATIONS = Path(__file__).parents[1] / "real" / "expectations"


@pytest.mark.parametrize("name", sorted(KITS))
def test_a_kit_has_the_files_and_the_commands_that_it_says(name: str, tmp_path: Path) -> None:
    directory = tmp_path / "new" / "kit"
    files = write_kit(name, directory)
    assert sorted(files) == sorted(path for path in directory.rglob("*") if path.is_file())
    readme = (directory / "README.md").read_text(encoding="utf-8")
    assert "\nStart it: `" in readme
    assert f"`{KITS[name].command}`" in readme
    for path in files:
        assert not re.search(rb"\b(nvcr|docker|ghcr|quay)\.io\b", path.read_bytes())
        if path.suffix == ".py":
            compile(path.read_bytes(), path, "exec")
    with pytest.raises(UsageError, match=r"is not empty"):
        write_kit(name, directory)


@pytest.mark.parametrize("name", ["kserve", "lite-server", "mlserver", "triton"])
def test_the_profiles_of_the_command_are_those_of_the_newest_real_server(name: str) -> None:
    newest = max(EXPECTATIONS.glob(f"{name}-*.yaml"), key=lambda path: version_order(path.stem))
    program, command, *arguments = shlex.split(KITS[name].command)
    assert (program, command) == ("v2-conformance", "run")
    claimed = run.make_context("run", arguments).params["profiles"]
    profiles = yaml.safe_load(newest.read_text(encoding="utf-8"))["profiles"]
    assert ["binary", *claimed] == profiles


@pytest.mark.long
def test_the_server_of_python_is_conformant_and_robust(tmp_path: Path, cli: Cli) -> None:
    write_kit("python", tmp_path / "kit")
    port = str(free_port())
    server = shlex.join([sys.executable, str(tmp_path / "kit" / "server.py"), port])
    given = ("--start", server, "--require", "robust", "--report-dir", tmp_path, "-n", 2)
    cli("run", f"http://127.0.0.1:{port}", *given, code=0)


def test_the_kit_of_clients_has_every_adapter_and_names_it(tmp_path: Path) -> None:
    scripts = {path.name for path in write_kit("clients", tmp_path) if path.suffix == ".py"}
    assert scripts == {"codec.py", *(path.name for path in ADAPTERS.glob("[!_]*.py"))}
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert all(name in text for name in scripts)
    program, command, *arguments = shlex.split(KITS["clients"].command)
    assert (program, command) == ("v2-conformance", "client")
    assert client.make_context(command, arguments)


def test_triton_gets_a_configuration_and_code_for_every_model(tmp_path: Path) -> None:
    write_kit("triton", tmp_path)
    folders = {path.parent.parent.name for path in tmp_path.glob("*/1/model.py")}
    assert folders == {model.model for model in contract().values()}
    expected = """\
name: "{0}"
backend: "python"
max_batch_size: {1}
input {{ name: "INPUT0" data_type: TYPE_{2} dims: [ {3} ] }}
output {{ name: "OUTPUT0" data_type: TYPE_{2} dims: [ {4} ] }}
{5}parameters {{ key: "does" value {{ string_value: "{6}" }} }}
instance_group {{ kind: KIND_CPU count: 1 }}
"""
    second = 'output { name: "OUTPUT1" data_type: TYPE_FP32 dims: [ 3, 1 ] }\n'
    for row in (
        ("identity_bf16", 0, "BF16", "-1", "-1", "", "identity"),
        ("raw_bytes", 0, "STRING", "1", "1", "", "identity"),
        ("raw_batched", 8, "FP32", "-1", "-1", "", "identity"),
        ("raw_two_outputs", 0, "FP32", "-1", "3, 1", second, "first_three"),
    ):
        text = (tmp_path / row[0] / "config.pbtxt").read_text(encoding="utf-8")
        assert text == expected.format(*row)


def test_openvino_gets_all_models_but_bf16(tmp_path: Path) -> None:
    write_kit("openvino", tmp_path)
    names = [m.model for m in contract().values() if m.model != "identity_bf16"]
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    served = [entry["config"] for entry in config["model_config_list"]]
    assert served == [{"name": name, "base_path": name} for name in names]
    for name in names:
        # The model server wants the file, and nobody can map an empty one into memory.
        assert (tmp_path / name / "1" / "model.bin").stat().st_size > 0
    folder = tmp_path / "mixed" / "1"
    layers = list(ElementTree.parse(folder / "model.xml").getroot().iter("layer"))
    # An operation between them would have the plugin convert 64-bit elements.
    assert {layer.get("type") for layer in layers} == {"Parameter", "Result"}
    found = [port for layer in layers for port in layer.findall("output/port")]
    assert [(port.get("names"), port.get("precision"), len(port)) for port in found] == [
        ("INPUT0", "FP16", 2),
        ("INPUT1", "U32", 2),
        ("INPUT2", "BOOL", 1),
    ]
    mapping = json.loads((folder / "mapping_config.json").read_text(encoding="utf-8"))
    assert mapping == {"outputs": {f"INPUT{i}": f"OUTPUT{i}" for i in range(3)}}


def tensors_of(model: ModelContract) -> dict[str, list[dict[str, object]]]:
    """Inputs and outputs as KServe and MLServer are told of them."""
    return {
        field: [{"name": t.name, "datatype": t.datatype, "shape": list(t.dims)} for t in tensors]
        for field, tensors in (("inputs", model.inputs), ("outputs", model.outputs))
    }


def test_kserve_gets_every_model_as_the_contract_has_it(tmp_path: Path) -> None:
    write_kit("kserve", tmp_path)
    models = json.loads((tmp_path / "models.json").read_text(encoding="utf-8"))
    made = [{"name": m.model, "does": m.does, **tensors_of(m)} for m in contract().values()]
    assert [{name: model[name] for name in made[0]} for model in models] == made


def test_lite_server_gets_every_model_as_the_contract_has_it(tmp_path: Path) -> None:
    write_kit("lite-server", tmp_path)
    server = yaml.safe_load((tmp_path / "server.yaml").read_text(encoding="utf-8"))
    assert server["orchestration"]["load_models"] == [m.model for m in contract().values()]
    for model in contract().values():
        folder = tmp_path / server["model_repository"]["path"] / model.model / "1"
        config = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
        named = {"health_check_interval": 0, "name": model.model, "does": model.does}
        assert config == {**named, **tensors_of(model)}


def test_mlserver_gets_every_model_but_bf16_as_the_contract_has_it(tmp_path: Path) -> None:
    write_kit("mlserver", tmp_path)
    # MLServer refuses to load a model with a datatype that it does not support.
    models = [model for model in contract().values() if model.model != "identity_bf16"]
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {m.model for m in models}
    for model in models:
        path = tmp_path / model.model / "model-settings.json"
        settings = json.loads(path.read_text(encoding="utf-8"))
        assert settings["name"] == model.model
        assert settings["implementation"] == "contract_model.ContractModel"
        assert settings["parameters"]["extra"]["does"] == model.does
        assert {name: settings[name] for name in ("inputs", "outputs")} == tensors_of(model)
    settings = json.loads((tmp_path / "settings.json").read_text(encoding="utf-8"))
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    # In debug mode, the default, its responses contain tracebacks with paths of the machine.
    assert settings["debug"] is False
    assert f"http://{settings['host']}:{settings['http_port']}`" in readme
