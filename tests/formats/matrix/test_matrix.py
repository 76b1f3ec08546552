"""The matrix: each cell is what its server's report says; folds by cause, the heat map, trends."""

from __future__ import annotations

import base64
import hashlib

import msgspec

from support.pages import Page
from support.reports import case, passes, report_of, row_of
from v2_conformance.formats.heat import HeatCell, heat
from v2_conformance.report.document import OverallVerdict, Report, RequirementResult
from v2_conformance.report.verdict.judged import by_level
from v2_conformance.suite.causes.kinds import NotHttp
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import catalogue
from v2_publishing.matrix.columns import Column, column_of
from v2_publishing.matrix.folds import folds
from v2_publishing.matrix.heat import heat_map
from v2_publishing.matrix.page import render
from v2_publishing.matrix.trends import trends


def page_of(*reports: Report) -> Page:
    columns = (column_of(report, f"{n}/report.html") for n, report in enumerate(reports))
    return Page(render([(f"{n}/report.json", column) for n, column in enumerate(columns)]))


def changed(report: Report, requirement_id: str, **members: object) -> Report:
    """`report` with other members of one requirement."""
    rows = [
        msgspec.structs.replace(row, **members) if row.id == requirement_id else row
        for row in report.requirements
    ]
    return msgspec.structs.replace(report, requirements=tuple(rows))


def test_reports_of_other_catalogues_are_marked_and_kept_apart() -> None:
    other = report_of(suite_catalogue="0123456789abcdef")
    other = changed(other, "P3", statement="Something else.")
    other = changed(other, "P2", id="ZZ9", title="Old")
    usual = [report_of(server=(name, "1")) for name in "AB"]
    page = page_of(usual[0], other, usual[1])
    assert "Different catalogues" in page.text
    assert page.text.count("≠ not the one that most reports have") == 1
    assert page.cells("P2") == ["✓ pass", "– not in this report", "✓ pass"]
    assert page.cells("ZZ9")[0] == "– not in this report"
    assert "Stated in other words in the report of Server 9.8.7" in page.rows["P3"][0]
    assert "Different catalogues" not in page_of(*usual).text


def test_a_server_without_the_extension_makes_no_row_differ() -> None:
    without = report_of(verdict=OverallVerdict(True, True, (), (), implemented=False))
    page = page_of(report_of(), without, report_of(outcomes={"H6": "fail"}))
    assert "those in which servers differ (1)" in page.text


def test_the_page_loads_nothing_and_allows_its_own_script_alone() -> None:
    page = page_of(report_of())
    assert page.policy.startswith("default-src 'none'; ")
    assert "unsafe-inline" not in page.policy
    for name in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.inline[name].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in page.policy
    assert "src" not in page.attributes
    assert "url(" not in page.inline["style"]
    assert len(page.ids) == len(set(page.ids))


ROOT = "P12"
FLOOD = [
    name
    for name in catalogue()[ROOT].prerequisite_of
    if (catalogue()[name].level, catalogue()[name].profile) == ("MUST", "binary")
]


def column(name: str = "Good", *failing: str) -> Column:
    outcomes = dict.fromkeys(failing, "fail")
    return column_of(report_of(outcomes=outcomes, server=(name, "1")), "")


BAD = column("Bad", ROOT, *FLOOD)


def test_what_fails_for_one_reason_is_one_fold_whichever_servers_do() -> None:
    rows = list(BAD.requirements)
    (found,) = folds(rows, (column(), BAD))
    assert set(found.requirements) == set(FLOOD)
    assert found.labels == ("Bad 1",)
    (why,) = found.explanations
    assert (why.requirement, why.rows) == (ROOT, len(FLOOD))
    (found,) = folds(rows, (column("A", ROOT, *FLOOD), BAD, column()))
    assert found.labels == ("A 1", "Bad 1")
    # A row in which another server fails for itself stays in the table.
    other = column("Other", FLOOD[0])
    assert FLOOD[0] not in folds(rows, (BAD, other))[0].requirements


def test_the_shade_grows_with_what_a_failure_blocks_and_not_with_how_many_fail() -> None:
    def shade(*rows: RequirementResult) -> int:
        (cell,) = (cell for cell in heat(rows)[0].cells if cell is not None)
        return cell.shade

    good = [row_of(id=f"H{n}", blocks="conformant") for n in range(9)]
    failed = {"outcome": Outcome.FAIL}
    assert shade(*good) == shade(row_of(id="H1", outcome=Outcome.NOT_RUN)) == 0
    assert shade(row_of(id="H1", level="MAY", **failed)) == 1
    assert shade(row_of(id="H1", level="SHOULD", **failed)) == 2
    assert shade(*good, row_of(id="H1", blocks="robust", **failed)) == 3
    assert shade(*good, row_of(id="H1", blocks="conformant", **failed)) == 4
    assert HeatCell({Outcome.PASS: 2, Outcome.NOT_RUN: 1}).text == "○ 1/3"
    assert HeatCell({Outcome.PASS: 2, Outcome.UNSUPPORTED: 1}).text == "✓ 2/3"


def test_requirements_are_counted_at_each_level_of_their_cases() -> None:
    lenient = case("H6/read-exactly", "fail", level="SHOULD")
    other = case("H7/x", "fail", cause=NotHttp("no"))
    report = report_of(passes(case("H6/x"), case("H6/y"), lenient, other))
    column = column_of(report, "")
    assert (column.failing("MUST"), column.failing("SHOULD")) == (("H7",), ("H6",))
    musts = sum(row.level == "MUST" for row in report.requirements)
    assert column.passing("MUST") == (musts - 1, musts)
    (family,) = (row for row in heat(by_level(report)) if row.family == "H")
    (cells,) = (row.cells for row in heat_map([column]) if row.letter == "H")
    must, should = (cell for cell in family.cells if cell is not None)
    assert (must.counts[Outcome.FAIL], should.counts[Outcome.FAIL]) == (1, 1)
    assert [(cell.failing, cell.heat) for cell in cells[:2]] == [(1, "3"), (1, "2")]
    page = render([("r", column)])
    assert Page(page).cells("H6") == ["✗ fail 1 of 3"]
    assert Page(page).cells("H7") == ["✗ fail 1 of 1 blocks robust"]
    assert 'data-levels="MUST SHOULD" data-fails="0 0-SHOULD"' in page


def test_servers_in_several_versions_have_a_trend_in_the_order_of_versions() -> None:
    reports = [
        report_of(server=("S", "0.10"), outcomes={"H6": "fail"}),
        report_of(server=("Other", "1")),
        report_of(server=("S", "0.9"), outcomes={"H7": "fail"}),
    ]
    (found,) = trends([column_of(report, "") for report in reports])
    assert [version.label for version in found.versions] == ["0.9", "0.10"]
    assert (found.better, found.worse) == (1, 1)
    assert found.steps[0].step.better[0].id == "H7"
