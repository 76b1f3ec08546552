"""The runners of vectors/runners/ pass all vectors, and fail those that ask the opposite."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from support.tools import missing, tool
from tools.vectors.folder import INDEX

FOLDER = Path(__file__).parents[2] / "vectors"
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


@pytest.mark.parametrize("name", RUNNERS)
def test_a_runner_passes_every_vector(name: str, built: Path) -> None:
    ended = run(name, FOLDER, built)
    counts = json.loads((FOLDER / INDEX).read_bytes())["counts"].values()
    total = sum(one["vectors"] for one in counts)
    assert (ended.stdout, ended.returncode) == (f"{total} passed, 0 failed\n", 0), ended.stderr


@pytest.mark.parametrize("name", RUNNERS)
def test_a_runner_fails_vectors_that_ask_the_opposite(
    name: str, tmp_path: Path, built: Path
) -> None:
    index = json.loads((FOLDER / INDEX).read_bytes())
    wanted = []
    for one in index["files"]:
        if one["path"] not in {
            f"{kind}/{letter}.json" for kind in index["counts"] for letter in "SK"
        }:
            continue
        file = json.loads((FOLDER / one["path"]).read_bytes())
        file["vectors"] = [v for v in file["vectors"] if v["result"] != "either"]
        for vector in file["vectors"]:
            vector["result"] = {"valid": "invalid", "invalid": "valid"}[vector["result"]]
        wanted += [f"FAIL {v['kind']} {v['id']}:" for v in file["vectors"]]
        path = tmp_path / one["path"]
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(file))
    index["files"] = [one for one in index["files"] if (tmp_path / one["path"]).exists()]
    (tmp_path / INDEX).write_text(json.dumps(index))
    ended = run(name, tmp_path, built)
    assert ended.returncode == 1
    assert [line for line in wanted if line not in ended.stdout] == []
    assert f"0 passed, {len(wanted)} failed" in ended.stdout


SAME_VALUE = {"100": "1e2", "0.1": "0.10", "-0.25": "-25e-2", "4294967296": "4294967296.0"}
OTHER_VALUE = {
    "0": "false",
    "1": "true",
    "true": '"true"',
    "7": '"7"',
    "0.1": "0.2",
    "9007199254740991": "9007199254740990",
}
"""A parameter that the codec is asked to send, and the one that the vector expects."""


@pytest.mark.parametrize("name", RUNNERS)
def test_a_runner_compares_json_by_value_and_not_as_it_is_written(
    name: str, tmp_path: Path, built: Path
) -> None:
    file = json.loads((FOLDER / "encode_request" / "K.json").read_bytes())
    one = next(v for v in file["vectors"] if v["id"] == "K19/parameters-of-any-value[numbers]")
    one["asked"] = {"parameters": {"own": "ASKED"}}
    one["accept"]["parameters"] = {"own": "EXPECTED"}
    template = json.dumps(one | {"id": "NUMBER"})
    vectors = [
        template.replace("NUMBER", str(number))
        .replace('"ASKED"', asked)
        .replace('"EXPECTED"', expected)
        for number, (asked, expected) in enumerate([*SAME_VALUE.items(), *OTHER_VALUE.items()])
    ]
    (tmp_path / "K.json").write_text(f'{{"vectors": [{",".join(vectors)}]}}')
    (tmp_path / INDEX).write_text('{"files": [{"path": "K.json", "family": "K"}]}')
    ended = run(name, tmp_path, built)
    failed = [line.split()[2] for line in ended.stdout.splitlines() if line.startswith("FAIL")]
    assert failed == [f"{n}:" for n in range(len(SAME_VALUE), len(vectors))], ended
