"""JUnit XML: what CI services demand, and nothing that a server sent raw."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
import xmlschema

from support.reports import case, report_of
from v2_conformance.cli.main import main
from v2_conformance.formats import junit
from v2_conformance.report.document import ExpectedFailure, Report

HOSTILE = "\x00\x1b[31m <script>]]>&'\" \u202e \ufffe " + "é" * 3

SCHEMA = Path(__file__).parent / "schemas" / "junit-10.xsd"


def check_junit(data: bytes) -> None:
    """Raise a ValidationError unless Jenkins takes this."""
    xmlschema.XMLSchema(SCHEMA).validate(data.decode())


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
    data = junit.render(mixed)
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


def test_a_run_writes_it_where_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "ci" / "v2.xml"
    chosen = ["--case", "P5", "--fault", "response-header-length-short"]
    options = ["--report-dir", str(tmp_path / "r"), "--junit-xml", str(path)]
    assert main(["run", *chosen, *options]) == 1
    check_junit(path.read_bytes())
    assert int(ElementTree.parse(path).getroot().attrib["failures"]) > 0
