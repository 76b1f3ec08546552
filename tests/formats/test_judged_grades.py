"""Every format prints the grade of what failed, not that of the catalogue."""

from __future__ import annotations

import html
import re

from support.pages import Page
from support.reports import case, passes, report_of
from v2_conformance.formats.github import annotation_lines, markdown
from v2_conformance.formats.heat import heat
from v2_conformance.formats.html.page import render
from v2_conformance.report.verdict.judged import by_level, judged
from v2_conformance.suite.outcomes import Outcome
from v2_publishing.matrix.columns import column_of
from v2_publishing.matrix.heat import heat_map
from v2_publishing.matrix.page import render as render_matrix

LENIENT = case("H6/read-exactly", "fail", level="SHOULD")
REPORT = report_of(passes(case("H6/x"), case("H6/y"), LENIENT, case("H7/x", "fail")))
CONFORMANT = "MUST (blocks conformant)"


def test_the_page_shows_a_failed_should_where_only_should_cases_fail() -> None:
    row = re.search(r'<tr role="row" id="req-H6".*?</tr>', render(REPORT), re.DOTALL)
    assert row is not None
    assert 'data-outcome="fail" data-level="SHOULD, MUST (blocks robust)"' in row[0]
    words = " ".join(html.unescape(re.sub("<[^>]*>", " ", row[0])).split())
    assert "H6 SHOULD derived" in words
    assert "✗ fail 2 pass 1 fail" in words


def test_the_matrix_shows_level_and_what_a_failure_blocks() -> None:
    page = render_matrix([("r", column_of(REPORT, "r.html"))])
    assert Page(page).cells("H6") == ["✗ fail 1 of 3"]
    assert Page(page).cells("H7") == ["✗ fail 1 of 1 blocks robust"]
    assert 'class="mark o-fail m-SHOULD"' in page
    row = re.search(r'<tr id="req-H6"[^>]*>', page)
    assert row is not None
    assert 'data-levels="MUST SHOULD" data-fails="0 0-SHOULD"' in row[0]


def test_requirements_are_counted_at_each_level_of_their_cases() -> None:
    column = column_of(REPORT, "")
    assert column.failing("MUST") == ("H7",)
    assert column.failing("SHOULD") == ("H6",)
    musts = sum(row.level == "MUST" for row in REPORT.requirements)
    assert column.passing("MUST") == (musts - 1, musts)
    (family,) = (row for row in heat(by_level(REPORT)) if row.family == "H")
    (cells,) = (row.cells for row in heat_map([column]) if row.letter == "H")
    must, should = (cell for cell in family.cells if cell is not None)
    assert (must.counts[Outcome.FAIL], should.counts[Outcome.FAIL]) == (1, 1)
    assert [(cell.failing, cell.heat) for cell in cells[:2]] == [(1, "3"), (1, "2")]


def test_the_step_summary_lists_a_failed_should_of_a_must() -> None:
    assert "warning: <code>SHOULD H6 failed" in html.unescape(markdown(REPORT))
    assert any("SHOULD H6 " in line for line in annotation_lines(REPORT))
    assert not any("MUST (blocks robust) H6 " in line for line in annotation_lines(REPORT))


def test_a_requirement_has_the_strictest_grade_at_which_it_fails() -> None:
    failing = [
        LENIENT,
        case("H6/x", "fail", blocks="robust"),
        case("H6/y", "fail", blocks="conformant"),
    ]
    for number, grade in enumerate(("SHOULD", "MUST (blocks robust)", CONFORMANT), 1):
        rows = judged(report_of(passes(case("H6/z"), *failing[:number])))
        assert [row.grade for row in rows if row.id == "H6"] == [grade]
