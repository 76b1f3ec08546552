"""The folder vectors/ is what the cases give, and its vectors find the faults of a codec."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.tools import missing, tool
from tools.vectors.folder import FOLDER, INDEX, KINDS, files_of, make_vectors, write_folder
from v2_conformance.resources import fits
from vectors.codec_faults import FAULTS

MOST_BYTES = 5_000_000


def there(folder: Path = FOLDER) -> dict[str, bytes]:
    paths = [folder / INDEX, *(p for kind in KINDS for p in folder.glob(f"{kind}/*.json"))]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def vectors() -> Iterator[dict[str, Any]]:
    for name, content in there().items():
        if name != INDEX:
            yield from json.loads(content)["vectors"]


def test_the_folder_is_what_the_cases_give() -> None:
    made = files_of(make_vectors())
    found = there()
    assert set(made) == set(found), "see docs/vectors.md"
    differing = [name for name in made if made[name] != found[name]]
    assert not differing, "run `python -m tools.vectors`"
    assert sum(map(len, found.values())) < MOST_BYTES


def test_every_file_fits_its_schema() -> None:
    for name, content in there().items():
        schema = "vectors-index" if name == INDEX else "vectors"
        assert fits(schema, json.loads(content)), name


def test_no_message_is_both_valid_and_invalid() -> None:
    results: dict[str, tuple[str, str]] = {}
    for vector in vectors():
        if vector["kind"] in ("decode_request", "decode_response"):
            message = {name: vector.get(name) for name in ("model", "status", "fields", "body")}
            key = json.dumps(message, sort_keys=True)
            other = results.setdefault(key, (vector["result"], vector["id"]))
            assert {other[0], vector["result"]} != {"valid", "invalid"}, (other[1], vector["id"])


def test_a_folder_that_is_written_loses_what_no_case_gives(tmp_path: Path) -> None:
    (tmp_path / "datatypes").mkdir()
    (tmp_path / "datatypes" / "Y.json").touch()
    write_folder(tmp_path, there())
    assert there(tmp_path) == there()


CODEC = FOLDER / "runners" / "python" / "codec.py"


@cache
def runner() -> ModuleType:
    sys.path.insert(0, str(CODEC.parent))
    try:
        return import_module("run")
    finally:
        sys.path.pop(0)


def codec(right: str = "", wrong: str = "") -> ModuleType:
    """Return the codec with one text replaced by another."""
    source = CODEC.read_text()
    if right:
        assert source.count(right) == 1
        source = source.replace(right, wrong)
    made = ModuleType("codec")
    exec(compile(source, "codec.py", "exec"), vars(made))
    return made


@cache
def by_requirement() -> dict[str, list[tuple[Any, Any]]]:
    found: dict[str, list[tuple[Any, Any]]] = {}
    for vector, models in runner().vectors(FOLDER):
        found.setdefault(vector["requirement"], []).append((vector, models))
    return found


def test_the_codec_passes_all_vectors() -> None:
    right = codec()
    for some in by_requirement().values():
        for vector, models in some:
            judged = runner().judge(right, vector, models)
            assert judged is None or judged[0] == "WARN", vector["id"]


@pytest.mark.parametrize(("requirement", "right", "wrong"), FAULTS)
def test_a_fault_is_found_by_a_vector_of_its_own(requirement: str, right: str, wrong: str) -> None:
    broken = codec(right, wrong)
    some = by_requirement()[requirement]
    found = [runner().judge(broken, vector, models) for vector, models in some]
    assert any(judged and judged[0] == "FAIL" for judged in found)


RUNNERS: Mapping[str, Sequence[str]] = {
    "python": (sys.executable, "run.py"),
    "go": ("go", "run", "."),
    "javascript": ("node", "run.mjs"),
    "java": ("java", "-XX:TieredStopAtLevel=1", "-cp", "BUILT", "Run"),
    "cpp": ("BUILT",),
}
"""The command of each in its folder; the folder of vectors is its argument."""
COMPILERS: Mapping[str, Sequence[str]] = {
    "java": ("javac", "-J-XX:TieredStopAtLevel=1", "-d", "BUILT", "Run.java"),
    "cpp": ("g++", "-std=c++17", "-O1", "run.cpp", "-lz", "-o", "BUILT"),
}
"""What has to be run before; BUILT is a folder or file for what it makes. Java needs half the time
with its first compiler alone."""
HEADERS = "#include <nlohmann/json.hpp>\n#include <zlib.h>\n"
"""What C++ needs and may not have."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("built")


def run(name: str, folder: Path, built: Path) -> subprocess.CompletedProcess[str]:
    source, made = FOLDER / "runners" / name, built / name
    compiler, command = (
        [str(made) if word == "BUILT" else word for word in words]
        for words in (COMPILERS.get(name, ()), RUNNERS[name])
    )
    for program in {*compiler[:1], command[0]} - {str(made), sys.executable}:
        tool(program)
    if compiler and not made.exists():
        look = ["g++", "-x", "c++", "-E", "-o", os.devnull, "-"]
        if name == "cpp" and subprocess.run(look, input=HEADERS, text=True, check=False).returncode:
            missing("g++", "lacks nlohmann/json.hpp or zlib.h")
        subprocess.run(compiler, cwd=source, check=True, timeout=300)
    return subprocess.run(
        [*command, folder],
        cwd=source,
        capture_output=True,
        text=True,
        errors="replace",  # an error may quote the server's bytes
        timeout=300,
        check=False,
    )


@pytest.mark.long
@pytest.mark.parametrize("name", RUNNERS)
def test_a_runner_passes_every_vector(name: str, built: Path) -> None:
    ended = run(name, FOLDER, built)
    counts = json.loads((FOLDER / INDEX).read_bytes())["counts"].values()
    total = sum(one["vectors"] for one in counts)
    *warnings, last = ended.stdout.splitlines()
    assert (last, ended.returncode) == (f"{total} passed, 0 failed, {len(warnings)} warnings", 0)
    assert all(line.startswith("WARN ") for line in warnings)


@pytest.mark.long
@pytest.mark.parametrize("name", RUNNERS)
def test_a_runner_fails_vectors_of_the_opposite(name: str, tmp_path: Path, built: Path) -> None:
    index = json.loads((FOLDER / INDEX).read_bytes())
    index["files"] = [one for one in index["files"] if one["path"].endswith(("/S.json", "/K.json"))]
    wanted = []
    for one in index["files"]:
        file = json.loads((FOLDER / one["path"]).read_bytes())
        file["vectors"] = [v for v in file["vectors"] if v["result"] != "either"]
        for vector in file["vectors"]:
            vector["result"] = {"valid": "invalid", "invalid": "valid"}[vector["result"]]
        wanted += [f"FAIL {v['kind']} {v['id']}:" for v in file["vectors"]]
        path = tmp_path / one["path"]
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(file))
    (tmp_path / INDEX).write_text(json.dumps(index))
    ended = run(name, tmp_path, built)
    assert ended.returncode == 1
    assert [line for line in wanted if line not in ended.stdout] == []
    assert f"0 passed, {len(wanted)} failed, 0 warnings" in ended.stdout
