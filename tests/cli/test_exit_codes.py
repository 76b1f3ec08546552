"""Exit codes of runs: what failed before a run was stopped stays failed."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from support.commands import Cli
from support.reports import case, passes, report_of, saved
from v2_conformance.cli.main import main
from v2_conformance.cli.options import ReportOptions
from v2_conformance.cli.reporting import Reporting, exit_code_of, with_expectations
from v2_conformance.report.document import CaseResult, OverallVerdict, Report
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
    assert exit_code_of(stopped(requirement, outcome), Gate()) == code


def test_a_stopped_run_of_a_selection_or_with_expected_failures_has_no_verdict() -> None:
    report = stopped("P2", "fail")
    selected = msgspec.structs.replace(report, selection=Selection(patterns=("P*",)))
    assert exit_code_of(selected, Gate()) == 3
    assert with_expectations(report, Gate(), as_expected=True) == 3


@pytest.mark.parametrize(
    ("report", "code"),
    [(report_of(outcomes={"P2": "fail"}, models=MODELS), 1), (report_of(passes()), 4)],
)
def test_the_gate_is_only_spoken_of_if_it_was_tried(
    report: Report, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Reporting(ReportOptions()).exit_code(report, ()) == code
    assert bool(capsys.readouterr().out.strip()) is (code == 1)


def compared(*cases: CaseResult, complete: bool = True) -> Report:
    return report_of(
        cases, complete=complete, verdict=OverallVerdict(False, False, ("because",), ())
    )


@pytest.mark.parametrize(
    ("new", "options", "code"),
    [
        (compared(case("H6/a")), [], 0),
        (compared(case("H6/a", "fail")), [], 1),
        (compared(case("H6/a", "fail")), ["--exit-zero"], 0),
        (compared(case("H6/a", "fail")), ["--markdown"], 1),
        (compared(case("H6/a"), case("P4/a", "fail")), [], 0),
        (compared(case("H6/a"), case("P4/a", "fail")), ["--strict"], 1),
        (compared(case("H6/a"), complete=False), [], 3),
        (compared(case("H6/a", "fail"), complete=False), [], 1),
    ],
)
def test_diff_fails_for_what_got_worse(
    new: Report, options: list[str], code: int, tmp_path: Path
) -> None:
    old = saved(compared(case("H6/a"), case("P4/a")), tmp_path / "old.json")
    assert main(["diff", str(old), str(saved(new, tmp_path / "new.json")), *options]) == code


def test_an_old_report_in_an_older_format_is_a_note(tmp_path: Path, cli: Cli) -> None:
    new = saved(compared(case("H6/a", "fail")), tmp_path / "new.json")
    document = json.loads(new.read_bytes())
    document["suite"]["report"] = 1
    old = tmp_path / "old.json"
    old.write_text(json.dumps(document))
    ended = cli("diff", old, new, "--markdown", code=0)
    assert "nothing to compare with" in ended.out
    assert "has report format 1" in ended.out
    cli("diff", new, old, code=2)
