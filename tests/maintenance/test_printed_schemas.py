"""schemas/gateway.schema.json: equal to the types, and each part says what it is."""

from __future__ import annotations

import subprocess
import sys

from jsonschema import Draft202012Validator

from v2_conformance.maintenance.gateway_schema import gateway_schema, schema_text
from v2_conformance.resources import folder


def test_the_file_is_what_the_types_say() -> None:
    text = (folder("schemas") / "gateway.schema.json").read_text(encoding="utf-8")
    assert text == schema_text(), "write it anew: see v2_conformance.maintenance.gateway_schema"


def test_it_is_a_schema_that_says_what_each_part_is() -> None:
    document = gateway_schema()
    Draft202012Validator.check_schema(document)
    for part in document["$defs"].values():
        assert part["description"]
        if part.get("type") == "object":
            assert part["additionalProperties"] is False


def test_the_module_prints_it() -> None:
    command = [sys.executable, "-m", "v2_conformance.maintenance.gateway_schema"]
    assert subprocess.run(command, capture_output=True, check=True).stdout.decode() == schema_text()
