"""schemas/report.schema.json: equal to the types, and true of a run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from jsonschema import Draft202012Validator

from support.runs import FEW, of_faulty
from v2_conformance.maintenance.report_schema import report_schema, schema_text
from v2_conformance.resources import folder, schema
from v2_conformance.suite.causes import KINDS


def test_the_file_is_what_the_types_say() -> None:
    text = (folder("schemas") / "report.schema.json").read_text(encoding="utf-8")
    assert text == schema_text(), "write it anew: see v2_conformance.maintenance.report_schema"
    assert json.loads(text) == report_schema()


def test_it_is_a_schema_that_says_what_each_part_is() -> None:
    document = report_schema()
    Draft202012Validator.check_schema(document)
    assert document["$id"].endswith("/schemas/report.schema.json")
    for part in document["$defs"].values():
        assert part["description"]
        assert "\n" not in part["description"]
        if part.get("type") == "object":
            assert part["additionalProperties"] is False
    kinds = [p["properties"]["kind"]["enum"] for p in document["$defs"].values()
             if "kind" in p.get("properties", ())]  # fmt: skip
    # What is of one of several kinds is no cause: such as requests under load.
    assert sorted(kind[0] for kind in kinds if len(kind) == 1) == list(KINDS)


def test_the_module_prints_it() -> None:
    command = [sys.executable, "-m", "v2_conformance.maintenance.report_schema"]
    assert subprocess.run(command, capture_output=True, check=True).stdout.decode() == schema_text()


def test_the_report_of_a_run_is_valid(tmp_path: Path) -> None:
    path = of_faulty(tmp_path, "request-blobs-off-by-one", "rejection-kills-model")
    report = json.loads(path.read_text())
    assert len(report["cases"]) == len(FEW)
    assert len({case["outcome"] for case in report["cases"]}) > 2
    schema("report").validate(report)
