"""JUnit XML, CTRF and SARIF: what CI services demand, and nothing that a server sent raw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
import xmlschema
from jsonschema.validators import validator_for

from support.reports import case, report_of
from v2_conformance.cli.main import main
from v2_conformance.formats.ci import ctrf, junit_xml, sarif
from v2_conformance.report.document import ExpectedFailure, Report

HOSTILE = "\x00\x1b[31m <script>]]>&'\" \u202e \ufffe " + "é" * 3

SCHEMAS = Path(__file__).parent / "schemas"


def check(name: str, document: Any) -> None:
    """Raise ValidationError unless `document` is what the schema of a format demands."""
    schema = json.loads((SCHEMAS / name).read_text("utf-8"))
    kind = validator_for(schema)
    kind(schema, format_checker=kind.FORMAT_CHECKER).validate(document)


def check_junit(data: bytes) -> None:
    """Raise a ValidationError unless Jenkins takes this."""
    xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").validate(data.decode())


@pytest.fixture
def mixed() -> Report:
    """A pass, failures of all kinds, and what did not run."""
    known = msgspec.structs.replace(
        case("H6/known", "fail", "why"), expected=ExpectedFailure("a reason")
    )
    return report_of(
        [
            case("H6/good"),
            case("H6/bad", "fail", HOSTILE),
            case("P5/shaky", "flaky", "sometimes"),
            case("P5/odd", "inconclusive", "no answer"),
            case("W1/not-claimed", "unsupported", "raw is not claimed"),
            known,
        ]
    )


def test_junit_xml_has_a_class_for_each_family_and_counts_what_counts(mixed: Report) -> None:
    data = junit_xml.render(mixed)
    check_junit(data)
    root = ElementTree.fromstring(data)
    suite = root[0]
    assert suite.attrib["tests"] == "6"
    counts = tuple(suite.attrib[name] for name in ("failures", "errors", "skipped"))
    assert counts == ("2", "1", "2")
    kinds = {test.attrib["name"]: [child.tag for child in test] for test in suite.iter("testcase")}
    assert kinds == {
        "H6/good": [],
        "H6/bad": ["failure"],
        "P5/shaky": ["failure"],
        "P5/odd": ["error"],
        "W1/not-claimed": ["skipped"],
        "H6/known": ["skipped"],
    }
    classes = {test.attrib["classname"].partition(" ")[0] for test in suite.iter("testcase")}
    assert classes == {"v2-conformance.H", "v2-conformance.P", "v2-conformance.W"}
    assert b"<script>" not in data
    assert b"\x1b" not in data


def test_ctrf_has_what_its_schema_demands(mixed: Report) -> None:
    document = json.loads(ctrf.render(mixed))
    check("ctrf-0.0.json", document)
    summary = document["results"]["summary"]
    assert (summary["passed"], summary["failed"], summary["skipped"]) == (1, 2, 1)
    assert sum(summary[name] for name in ("passed", "failed", "skipped", "other")) == 6


def test_sarif_has_what_its_schema_demands_and_a_rule_for_each_result(mixed: Report) -> None:
    log = json.loads(sarif.render(mixed))
    check("sarif-2.1.0.json", log)
    results = log["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == ["H6", "P5", "H6"]
    assert [bool(result.get("suppressions")) for result in results] == [False, False, True]
    assert "\x1b" not in json.dumps(log, ensure_ascii=False)


def test_a_run_writes_them_where_it_is_told(tmp_path: Path) -> None:
    out = tmp_path / "ci"
    files = {"--junit-xml": "v2.xml", "--ctrf": "ctrf.json", "--sarif": "v2.sarif"}
    options = [word for option, name in files.items() for word in (option, str(out / name))]
    chosen = ["--case", "P5", "--fault", "response-header-length-short"]
    assert main(["run", *chosen, "--report-dir", str(tmp_path / "r"), *options]) == 1
    check_junit((out / "v2.xml").read_bytes())
    root = ElementTree.parse(out / "v2.xml").getroot()
    log = json.loads((out / "v2.sarif").read_text())
    check("sarif-2.1.0.json", log)
    check("ctrf-0.0.json", json.loads((out / "ctrf.json").read_text()))
    assert {rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]} == {"P5"}
    assert int(root.attrib["failures"]) == len(log["runs"][0]["results"]) > 0
