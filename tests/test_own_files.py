"""The suite's own files: each is right, and a wheel has the same documents as a checkout."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from tools.traceability.statements import sections
from v2_conformance.errors import CaseFileError
from v2_conformance.own_files import own_document, own_names
from v2_conformance.resources import folder
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
