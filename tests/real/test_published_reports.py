"""The published reports hold, judged again from their bytes, and are as expectations/ says."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from expectation import (
    Expectation,
    client_expectation_files,
    differences,
    expectation_files,
    load_expectation,
)
from publish import REPORTS
from v2_conformance.cli.main import main
from v2_conformance.formats.registry import PAGE
from v2_conformance.report.files import PACKED_REPORT
from v2_conformance.suite.library import every_case
from v2_conformance.verifying.verification import verify

CLIENT_MATRIX = REPORTS / "clients.html"
# Publishing writes it last: before the first time there are no reports on clients.
FILES = [*expectation_files(), *(client_expectation_files() if CLIENT_MATRIX.is_file() else [])]
EXPECTATIONS = [load_expectation(path) for path in FILES]
MATRIX = REPORTS / "index.html"


def published() -> list[Path]:
    """Not all that is in the folder: runs of this machine may have left reports of their own."""
    return sorted(REPORTS.glob(f"*/{PACKED_REPORT}"))


@pytest.mark.parametrize("expected", EXPECTATIONS, ids=lambda expected: str(expected.name))
def test_a_published_report_is_confirmed(expected: Expectation) -> None:
    path = REPORTS / expected.name / PACKED_REPORT
    found = verify(path, every_case())
    # Of another catalogue what is still the same has to hold; `tox -e publish` makes all anew.
    assert found.exit_code in ((0, 2) if found.foreign else (0,))
    if not found.foreign:
        assert differences(expected, found.report) == []


def test_the_site_has_the_reports_that_are_there() -> None:
    index = json.loads((REPORTS / "index.json").read_text(encoding="utf-8"))
    found = {report["id"]: report["digest"] for report in index["reports"]}
    there = {path.parent.name: path for path in published()}
    # `tests/real/publish.py --site` builds it.
    assert found.keys() == there.keys()
    for name, path in there.items():
        report = json.loads(gzip.decompress(path.read_bytes()))
        assert found[name] == report["integrity"]["digest"]
    assert [name for name in index["files"] if not (REPORTS / name).is_file()] == []


@pytest.mark.long
def test_anybody_can_build_the_site_again(tmp_path: Path) -> None:
    reports = map(str, published())
    assert main(["publish", "--outdated", str(tmp_path / "site"), *reports]) == 0


@pytest.mark.parametrize("expected", EXPECTATIONS, ids=lambda expected: str(expected.name))
def test_a_published_report_has_its_page_and_is_in_the_matrix(expected: Expectation) -> None:
    page = Path(expected.name) / PAGE.file_name
    assert (REPORTS / page).is_file()
    matrix = CLIENT_MATRIX if expected.adapter else MATRIX
    assert f'href="{page.as_posix()}' in matrix.read_text(encoding="utf-8")
