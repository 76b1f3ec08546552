"""The model kits: what is generated, and what is refused. No server is started here."""

from __future__ import annotations

import json
import py_compile
from pathlib import Path

import pytest

from v2_conformance.errors import UsageError
from v2_conformance.kits import KITS, write_kit
from v2_conformance.kits.clients import ADAPTERS
from v2_conformance.suite.models import contract


@pytest.mark.parametrize("name", sorted(KITS))
def test_a_kit_returns_exactly_the_files_it_wrote(name: str, tmp_path: Path) -> None:
    directory = tmp_path / "new" / "kit"
    files = write_kit(name, directory)
    assert sorted(files) == sorted(path for path in directory.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", sorted(set(KITS) - {"clients"}))
def test_a_readme_of_three_lines_says_how_to_start_and_run(name: str, tmp_path: Path) -> None:
    write_kit(name, tmp_path)
    lines = (tmp_path / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("Start it: `")
    assert "`v2-conformance run http://" in lines[2]


def test_the_readme_of_the_clients_names_every_script_and_the_command(tmp_path: Path) -> None:
    files = write_kit("clients", tmp_path)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "`v2-conformance client -- python plain.py`" in text
    assert all(path.name in text for path in files if path.suffix == ".py")


def test_every_script_for_a_client_is_written(tmp_path: Path) -> None:
    scripts = {path.name for path in write_kit("clients", tmp_path) if path.suffix == ".py"}
    assert scripts == {path.name for path in ADAPTERS.glob("[!_]*.py")}


@pytest.mark.parametrize("name", sorted(KITS))
def test_the_python_of_a_kit_compiles(name: str, tmp_path: Path) -> None:
    sources = [path for path in write_kit(name, tmp_path / "kit") if path.suffix == ".py"]
    assert sources
    for source in sources:
        py_compile.compile(str(source), cfile=str(tmp_path / "out.pyc"), doraise=True)


@pytest.mark.parametrize("name", sorted(KITS))
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


def test_mlserver_keeps_tracebacks_to_itself_and_listens_where_the_readme_says(
    tmp_path: Path,
) -> None:
    write_kit("mlserver", tmp_path)
    settings = json.loads((tmp_path / "settings.json").read_text(encoding="utf-8"))
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    # In debug mode, the default, its responses contain tracebacks with paths of the machine.
    assert settings["debug"] is False
    assert f"http://{settings['host']}:{settings['http_port']}`" in readme
    assert str(settings["grpc_port"]) in readme
