"""The folder vectors/: it is what the cases give, and true to itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.vectors.folder import FOLDER, INDEX, KINDS, files_of, make_vectors, write_folder
from tools.vectors.made import FLAGS
from v2_conformance.resources import fits
from v2_conformance.suite.library import client_cases, suite_cases
from v2_conformance.suite.requirements import families

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


def test_the_index_counts_what_is_there() -> None:
    index = json.loads((FOLDER / INDEX).read_bytes())
    assert {one["path"] for one in index["files"]} == set(there()) - {INDEX}
    for one in index["files"]:
        results = [v["result"] for v in json.loads((FOLDER / one["path"]).read_bytes())["vectors"]]
        counts = {result: results.count(result) for result in ("valid", "invalid", "either")}
        assert one["counts"] == {"vectors": len(results), **counts}
    assert index["flags"] == dict(FLAGS)


def test_every_vector_names_a_case_once_for_each_kind() -> None:
    cases = {case.id: case for case in (*suite_cases(), *client_cases())}
    seen = set()
    for vector in vectors():
        case = cases[vector["id"].replace("M7/generated-", "M7/generated ").split(" ")[0]]
        assert case.requirement == vector["requirement"]
        assert vector["kind"] == "datatypes" or (vector["kind"], vector["id"]) not in seen
        seen.add((vector["kind"], vector["id"]))
        assert set(vector.get("flags", ())) <= set(FLAGS)


def test_only_a_must_makes_a_vector_invalid_or_valid() -> None:
    for vector in vectors():
        if vector["result"] != "either" and vector["kind"] != "datatypes":
            assert vector["level"] == "MUST", vector["id"]
        assert ("should" in vector) <= (vector["result"] == "either")


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


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_vectors(kind: str) -> None:
    assert json.loads((FOLDER / INDEX).read_bytes())["counts"][kind]["vectors"] > 50


def test_every_family_has_vectors() -> None:
    index = json.loads((FOLDER / INDEX).read_bytes())
    assert {one["family"] for one in index["files"]} == set(families())
