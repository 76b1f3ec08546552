"""The schemas that are made of types: the files are up to date, and true of what they describe."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator

from tools import schemas
from v2_clients.bench.messages import PrintedAnswer
from v2_clients.bench.tasks import task_of
from v2_conformance.resources import fits, folder
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.library import client_cases

LINES: list[dict[str, object]] = [
    {"error": "no"},
    {"error": "no", "status": 503, "client": {"name": "x"}},
    {"unsupported": "no API"},
    {"outputs": []},
    {"outputs": [{"name": "a", "datatype": "INT32", "shape": [1], "data": "AAAAAA=="}], "id": None},
    {},
    {"error": "no", "unsupported": "no API"},
    {"error": None},
    {"error": 3},
    {"error": "no", "more": 1},
    {"outputs": [{"name": "a", "datatype": "INT32", "shape": [-1], "data": ""}]},
    {"outputs": [{"name": "a", "datatype": "INT32", "shape": [1], "data": "A"}]},
    {"outputs": [{"name": "a"}]},
    {"error": "x", "status": 404.0},
    {"error": "x", "status": 404.5},
    {"outputs": [{"name": "a", "datatype": "UINT8", "shape": [2.0, 1.0], "data": "AQI="}]},
    {"outputs": [{"name": "a", "datatype": "UINT8", "shape": [-2.0], "data": "AQI="}]},
]


def test_the_files_are_what_the_types_say(tmp_path: Path) -> None:
    schemas.main(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"{n}.schema.json" for n in schemas.MADE}
    for path in tmp_path.iterdir():
        there = (folder("schemas") / path.name).read_text(encoding="utf-8")
        assert path.read_text(encoding="utf-8") == there, "run: python -m tools.schemas"


@pytest.mark.parametrize("name", schemas.MADE)
def test_a_schema_says_what_each_part_is(name: str) -> None:
    document = schemas.made_schema(name)
    Draft202012Validator.check_schema(document)
    assert document["$id"].endswith(f"/schemas/{name}.schema.json")
    for part in document["$defs"].values():
        assert part["description"]
        assert "\n" not in part["description"]
        assert part.get("type") != "object" or part["additionalProperties"] is False


def test_every_task_of_the_suite_fits_its_schema() -> None:
    for case in client_cases():
        if isinstance(case, ClientCase):
            document = msgspec.json.decode(msgspec.json.encode(task_of(case, "http://h")))
            assert fits("client-task", document), case.id


@pytest.mark.parametrize("line", LINES, ids=str)
def test_the_schema_and_the_types_take_the_same_lines(line: dict[str, object]) -> None:
    lines, problem = PrintedAnswer("x", (msgspec.Raw(msgspec.json.encode(line)),)).checked(1)
    assert fits("client-line", line) is (problem is None)
    assert len(lines) == (problem is None)
