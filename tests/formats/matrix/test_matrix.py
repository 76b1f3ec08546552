"""The matrix: each cell is what its server's report says, and leads there."""

from __future__ import annotations

import base64
import hashlib
import re

import msgspec
import pytest

from support.pages import Page
from support.reports import report_of
from support.responses import HOSTILE
from v2_conformance.report.document import Report
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import catalogue
from v2_publishing.matrix.columns import column_of
from v2_publishing.matrix.page import render


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


def test_every_cell_has_its_servers_outcome() -> None:
    page = page_of(
        report_of(server=("A", "1")),
        report_of(outcomes={"P2": "fail", "P4": "not_run"}, server=("B", "1")),
    )
    assert page.cells("P2") == ["✓ pass", "✗ fail 1 of 2 blocks conformant"]
    assert page.cells("P4") == ["✓ pass", "○ not run 1 of 2"]
    others = set(page.rows) - {"", "P2", "P4"}
    assert len(others) > 80
    assert all(page.cells(name) == ["✓ pass"] * 2 for name in others)
    claimed = {r.id for r in catalogue().values() if r.profile == "binary"}
    assert others | {"P2", "P4"} == claimed


def test_a_level_that_depends_on_profiles_is_named_in_the_cells() -> None:
    raised = {r.id: r for r in catalogue().values() if r.level_in}
    name, requirement = next(iter(raised.items()))
    profile, level = next(iter(requirement.level_in.items()))
    page = page_of(report_of(), report_of(profiles=["binary", profile]))
    assert page.cells(name) == [f"✓ pass {requirement.level}", f"✓ pass {level}"]


def test_what_did_not_run_is_not_shown_as_a_pass() -> None:
    part = changed(report_of(left_out=["P3"]), "P2", cases={Outcome.PASS: 1})
    cases = tuple(case for case in part.cases if case.id != "P2/case-2[INT32]")
    page = page_of(report_of(), msgspec.structs.replace(part, cases=cases))
    assert page.cells("P2") == ["✓ pass", "◐ pass so far 1 of 2 ran"]
    assert page.cells("P3") == ["✓ pass", "○ not run"]
    assert "○ incomplete run" in page.rows[""][0] or "incomplete run" in page.text
    assert "3 cases did not run" in page.text


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


def test_namesakes_are_told_apart() -> None:
    page = page_of(report_of(), report_of(outcomes={"P2": "fail"}))
    for place in ("(0/report.json)", "(1/report.json)"):
        assert f"Server 9.8.7 {place}" in page.text
    assert page.cells("P2") == ["✓ pass", "✗ fail 1 of 2 blocks conformant"]
    twice = column_of(report_of(), "")
    assert "(a.json) #2" in Page(render([("a.json", twice), ("a.json", twice)])).text


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


def test_nothing_in_a_report_becomes_markup() -> None:
    plain = page_of(report_of(server=("A", "1")), report_of(server=("B", "1")))
    report = report_of(
        outcomes={"P2": "fail"},
        server=(HOSTILE, HOSTILE),
        message=HOSTILE,
        suite_version=HOSTILE,
        suite_catalogue=HOSTILE,
        started=HOSTILE,
    )
    rows = [
        msgspec.structs.replace(row, title=HOSTILE, statement=HOSTILE)
        for row in report.requirements
    ]
    rows.append(msgspec.structs.replace(rows[0], id=HOSTILE))
    target = msgspec.structs.replace(report.target, profiles=(HOSTILE,))
    report = msgspec.structs.replace(report, requirements=tuple(rows), target=target)
    page = page_of(report, report_of(server=("B", "1")))
    assert set(page.tags) <= {*plain.tags, "strong"}
    assert page.attributes == plain.attributes
    assert not re.search(r"[\x00\x0b\x1b\u202e\ufffe]", page.text)
    assert "<script>alert(1)</script>" in page.text  # shown, as text
    assert not any(link.startswith("javascript:") for link in page.links)


@pytest.mark.parametrize(
    ("failing", "words"), [([], "0 fail"), (["P2"], "1 fails"), (["P2", "S1"], "2 fail")]
)
def test_a_card_says_how_many_fail(failing: list[str], words: str) -> None:
    tally = column_of(report_of(outcomes=dict.fromkeys(failing, "fail")), "").tally
    assert tally.split(", ")[1] == words
