"""A run of the suite without the command line: what it writes and leaves; it prints nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from support.reports import expectation
from support.servers import free_port
from v2_conformance.certifying import servers as certifying
from v2_conformance.certifying.servers import plan_of, start
from v2_conformance.conversations.steps import CaseFinished
from v2_conformance.errors import CaseFileError, NothingRanError, UnreachableError, UsageError
from v2_conformance.report.expectations import Expectations
from v2_conformance.report.files import RECORD, REPORT, load_report
from v2_conformance.runs.scheduling.deaths import Recovery
from v2_conformance.runs.targets.making import make_target
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.library import suite_cases
from v2_mutants.servers import MutantServer

FAULT = "request-blobs-off-by-one"  # P2 fails


@pytest.fixture
def target() -> Iterator[Target]:
    """A server that fails P2."""
    with MutantServer([FAULT]) as server:
        yield make_target(server.url)


class TestPlan:
    def test_the_suite_is_what_is_planned_and_sent(self) -> None:
        plan = plan_of()
        assert plan.own
        assert list(plan.planned) == list(plan.chosen) == suite_cases()
        assert list(plan_of(large=True).planned) == suite_cases(large=True)

    def test_patterns_choose_and_leave_the_plan_alone(self) -> None:
        plan = plan_of(patterns=("P2",))
        assert list(plan.planned) == suite_cases()
        assert {case.requirement for case in plan.chosen} == {"P2"}
        with pytest.raises(NothingRanError, match="the pattern 'P222' matches no case"):
            plan_of(patterns=("P2", "P222"))

    def test_given_files_are_not_the_suite(self, tmp_path: Path) -> None:
        with pytest.raises(CaseFileError, match="no such file"):
            plan_of(case_files=tmp_path / "none.yaml")
        family = Path(__file__).parents[2] / "cases"
        file = next(path for path in sorted(family.glob("*.yaml")) if "framing" in path.name)
        plan = plan_of(case_files=file)
        assert not plan.own
        assert 0 < len(plan.planned) < len(suite_cases())


class TestRun:
    def test_the_report_is_returned_and_written_and_nothing_is_printed(
        self, target: Target, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        plan = plan_of(patterns=("P2", "R3/survives*"))
        events: list[CaseFinished] = []
        report = start(target, plan, tmp_path).finish(workers=2, on_case=events.append)
        assert report == load_report(tmp_path / REPORT)
        assert report.complete
        assert not report.verdict.conformant
        assert {event.result.case.id for event in events} == {case.id for case in plan.chosen}
        assert [event.number for event in events] == list(range(1, len(plan.chosen) + 1))
        outcomes = {case.requirement: case.outcome for case in report.cases}
        assert outcomes == {"P2": "fail", "R3": "pass"}
        printed = capsys.readouterr()
        assert (printed.out, printed.err) == ("", "")

    def test_a_case_is_recorded_before_it_is_told(self, target: Target, tmp_path: Path) -> None:
        def recorded(event: CaseFinished) -> None:
            assert f'"id":"{event.result.case.id}"' in (tmp_path / RECORD).read_text()

        start(target, plan_of(patterns=("R3/survives*",)), tmp_path).finish(on_case=recorded)

    @pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
    def test_what_stops_it_leaves_an_incomplete_report(
        self, error: type[BaseException], target: Target, tmp_path: Path
    ) -> None:
        def stops(event: CaseFinished) -> None:
            raise error

        begun = start(target, plan_of(patterns=("P2",)), tmp_path)
        with pytest.raises(error):
            begun.finish(on_case=stops)
        report = load_report(tmp_path / REPORT)
        assert not report.complete
        assert len(report.cases) == 1

    @pytest.mark.parametrize("command", [None, "exit 1"])
    def test_the_report_says_if_there_was_a_restart_command(
        self, command: str | None, target: Target, tmp_path: Path
    ) -> None:
        plan = plan_of(patterns=("P2",))
        report = start(target, plan, tmp_path, recovery=Recovery(command)).finish()
        assert report.target.restart_command is (command is not None)

    @pytest.mark.parametrize(("expires", "noted"), [(None, True), (date(2020, 1, 1), False)])
    def test_known_failures_are_noted_and_change_no_verdict(
        self, expires: date | None, noted: bool, target: Target, tmp_path: Path
    ) -> None:
        entry = expectation("P2", reason="It is known.", expires=expires)
        known = Expectations("known", (entry,))
        plan = plan_of(patterns=("P2",))
        report = start(target, plan, tmp_path, expectations=known).finish()
        assert all((case.expected is not None) is noted for case in report.cases)
        assert not report.verdict.conformant

    def test_a_wrong_target_leaves_an_older_report_alone(self, tmp_path: Path) -> None:
        (tmp_path / REPORT).write_text("older")
        url = f"http://127.0.0.1:{free_port()}"
        with pytest.raises(UnreachableError):
            start(make_target(url), plan_of(), tmp_path)
        with pytest.raises(UsageError, match="no cases for the profile client"):
            start(make_target(url, profiles=("client",)), plan_of(), tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == [REPORT]

    def test_a_folder_that_cannot_be_written_is_an_error_before_any_case(
        self, target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent: list[object] = []
        monkeypatch.setattr(certifying, "run", lambda *arguments: sent.append(arguments))
        (tmp_path / "file").touch()
        with pytest.raises(UsageError, match="cannot write reports into"):
            start(target, plan_of(), tmp_path / "file")
        assert not sent


def test_it_needs_nothing_of_the_command_line() -> None:
    code = "import sys, v2_conformance.certifying.servers; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.split())
    assert not loaded & {"click", "rich", "jinja2"}
    assert not any(name.startswith("v2_conformance.cli") for name in loaded)
