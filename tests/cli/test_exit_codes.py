"""Exit codes of runs: what failed before a run was stopped stays failed."""

from __future__ import annotations

import msgspec
import pytest

from support.reports import passes, report_of
from v2_conformance.cli.exit_codes import of_report, with_expectations
from v2_conformance.cli.options import ReportOptions
from v2_conformance.cli.reporting import Reporting
from v2_conformance.report.document import Report
from v2_conformance.report.tested import Model, Selection
from v2_conformance.report.verdict.judged import Gate

MODELS = {"identity/FP32": Model("m", (), ())}


def stopped(requirement: str, outcome: str) -> Report:
    return report_of(outcomes={requirement: outcome}, complete=False, models=MODELS)


@pytest.mark.parametrize(
    ("requirement", "outcome", "code"),
    [
        ("P2", "fail", 1),
        ("P2", "flaky", 1),
        ("P2", "pass", 3),
        ("P2", "error", 3),
        ("H6", "fail", 3),
    ],
)
def test_only_a_failure_that_decides_the_verdict_counts(
    requirement: str, outcome: str, code: int
) -> None:
    assert of_report(stopped(requirement, outcome), Gate()) == code


def test_selection_that_was_stopped_has_no_verdict() -> None:
    selected = msgspec.structs.replace(stopped("P2", "fail"), selection=Selection(patterns=("P*",)))
    assert of_report(selected, Gate()) == 3


def test_expected_failures_of_a_stopped_run_say_nothing_of_what_did_not_run() -> None:
    assert with_expectations(stopped("P2", "fail"), Gate(), as_expected=True) == 3


@pytest.mark.parametrize(
    ("report", "code"),
    [(report_of(outcomes={"P2": "fail"}, models=MODELS), 1), (report_of(passes()), 4)],
)
def test_the_gate_is_only_spoken_of_if_it_was_tried(
    report: Report, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Reporting(ReportOptions()).exit_code(report, ()) == code
    assert bool(capsys.readouterr().out.strip()) is (code == 1)
