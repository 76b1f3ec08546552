"""The table of families and levels: what a cell says of its requirements."""

from __future__ import annotations

from support.reports import case, passes, report_of, row_of
from v2_conformance.formats.heat import HeatCell, heat
from v2_conformance.report.document import RequirementResult
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import LEVELS, families


def test_every_requirement_is_counted_once_in_its_family_and_level() -> None:
    report = report_of(passes(case("P5/x", "fail", "m")))
    rows = heat(report.requirements)
    assert [row.family for row in rows] == [
        letter for letter in families() if any(r.id[0] == letter for r in report.requirements)
    ]
    for row in rows:
        for level, cell in zip(LEVELS, row.cells, strict=True):
            there = [r for r in report.requirements if (r.id[0], r.level) == (row.family, level)]
            assert (cell.total if cell else 0) == len(there)
    first = next(row for row in rows if row.family == "P").cells[0]
    assert first is not None
    assert (first.worst, first.text) == (Outcome.FAIL, f"✗ 1/{first.total}")


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


def test_what_did_not_run_is_not_shown_as_a_pass() -> None:
    assert HeatCell({Outcome.PASS: 2, Outcome.NOT_RUN: 1}).text == "○ 1/3"
    assert HeatCell({Outcome.PASS: 2, Outcome.UNSUPPORTED: 1}).text == "✓ 2/3"
