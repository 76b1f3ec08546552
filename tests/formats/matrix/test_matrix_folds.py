"""What the matrix makes of many reports: folds by cause, the heat map, trends, forms of levels."""

from __future__ import annotations

import re
from dataclasses import replace

from support.reports import case, report_of
from v2_conformance.report.document import NOT_IMPLEMENTED
from v2_conformance.suite.requirements import catalogue
from v2_publishing.matrix.columns import Column, column_of
from v2_publishing.matrix.folds import folds
from v2_publishing.matrix.heat import HeatCell, heat_map
from v2_publishing.matrix.page import render
from v2_publishing.matrix.trends import trends

ROOT = "P12"
FLOOD = [
    name
    for name in catalogue()[ROOT].prerequisite_of
    if (catalogue()[name].level, catalogue()[name].profile) == ("MUST", "binary")
]


def good(name: str = "Good") -> Column:
    return column_of(report_of(server=(name, "1")), "")


def flooded(*others: str, name: str = "Bad") -> Column:
    """A server that fails P12, all that needs it, and `others`."""
    return column_of(
        report_of(outcomes=dict.fromkeys([ROOT, *FLOOD, *others], "fail"), server=(name, "1")), ""
    )


def rows(*columns: Column) -> list[str]:
    return list(columns[0].requirements)


def test_what_fails_on_one_server_for_one_reason_is_one_fold() -> None:
    columns = (good(), flooded())
    (found,) = folds(rows(*columns), columns)
    assert set(found.requirements) == set(FLOOD)
    assert found.labels == ("Bad 1",)
    (why,) = found.explanations
    assert (why.requirement, why.rows) == (ROOT, len(FLOOD))


def test_a_row_in_which_another_server_fails_for_itself_stays_in_the_table() -> None:
    other = column_of(report_of(outcomes={FLOOD[0]: "fail"}, server=("Other", "1")), "")
    columns = (flooded(), other)
    assert FLOOD[0] not in folds(rows(*columns), columns)[0].requirements


def test_two_servers_with_one_reason_share_a_fold() -> None:
    columns = (flooded(name="A"), flooded(name="B"), good())
    (found,) = folds(rows(*columns), columns)
    assert found.labels == ("A 1", "B 1")


def test_every_requirement_has_one_row_folded_or_not() -> None:
    page = render([("a", good()), ("b", flooded())])
    ids = re.findall(r'<tr id="req-([A-Z0-9]+)"', page)
    assert sorted(ids) == sorted(rows(good()))
    assert page.count(f"by {ROOT}</span>") == len(FLOOD)


def test_without_a_script_every_row_is_shown() -> None:
    page = render([("a", good()), ("b", flooded())])
    hidden = re.findall(r"<(\w+)[^>]* hidden[ >]", page)
    assert set(hidden) == {"form", "button"}


def cell(column: Column, letter: str, level: str) -> HeatCell:
    row = next(row for row in heat_map([column]) if row.letter == letter)
    return next(cell for cell in row.cells if cell.level == level)


def test_the_heat_map_counts_what_fails_of_what_came_to_an_end() -> None:
    column = column_of(
        report_of(
            [
                case("H6/a", "fail"),
                case("H7/a"),
                case("H8/a", "not_run"),
                case("H12/a", "fail"),
                case("S1/a", "not_run"),
            ]
        ),
        "",
    )
    must, should = (cell(column, "H", level) for level in ("MUST", "SHOULD"))
    assert (must.failing, must.tested, must.heat) == (1, 2, "3")
    assert (should.failing, should.tested, should.heat) == (1, 1, "2")
    assert cell(column, "S", "MUST").heat == "none"


def test_a_server_without_the_extension_fails_nowhere_in_the_heat_map() -> None:
    failing = flooded()
    left_out = replace(failing, standing=replace(failing.standing, words=NOT_IMPLEMENTED))
    assert heat_map([failing])
    assert heat_map([left_out]) == []


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
