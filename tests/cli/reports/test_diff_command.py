"""diff on the command line: its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import Cli
from support.reports import case, report_of, saved
from v2_conformance.cli.main import main
from v2_conformance.report.document import CaseResult, OverallVerdict, Report


def report(*cases: CaseResult, complete: bool = True) -> Report:
    return report_of(
        cases, complete=complete, verdict=OverallVerdict(False, False, ("because",), ())
    )


@pytest.mark.parametrize(
    ("new", "options", "code"),
    [
        (report(case("H6/a")), [], 0),
        (report(case("H6/a", "fail")), [], 1),
        (report(case("H6/a", "fail")), ["--exit-zero"], 0),
        (report(case("H6/a", "fail")), ["--markdown"], 1),
        (report(case("H6/a"), case("P4/a", "fail")), [], 0),
        (report(case("H6/a"), case("P4/a", "fail")), ["--strict"], 1),
        (report(case("H6/a"), complete=False), [], 3),
        (report(case("H6/a", "fail"), complete=False), [], 1),
    ],
)
def test_the_command(new: Report, options: list[str], code: int, tmp_path: Path) -> None:
    old = saved(report(case("H6/a"), case("P4/a")), tmp_path / "old.json")
    assert main(["diff", str(old), str(saved(new, tmp_path / "new.json")), *options]) == code


def test_an_old_report_in_an_older_format_is_a_note(tmp_path: Path, cli: Cli) -> None:
    new = saved(report(case("H6/a", "fail")), tmp_path / "new.json")
    document = json.loads(new.read_bytes())
    document["suite"]["report"] = 1
    old = tmp_path / "old.json"
    old.write_text(json.dumps(document))
    ended = cli("diff", old, new, "--markdown", code=0)
    assert "nothing to compare with" in ended.out
    assert "has report format 1" in ended.out
    cli("diff", new, old, code=2)
