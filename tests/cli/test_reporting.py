"""What a command says of its report at the end."""

from __future__ import annotations

import pytest

from support.reports import passes, report_of
from v2_conformance.cli.options import ReportOptions
from v2_conformance.cli.reporting import Reporting
from v2_conformance.report.document import Report
from v2_conformance.report.tested import Model

MODELS = {"identity/FP32": Model("m", (), ())}


@pytest.mark.parametrize(
    ("report", "code"),
    [(report_of(outcomes={"P2": "fail"}, models=MODELS), 1), (report_of(passes()), 4)],
)
def test_the_gate_is_only_spoken_of_if_it_was_tried(
    report: Report, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Reporting(ReportOptions()).exit_code(report, ()) == code
    assert bool(capsys.readouterr().out.strip()) is (code == 1)
