"""Exit codes of runs that were stopped: what failed before that stays failed."""

from __future__ import annotations

import msgspec
import pytest

from support.reports import report_of
from v2_conformance.cli.exit_codes import of_report, with_expectations
from v2_conformance.report.document import Report
from v2_conformance.report.tested import Model, Selection
from v2_conformance.report.verdict.judged import Gate


def stopped(requirement: str, outcome: str) -> Report:
    models = {"identity/FP32": Model("m", (), ())}
    return report_of(outcomes={requirement: outcome}, complete=False, models=models)


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
