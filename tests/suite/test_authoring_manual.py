"""docs/authoring-cases.md: every field has a sentence, and its example is a file that works."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.runs import results, target_of
from v2_conformance.reference.faults import FAULTS
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.resources import schema, schema_document
from v2_conformance.suite.case_files import load_cases
from v2_conformance.suite.cases import Case
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.value_patterns import VALUE_PATTERNS

MANUAL = (Path(__file__).parents[2] / "docs" / "authoring-cases.md").read_text(encoding="utf-8")

# The heading under which the manual describes the fields of each object of the schema.
SECTIONS = {
    "": "The file",
    "case": "A case",
    "case.first": "Other requests",
    "case.members": "Other requests",
    "client": "Clients that break off",
    "exception": "Axes",
    "request": "The request",
    "request.inputs": "Inputs",
    "request.json": "JSON text",
    "change": "Mutations",
    "request.body": "Body",
    "request.encoded": "Encoded body",
    "input": "Inputs",
    "input.values": "Inputs",
    "input.size": "Inputs",
    "output": "Requested outputs",
    "header_length": "Header length",
    "delivery": "Delivery",
    "cuts": "Delivery",
    "expect": "The expectation",
}


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


def all_objects() -> list[tuple[str, list[str]]]:
    document = schema_document("case")
    found = list(objects("", document))
    for name, definition in document["$defs"].items():
        found += objects(name, definition)
    return found


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


def example() -> str:
    found = re.search(r"(?ms)^```yaml\n(.*?)^```$", section("Example"))
    assert found
    return found[1]


@pytest.fixture
def example_cases(tmp_path: Path) -> list[Case]:
    path = tmp_path / "my-cases.yaml"
    path.write_text(example(), encoding="utf-8")
    return load_cases(path)


def test_every_object_of_the_schema_has_a_section() -> None:
    assert {name for name, _ in all_objects()} == set(SECTIONS)


@pytest.mark.parametrize(("name", "fields"), all_objects(), ids=lambda value: str(value)[:20])
def test_every_field_has_a_sentence(name: str, fields: list[str]) -> None:
    described = set(re.findall(r"(?m)^- `(\w+)`: [A-Z`].*$", section(SECTIONS[name])))
    assert set(fields) <= described


@pytest.mark.parametrize("heading", sorted(set(SECTIONS.values())))
def test_no_sentence_is_about_a_field_that_is_not_there(heading: str) -> None:
    known = {
        field for name, fields in all_objects() if SECTIONS[name] == heading for field in fields
    }
    assert set(re.findall(r"(?m)^- `(\w+)`:", section(heading))) <= known


def test_every_word_that_the_schema_allows_is_named() -> None:
    assert set(words(schema_document("case"))) <= code(MANUAL)


def test_every_value_pattern_is_named() -> None:
    assert set(VALUE_PATTERNS) <= code(section("Value patterns"))


def test_every_link_in_the_manual_leads_somewhere() -> None:
    docs = Path(__file__).parents[2] / "docs"
    headings = re.findall(r"(?m)^#+ (.*)$", MANUAL)
    anchors = {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}
    for target in re.findall(r"\]\(([^)]+)\)", MANUAL):
        if target.startswith("#"):
            assert target[1:] in anchors, target
        else:
            assert (docs / target).exists(), target


def test_every_fault_in_the_manual_exists() -> None:
    named = re.findall(r"--fault ([a-z-]+)", MANUAL)
    assert named
    assert set(named) <= set(FAULTS)


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
    with ReferenceServer([name]) as server:
        found = results(target_of(server.url), example_cases)
    failed = [id for id, result in found.items() if result.outcome == Outcome.FAIL]
    assert sorted(failed) == ["S2/size-contradicts-shape[12]", "S2/size-contradicts-shape[20]"]
