"""What `replay` says of cases that it cannot send."""

from __future__ import annotations

from pathlib import Path

from support.commands import Cli
from support.reports import case, report_of, saved
from v2_conformance.suite.library import client_cases


def test_cases_that_no_server_can_get_are_counted_and_fix_nothing(tmp_path: Path, cli: Cli) -> None:
    scenario = client_cases()[0].id
    failed = [case("H6/of-another-version", "fail"), case(scenario, "fail")]
    report = saved(report_of(failed), tmp_path / "report.json")
    ended = cli("replay", report, "http://127.0.0.1:9", code=3)
    lines = ended.out.splitlines()
    assert lines[-1] == "2 unknown"
    assert scenario in ended.out
    assert ended.shown.count("this version of the suite has no such case") == 2
