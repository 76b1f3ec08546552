"""docs/authoring-cases.md: every field has a sentence, and its example is a file that works."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.runs import results, target_of
from v2_clients.scenarios import run_scenario
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.resources import schema, schema_document
from v2_conformance.suite.case_files import load_cases, load_scenarios
from v2_conformance.suite.cases import Case, ClientCase
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.values.patterns import VALUE_PATTERNS
from v2_mutants.client_faults import CLIENT_FAULTS
from v2_mutants.faults import FAULTS
from v2_mutants.selftest.clients import plain_client
from v2_mutants.servers import MutantServer

MANUAL = (Path(__file__).parents[2] / "docs" / "authoring-cases.md").read_text(encoding="utf-8")

# The heading under which the manual describes the fields of each object of the schema.
SECTIONS = {
    "": "The file",
    "case": "A case",
    "case.first": "Other requests",
    "case.members": "Other requests",
    "case.next": "Other requests",
    "client": "Clients that break off",
    "exception": "Axes",
    "request": "The request",
    "request.inputs": "Inputs",
    "request.json": "JSON text",
    "change": "Mutations",
    "request.body": "Body",
    "request.encoded": "Encoded body",
    "input_members": "Inputs",
    "input_members.size": "Inputs",
    "input_members.values": "Inputs",
    "output": "Requested outputs",
    "header_length": "Header length",
    "delivery": "Delivery",
    "cuts": "Delivery",
    "expect": "The expectation",
}

# The same for scenarios, which share some objects with cases.
OF_SCENARIOS = {
    "": "A file of scenarios",
    "scenario": "A scenario",
    "exception": "Axes",
    "request": "What the caller asks for",
    "request.inputs": "Inputs",
    "request.outputs": "Inputs",
    "input": "Arrays of the caller",
    "input.values": "Inputs",
    "asked": "Outputs that the caller names",
    "answer": "The answer",
    "answer.outputs": "Inputs",
    "answer.json": "JSON text",
    "change": "Mutations",
    "answer.header_length": "Header length",
    "answer.body": "The body in place of the answer's",
    "answer.encoded": "Encoded body",
    "answer.interim": "The answer",
    "answer.spelling": "The HTTP of the answer",
    "delivery": "Delivery",
    "cuts": "Delivery",
    "output": "Outputs of the answer",
    "output.values": "Inputs",
    "output.size": "Inputs",
    "expect": "What is expected of a client",
    "expect.error": "What is expected of a client",
    "expect.members": "What is expected of a client",
}
HEADINGS = sorted({*SECTIONS.values(), *OF_SCENARIOS.values()})


def objects(name: str, node: Any) -> Iterator[tuple[str, list[str]]]:
    """The objects of a schema that have named members, each with what it is called in SECTIONS."""
    if isinstance(node, list):
        for item in node:
            yield from objects(name, item)
    elif isinstance(node, dict):
        members = node.get("properties", {})
        if node.get("additionalProperties") is False:
            yield name, list(members)
        for key, value in members.items():
            yield from objects(f"{name}.{key}".lstrip("."), value)
        for key in ("anyOf", "oneOf", "items", "additionalProperties"):
            yield from objects(name, node.get(key))


def objects_of(schema_name: str) -> list[tuple[str, list[str]]]:
    """The objects of a schema, each with what it is called in SECTIONS or OF_SCENARIOS."""
    document = schema_document(schema_name)
    found = list(objects("", document))
    for name, definition in document["$defs"].items():
        found += objects(name, definition)
    return found


def all_objects() -> list[tuple[str, list[str]]]:
    """The objects of both schemas, each with the heading under which it is described."""
    found = [(SECTIONS[name], fields) for name, fields in objects_of("case")]
    return found + [(OF_SCENARIOS[name], fields) for name, fields in objects_of("scenario")]


def words(node: Any) -> Iterator[str]:
    """Every text that a schema allows as a value."""
    if isinstance(node, dict):
        values = [*node.get("enum", ()), node.get("const")]
        yield from (value for value in values if isinstance(value, str))
    for item in node.values() if isinstance(node, dict) else node:
        if isinstance(item, dict | list):
            yield from words(item)


def section(heading: str) -> str:
    """The text under a heading, without the headings below it."""
    _, found, rest = MANUAL.partition(f"# {heading}\n")
    assert found, f"the manual has no section {heading!r}"
    return re.split(r"(?m)^#+ ", rest)[0]


def code(text: str) -> set[str]:
    """The words of `text` that are set as code."""
    plain = re.sub(r"(?ms)^ *```.*?^ *```$", "", text)
    return set(re.findall(r"`([^`\n]+)`", plain))


def example(heading: str = "Example") -> str:
    found = re.search(r"(?ms)^```yaml\n(.*?)^```$", section(heading))
    assert found
    return found[1]


@pytest.fixture
def example_cases(tmp_path: Path) -> list[Case]:
    path = tmp_path / "my-cases.yaml"
    path.write_text(example(), encoding="utf-8")
    return load_cases(path)


def test_every_object_of_the_schema_has_a_section() -> None:
    assert {name for name, _ in objects_of("case")} == set(SECTIONS)
    assert {name for name, _ in objects_of("scenario")} == set(OF_SCENARIOS)


@pytest.mark.parametrize(("heading", "fields"), all_objects(), ids=lambda value: str(value)[:20])
def test_every_field_has_a_sentence(heading: str, fields: list[str]) -> None:
    described = set(re.findall(r"(?m)^- `(\w+)`: [A-Z`].*$", section(heading)))
    assert set(fields) <= described


@pytest.mark.parametrize("heading", HEADINGS)
def test_no_sentence_is_about_a_field_that_is_not_there(heading: str) -> None:
    known = {field for found, fields in all_objects() if found == heading for field in fields}
    assert set(re.findall(r"(?m)^- `(\w+)`:", section(heading))) <= known


def test_every_word_that_the_schema_allows_is_named() -> None:
    for name in ("case", "scenario"):
        assert set(words(schema_document(name))) - {"1.0", "1.1"} <= code(MANUAL)


def test_every_value_pattern_is_named() -> None:
    assert set(VALUE_PATTERNS) <= code(section("Value patterns"))


def test_every_fault_in_the_manual_exists() -> None:
    named = re.findall(r"--fault ([a-z-]+)", MANUAL)
    assert named
    assert set(named) <= {*FAULTS, *CLIENT_FAULTS}


def test_the_example_is_valid_by_the_schema() -> None:
    schema("case").validate(yaml.safe_load(example()))


def test_the_example_has_the_ids_that_the_manual_gives(example_cases: list[Case]) -> None:
    ids = [case.id for case in example_cases]
    assert len(ids) == 8
    named = set(re.findall(r"\b(S[12]/[a-z-]+\[[^\[\]]+\])", MANUAL))
    assert len(named) == 4
    assert named <= set(ids)


def test_the_example_passes_on_the_reference_server(example_cases: list[Case]) -> None:
    with ReferenceServer() as server:
        found = results(target_of(server.url), example_cases)
    assert {result.outcome for result in found.values()} == {Outcome.PASS}


def test_the_fault_of_the_example_fails_its_negative_cases(example_cases: list[Case]) -> None:
    (name,) = re.findall(r"--fault ([a-z-]+)", section("Example"))
    with MutantServer([name]) as server:
        found = results(target_of(server.url), example_cases)
    failed = [id for id, result in found.items() if result.outcome == Outcome.FAIL]
    assert sorted(failed) == ["S2/size-contradicts-shape[12]", "S2/size-contradicts-shape[20]"]


def outcomes_of_example(path: Path, fault: str | None = None) -> dict[str, Outcome]:
    """The outcome of each scenario of the example, with the plain client or one of its faults."""
    path.write_text(example("Scenarios for clients"), encoding="utf-8")
    client = plain_client() if fault is None else plain_client(CLIENT_FAULTS[fault].cls)
    scenarios = [case for case in load_scenarios(path) if isinstance(case, ClientCase)]
    return {case.id: run_scenario(case, client, timeout_s=20).outcome for case in scenarios}


def test_the_plain_client_passes_the_example_of_scenarios(tmp_path: Path) -> None:
    found = outcomes_of_example(tmp_path / "my-scenarios.yaml")
    assert set(found.values()) == {Outcome.PASS}
    assert {id for id in found if "[" in id} == set(re.findall(r"K3/other-order\[\w+\]", MANUAL))


def test_the_fault_of_the_example_of_scenarios_fails_the_first_two(tmp_path: Path) -> None:
    (name,) = re.findall(r"--fault ([a-z-]+)", section("Scenarios for clients"))
    found = outcomes_of_example(tmp_path / "my-scenarios.yaml", name)
    failed = [id for id, outcome in found.items() if outcome == Outcome.FAIL]
    assert failed == list(found)[:2]
