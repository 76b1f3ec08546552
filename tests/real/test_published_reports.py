"""The published reports hold, judged again from their bytes, and are as expectations/ says.

What pages and tables say of them is counted here from the cases and the verdict of each report.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from expectation import Expectation, differences, every_expectation
from publish import REPORTS
from v2_conformance.cli.main import main
from v2_conformance.formats.registry import PAGE
from v2_conformance.report.document import Report
from v2_conformance.report.files import PACKED_REPORT, load_report
from v2_conformance.suite.library import every_case
from v2_conformance.suite.outcomes import FAILED
from v2_conformance.suite.requirements import GRADES
from v2_conformance.verifying.verification import verify

# Not all that is in the folder: runs of this machine may have left reports of their own.
PUBLISHED = {path.parent.name: path for path in sorted(REPORTS.glob(f"*/{PACKED_REPORT}"))}
every_report = pytest.mark.parametrize("name", PUBLISHED)


@pytest.mark.parametrize("expected", every_expectation(), ids=lambda expected: str(expected.name))
def test_a_published_report_is_confirmed(expected: Expectation) -> None:
    found = verify(PUBLISHED[expected.name], every_case())
    # Of another catalogue what is still the same has to hold; `tox -e publish` makes all anew.
    assert found.exit_code in ((0, 2) if found.foreign else (0,))
    if not found.foreign:
        assert differences(expected, found.report) == []
    page = f"{expected.name}/{PAGE.file_name}"
    assert (REPORTS / page).is_file()
    matrix = REPORTS / ("clients.html" if expected.adapter else "index.html")
    assert f'href="{page}' in matrix.read_text(encoding="utf-8")


def test_the_site_has_the_reports_that_are_there() -> None:
    index = json.loads((REPORTS / "index.json").read_text(encoding="utf-8"))
    found = {report["id"]: report["digest"] for report in index["reports"]}
    # `tests/real/publish.py --site` builds it.
    assert found.keys() == PUBLISHED.keys()
    for name, path in PUBLISHED.items():
        report = json.loads(gzip.decompress(path.read_bytes()))
        assert found[name] == report["integrity"]["digest"]
    assert [name for name in index["files"] if not (REPORTS / name).is_file()] == []


@pytest.mark.long
def test_anybody_can_build_the_site_again(tmp_path: Path) -> None:
    reports = map(str, PUBLISHED.values())
    assert main(["publish", "--outdated", str(tmp_path / "site"), *reports]) == 0


@cache
def report_of(name: str) -> Report:
    return load_report(PUBLISHED[name])


@cache
def index() -> dict[str, Any]:
    found = json.loads((REPORTS / "index.json").read_text("utf-8"))
    return {entry["id"]: entry for entry in found["reports"]}


@every_report
def test_index_json_has_the_grades_of_failed_cases(name: str) -> None:
    report, site = report_of(name), index()[name]
    failed = [case for case in report.of(*FAILED) if site["confirmed"]]
    by_strictness = sorted(failed, key=lambda case: GRADES.index(case.grade), reverse=True)
    grades = {case.requirement: case.grade for case in by_strictness}
    rows = {row.id for row in report.requirements}
    assert site.get("grades", {}) == {key: grade for key, grade in grades.items() if key in rows}
    for key, outcome in site["requirements"].items():
        assert (outcome in FAILED) == (key in grades), key
    for level, count in site["levels"].items():
        at_level = {case.requirement for case in failed if case.level == level}
        assert set(count["failed"]) == at_level, level
