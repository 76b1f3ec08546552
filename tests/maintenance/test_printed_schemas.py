"""Schemas that are printed from types: each file is what its types say, and says what it is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from v2_conformance.maintenance import gateway_schema, site_schema
from v2_conformance.resources import folder

TEXTS = {"gateway": gateway_schema.schema_text, "site": site_schema.schema_text}


@pytest.mark.parametrize("name", TEXTS)
def test_the_file_is_what_the_types_say(name: str) -> None:
    text = (folder("schemas") / f"{name}.schema.json").read_text(encoding="utf-8")
    assert text == TEXTS[name](), f"write it anew: see v2_conformance.maintenance.{name}_schema"


@pytest.mark.parametrize("schema", [gateway_schema.gateway_schema, site_schema.site_schema])
def test_it_is_a_schema_that_says_what_each_part_is(schema: Callable[[], dict[str, Any]]) -> None:
    document = schema()
    Draft202012Validator.check_schema(document)
    for part in document["$defs"].values():
        assert part["description"]
        if part.get("type") == "object":
            assert part["additionalProperties"] is False


@pytest.mark.parametrize("name", TEXTS)
def test_the_module_prints_it(name: str) -> None:
    command = [sys.executable, "-m", f"v2_conformance.maintenance.{name}_schema"]
    assert subprocess.run(command, capture_output=True, check=True).stdout.decode() == TEXTS[name]()
