"""What a user loses, in the words of the verdict."""

from __future__ import annotations

from support.reports import case, passes, report_of
from v2_conformance.report.causes.words import lost, lost_by, shown_causes
from v2_conformance.suite.causes.causes import DidNotSurvive
from v2_conformance.suite.causes.circumstances import KilledBy
from v2_conformance.suite.causes.findings import WrongStatus

REFUSED = WrongStatus("200", 500, "no")
DIED = DidNotSurvive(None, REFUSED, REFUSED, False)


def test_the_verdict_says_what_its_causes_cost_the_worst_first() -> None:
    failing = [case("O1/x", "fail"), case("P2/x", "fail", cause=DIED), case("C12/x", "fail")]
    report = report_of(passes(*failing))
    assert lost(report).startswith("breaks clients (")
    assert "the server dies (1)" in lost(report)
    harms = [cause.group.harm for cause in shown_causes(report)]
    assert harms == ["breaks-clients", "dies", "hygiene"]


def test_what_blocks_robust_is_told_only_of_what_is_conformant() -> None:
    dying = case("R3/x", "fail", cause=DIED)
    assert lost(report_of(passes(dying))) == "the server dies (1)"
    assert "dies" not in lost(report_of(passes(dying, case("O1/x", "fail"))))
    assert lost(report_of()) == ""


def test_a_death_costs_what_could_not_run_after_it() -> None:
    dying = case("R3/x", "fail", cause=DIED)
    unsent = case("O1/x", "not_run", cause=KilledBy(dying.id, "identity/INT32"))
    report = report_of(passes(dying, unsent))
    assert not report.verdict.conformant
    assert lost(report) == "the server dies (1)"


def test_what_a_requirement_costs_is_in_the_catalogue() -> None:
    report = report_of(passes(case("K1/x", "fail")))
    assert lost_by(report, "P5") == "wrong numbers"
    assert lost_by(report, "P4") == lost_by(report, "Q99") == ""
