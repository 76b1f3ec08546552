"""The published reports hold, judged again from their bytes, and are as expectations/ says."""

from __future__ import annotations

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
from v2_conformance.formats.registry import PAGE
from v2_conformance.report.files import PACKED_REPORT
from v2_conformance.suite.library import every_case
from v2_conformance.verifying.verification import verify

CLIENT_MATRIX = REPORTS / "clients.html"
# Publishing writes it last: before the first time there are no reports on clients.
FILES = [*expectation_files(), *(client_expectation_files() if CLIENT_MATRIX.is_file() else [])]
EXPECTATIONS = [load_expectation(path) for path in FILES]
MATRIX = REPORTS / "index.html"


@pytest.mark.parametrize("expected", EXPECTATIONS, ids=lambda expected: str(expected.name))
def test_a_published_report_is_confirmed(expected: Expectation) -> None:
    path = REPORTS / expected.name / PACKED_REPORT
    found = verify(path, every_case())
    # Of another catalogue what is still the same has to hold; `tox -e publish` makes all anew.
    assert found.exit_code in ((0, 2) if found.foreign else (0,))
    if not found.foreign:
        assert differences(expected, found.report) == []


@pytest.mark.parametrize("expected", EXPECTATIONS, ids=lambda expected: str(expected.name))
def test_a_published_report_has_its_page_and_is_in_the_matrix(expected: Expectation) -> None:
    page = Path(expected.name) / PAGE.file_name
    assert (REPORTS / page).is_file()
    matrix = CLIENT_MATRIX if expected.adapter else MATRIX
    assert f'href="{page.as_posix()}' in matrix.read_text(encoding="utf-8")
