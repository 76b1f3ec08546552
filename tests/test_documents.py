"""Documents, whatever is in them, and the suite's own: right, and in a wheel as in a checkout."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from tools.traceability.statements import sections
from v2_conformance.errors import CaseFileError
from v2_conformance.own_files import own_document, own_names
from v2_conformance.resources import fits, folder, schema
from v2_conformance.suite.case_files import load_cases, load_scenarios
from v2_conformance.suite.library import client_cases, generated_case, suite_cases
from v2_conformance.suite.relations import relations
from v2_conformance.suite.variations import variations
from v2_conformance.yaml_files import check_yaml, read_yaml

ROOT = Path(__file__).parents[1]


def test_a_wheel_has_the_documents_of_the_files() -> None:
    compiled = runpy.run_path(str(ROOT / "conformance" / "build_hook.py"))["compiled"]
    found = json.loads(compiled(folder("cases")))
    assert list(found) == list(own_names())
    assert found == {name: own_document(name) for name in own_names()}


@pytest.mark.parametrize("name", ["relations", "statements", "variations"])
def test_a_file_fits_its_schema(name: str) -> None:
    path = folder("cases") / f"{name}.yaml"
    check_yaml(read_yaml(path, CaseFileError), name, CaseFileError)


def test_cases_and_scenarios_are_those_that_the_checks_for_strangers_files_pass() -> None:
    cases = load_cases(folder("cases"))
    assert [*cases, generated_case()] == suite_cases(large=True)
    assert load_scenarios(folder("cases") / "clients") == list(client_cases())


def test_names_are_unique() -> None:
    documents = {name: own_document(f"{name}.yaml") for name in ("relations", "variations")}
    assert len(relations()) == len(documents["relations"]["relations"])
    assert len(variations()) == len(documents["variations"]["variations"])
    entries = [case["id"] for one in relations().values() for case in one.cases]
    assert len(set(entries)) == len(entries)
    statements = [one.name for section in sections() for one in section.statements]
    assert len(set(statements)) == len(statements)


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("\ufeffa: 1\r\nb: [x]\r\n", {"a": 1, "b": ["x"]}),
        ("a: &x {b: 1}\nc: {<<: *x, d: 2}\n", {"a": {"b": 1}, "c": {"b": 1, "d": 2}}),
        ("- &a [x]\n- *a\n- *a\n", [["x"], ["x"], ["x"]]),
        ("a: 010\nb: 1:30\nc: 0x1f\nd: -7\ne: 1.5e+3\n", {"a": "010", "b": "1:30", "c": "0x1f",
         "d": -7, "e": 1500.0}),
        ("a: [no, True, true, .nan, 1_000]", {"a": ["no", "True", True, ".nan", "1_000"]}),
        ("%YAML 1.1\n---\na: 2024-01-02\n", {"a": "2024-01-02"}),
        ('{"a": [[[[1]]]], "b": null, "c": true}', {"a": [[[[1]]]], "b": None, "c": True}),
        ("", None),
    ],
)  # fmt: skip
def test_what_people_write_is_read(text: str, document: object, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text, newline="")
    assert read_yaml(path, CaseFileError).document == document


def _nested(depth: int) -> list[Any]:
    outermost: list[Any] = []
    for _ in range(depth):
        outermost = [outermost]
    return outermost


@pytest.mark.parametrize(
    "document",
    [
        {"name": "n", "version": "1", "extensions": [], "\ud800": 1},
        {"name": "\ud800", "version": "\ud800", "extensions": ["\ud800"]},
        {"name": "n", "version": "1", "extensions": [], "more": _nested(100_000)},
        {"name": "n", "version": "1", "extensions": _nested(100_000)},
        {"name": 10**400, "version": "1", "extensions": []},
        "\ud800",
        1e400,
    ],
    ids=["key", "text", "deep", "deep-and-wrong", "long-number", "only-text", "infinity"],
)
def test_a_hostile_document_is_an_answer_not_an_exception(document: object) -> None:
    if fits("server_metadata", document):
        assert schema("server_metadata").is_valid(document)
