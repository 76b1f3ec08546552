"""The names are the same wherever a schema, a case file or the reference server has to say them."""

from __future__ import annotations

from v2_conformance.protocol import names
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.resources import schema_document
from v2_conformance.suite.models import contract
from v2_conformance.suite.requirements import catalogue


def test_the_profiles_are_those_of_the_schemas_and_of_the_suites_files() -> None:
    case = schema_document("case")["$defs"]["case"]
    assert tuple(case["properties"]["profile"]["enum"]) == names.SERVER_PROFILES
    requirement = schema_document("requirements")["$defs"]["profile"]
    assert tuple(requirement["enum"]) == names.PROFILES
    assert {entry.profile for entry in catalogue().values()} == set(names.PROFILES)
    assert {model.profile for model in contract().values()} < set(names.SERVER_PROFILES)


def test_the_reference_server_lists_the_extension() -> None:
    assert Behaviour().extensions() == [names.EXTENSION]
