"""A run of the suite without the command line: what it writes and leaves; it prints nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from support.reports import case, expectation
from support.runs import CASES, GOOD, target_of
from support.servers import free_port
from v2_conformance.certifying.resending import Failure, Now, resend
from v2_conformance.certifying.servers import plan_of, start
from v2_conformance.conversations.steps import CaseFinished
from v2_conformance.errors import NothingRanError, UnreachableError, UsageError
from v2_conformance.report.expectations import Expectations
from v2_conformance.report.files import RECORD, REPORT, load_report
from v2_conformance.runs.scheduling.deaths import Recovery
from v2_conformance.runs.targets.making import make_target
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.requirements import Level
from v2_mutants.servers import MutantServer

FAULT = "request-blobs-off-by-one"  # P2 fails


@pytest.fixture
def target() -> Iterator[Target]:
    """A server that fails P2."""
    with MutantServer([FAULT]) as server:
        yield make_target(server.url)


def test_the_suite_is_what_is_planned_and_patterns_choose_what_is_sent() -> None:
    plan = plan_of()
    assert plan.own
    assert list(plan.planned) == list(plan.chosen) == suite_cases()
    assert list(plan_of(large=True).planned) == suite_cases(large=True)
    some = plan_of(patterns=("P2",))
    assert list(some.planned) == suite_cases()
    assert {case.requirement for case in some.chosen} == {"P2"}
    with pytest.raises(NothingRanError, match="the pattern 'P222' matches no case"):
        plan_of(patterns=("P2", "P222"))


def test_the_report_is_returned_and_written_and_nothing_is_printed(
    target: Target, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = plan_of(patterns=("P2", "R3/survives*"))
    events: list[CaseFinished] = []

    def recorded(event: CaseFinished) -> None:
        events.append(event)
        assert f'"id":"{event.result.case.id}"' in (tmp_path / RECORD).read_text()

    report = start(target, plan, tmp_path).finish(workers=2, on_case=recorded)
    assert report == load_report(tmp_path / REPORT)
    assert report.complete
    assert not report.verdict.conformant
    assert {event.result.case.id for event in events} == {case.id for case in plan.chosen}
    assert [event.number for event in events] == list(range(1, len(plan.chosen) + 1))
    outcomes = {case.requirement: case.outcome for case in report.cases}
    assert outcomes == {"P2": "fail", "R3": "pass"}
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_run_has_a_report(
    error: type[BaseException], target: Target, tmp_path: Path
) -> None:
    def stops(event: CaseFinished) -> None:
        raise error

    with pytest.raises(error):
        start(target, plan_of(patterns=("P2",)), tmp_path).finish(on_case=stops)
    report = load_report(tmp_path / REPORT)
    assert (report.complete, len(report.cases)) == (False, 1)


def test_known_failures_and_a_restart_command_are_noted_alone(
    target: Target, tmp_path: Path
) -> None:
    plan, command = plan_of(patterns=("P2",)), Recovery("exit 1")
    for expires, noted in ((None, True), (date(2020, 1, 1), False)):
        entry = expectation("P2", reason="It is known.", expires=expires)
        known = Expectations("known", (entry,))
        begun = start(target, plan, tmp_path, expectations=known, recovery=command)
        report = begun.finish()
        assert report.target.restart_command
        assert all((case.expected is not None) is noted for case in report.cases)
        assert not report.verdict.conformant


def test_a_wrong_target_or_folder_leaves_an_old_report(target: Target, tmp_path: Path) -> None:
    (tmp_path / REPORT).write_text("older")
    with pytest.raises(UnreachableError):
        start(make_target(f"http://127.0.0.1:{free_port()}"), plan_of(), tmp_path)
    with pytest.raises(UsageError, match="cannot write reports into"):
        start(target, plan_of(), tmp_path / REPORT)
    assert (tmp_path / REPORT).read_text() == "older"


def _newly_failing(level: Level, *faults: str) -> list[str]:
    """The cases that are told of when one of this level is sent because it showed another."""
    shows = replace(CASES()[GOOD], level=level)
    failed = Failure(case("R2/observed", "fail"), CASES()["R2/observed"], shown_by=(shows,))
    with MutantServer(faults) as server:
        found = list(resend(target_of(server.url), [failed]))
    return [one.case_id for one in found if one.now is Now.NEWLY_FAILING]


def test_a_case_that_showed_another_failure_counts_if_it_fails_itself() -> None:
    assert _newly_failing("MUST") == []
    assert _newly_failing("MUST", "request-blobs-off-by-one") == [GOOD]
    assert _newly_failing("MAY", "request-blobs-off-by-one") == []
