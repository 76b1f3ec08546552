"""pytest's own reports of a run, JUnit XML and pytest-html: what they say of each case."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from support.behaviors import Hostile
from support.reports import case, differing, exchange, report_of
from support.responses import HOSTILE
from support.servers import Start
from v2_conformance.pytest_plugin.html import verdict_html, wire_log
from v2_conformance.report.document import OverallVerdict
from v2_conformance.report.files import load_report
from v2_conformance.suite.library import digest
from v2_conformance.suite.outcomes import Outcome

# Passes, fails (MUST and SHOULD) and is not claimed, in a second.
SOME = "P1 or P2 or P4 or P12 or W1"


def properties(node: ElementTree.Element) -> dict[str, str]:
    found = [(p.attrib["name"], p.attrib["value"]) for p in node.findall("properties/property")]
    assert len(found) == len(dict(found))
    return dict(found)


def blob(page: Path) -> dict[str, Any]:
    """The data of a page of pytest-html."""
    match = re.search(r'data-jsonblob="([^"]*)"', page.read_text())
    assert match
    data: dict[str, Any] = json.loads(html.unescape(match[1]))
    return data


def check_rows(page: Path) -> None:
    """Rows of cases have requirement, level and wire log; a vendor's own test has none of them."""
    text = page.read_text()
    assert (
        text.count('data-column-type="requirement"') == text.count('data-column-type="grade"') == 1
    )
    rows = {name: entries[0] for name, entries in blob(page)["tests"].items()}
    logs = {name: html.unescape(row["log"]) for name, row in rows.items()}
    assert {len(row["resultsTableRow"]) for row in rows.values()} == {6}
    bad = "v2-conformance::P2/blob-follows-json[INT32]"
    assert rows[bad]["requirement"] == "P2"
    assert rows[bad]["grade"] == "MUST (blocks conformant)"
    for words in ("POST /v2/models/identity_int32/infer HTTP/1.1", "HTTP/1.1 500", "got 500"):
        assert words in logs[bad], words
    good = next(name for name in rows if "::P12/" in name)
    assert "No log output captured" not in logs[good]
    assert "  Request, " in logs[good]
    own = next(name for name in rows if name.endswith("::test_own"))
    assert (rows[own]["requirement"], rows[own]["grade"]) == ("", "")
    assert "Exchange 1" not in logs[own]
    assert "V2 binary tensors: incomplete run" in text
    assert "<script>alert" not in text
    for row in rows.values():
        log = re.sub('<div class="v2-wire">([^<]*)</div>$', r"\1", row["log"])
        assert "<" not in log or row["requirement"] == ""
        assert not re.search(r"[\x00-\x08\x0b-\x1f\ufffe\u202e]", log)


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "xdist"])
def test_test_cases_and_suite_carry_their_properties_and_rows_their_columns(
    workers: list[str], pytester: pytest.Pytester, start: Start
) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.P1\ndef test_own():\n    assert False\n")
    pytester.makeconftest(
        "def pytest_collection_modifyitems(items):\n"
        "    for item in items:\n"
        "        item.user_properties.append(('team', 'inference'))\n"
    )
    page = ("--html=page.html", "--self-contained-html")
    common = ("-p", "no:hypothesispytest", "--v2-url", start(Hostile).url, "-m", SOME, *workers)
    pytester.runpytest(*common, "--junitxml=x.xml", "--v2-report-dir=out", *page)
    check_rows(pytester.path / "page.html")
    text = (pytester.path / "x.xml").read_text()
    assert "alert(1)" in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\ufffe\u202e]|&#x?0*(0|11|b|27|1b);", text)
    suite = ElementTree.fromstring(text).find("testsuite")
    assert suite is not None
    report = load_report(pytester.path / "out" / "report.json")
    cases = {case.id: case for case in report.cases}
    nodes = {node.attrib["name"]: node for node in suite.findall("testcase")}
    assert properties(nodes.pop("test_own")) == {"team": "inference"}
    assert set(nodes) == set(cases)
    tags = {Outcome.PASS: [], Outcome.FAIL: ["failure"], Outcome.UNSUPPORTED: ["skipped"]}
    # Under xdist the cases are of the controller, where no such hook sees them.
    own = {} if workers else {"team": "inference"}
    for name, node in nodes.items():
        found = cases[name]
        assert properties(node) == {
            **own,
            "requirement": found.requirement,
            "level": found.level,
            "grade": found.grade,
            "basis": found.basis,
            "profile": found.profile,
            "outcome": found.outcome.value,
            "message": found.message,
        }
        assert [part.tag for part in node if part.tag != "properties"] == tags[found.outcome]
    assert {found.outcome for found in cases.values()} == set(tags)
    of_suite = properties(suite)
    assert of_suite["v2_verdict"] == "incomplete run"
    assert of_suite["v2_catalogue"] == digest()
    assert of_suite["v2_profiles"] == "binary"
    assert of_suite["v2_server"].startswith("<script>alert(1)</script>")


def test_the_log_of_a_case_stays_of_a_size_that_opens() -> None:
    own = exchange(b"ABC" * 2000, b'{"}' * 2000, HOSTILE * 99)
    log = wire_log(case("P2/x", "fail", None, *[own] * 50))
    assert 5_000 < len(log) <= 10_000
    assert log.endswith("…")
    failed = differing(700)
    passed = msgspec.structs.replace(failed, outcome=Outcome.PASS, cause=None)
    assert len(wire_log(passed)) < len(wire_log(failed))
    assert wire_log(case("P2/x", "not_run")) == "nothing was sent"


def test_the_verdict_names_what_blocks_it() -> None:
    report = report_of(outcomes={"P2": "fail", "S1": "fail"}, server=(HOSTILE, ""))
    text = verdict_html(report)
    assert "V2 binary tensors: not conformant" in text
    assert "MUST (blocks conformant) P2 failed (1 case)" in text
    assert "<script" not in text
    blocked = OverallVerdict(False, False, (HOSTILE,) * 1000, ())
    report = msgspec.structs.replace(report, verdict=blocked)
    assert "<li>and 995 more</li>" in verdict_html(report)
