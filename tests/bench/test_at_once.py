"""Several scenarios at once, clients that live as long as they like, and some that hang."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.scenarios import READS_TASKS
from v2_clients.bench.clients import Client, CommandClient
from v2_clients.bench.tasks import MOST_OUTPUT
from v2_clients.findings import (
    ClientDied,
    ClientFlooded,
    ClientGarbage,
    ClientKeptHanging,
    ClientSaidLess,
    ClientTimedOut,
)
from v2_clients.run import MOST_HUNG, client_target, make_client_plan, start_client_run
from v2_conformance.cli.main import main
from v2_conformance.report.document import Report
from v2_conformance.report.files import load_report
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.kinds import OutOfTime
from v2_conformance.suite.outcomes import Outcome

PLAIN = (sys.executable, "-m", "v2_clients.plain")
ONE = "K3/mixed-order[reversed]"


def run(
    folder: Path, client: Client, jobs: int, patterns: tuple[str, ...], timeout_s: float = 10
) -> Report:
    plan = make_client_plan(patterns)
    begun = start_client_run(
        client_target(), plan, folder, command=("it",), timeout_s=timeout_s, limit_s=600
    )
    return begun.finish(client, timeout_s=timeout_s, jobs=jobs)


def by_id(report: Report) -> dict[str, tuple[Outcome, Cause | None]]:
    """What came of each scenario, in the report's order; times differ."""
    return {case.id: (case.outcome, case.cause) for case in report.cases}


def test_outcomes_depend_on_neither_jobs_nor_the_life_of_a_client(
    tmp_path: Path,
) -> None:
    code = """
def lines(task):
    kind = "error" if "binary" in task["scenario"] else "unsupported"
    time.sleep(0.3 if "[one_chunk" in task["scenario"] else 0)
    return [{kind: task["scenario"]} for _ in task["requests"]]
"""
    loop = "for task in tasks: say(task, lines(task))"
    once = "task = next(tasks); say(task, lines(task))"
    argument = "task = json.load(open(sys.argv[1])); say(task, lines(task))"
    one: dict[str, tuple[Outcome, Cause | None]] = {}
    ways: tuple[tuple[str, ...], ...] = ((loop,), (once,), (argument, "{task}"))
    for end, *words in ways:
        command = (sys.executable, "-c", READS_TASKS + code + end, *words)
        for jobs in (1, 3):
            found = by_id(run(tmp_path, CommandClient(command), jobs, ("K7",)))
            one = one or found
            assert list(found) == list(one)
            assert found == one
    assert {outcome for outcome, _ in one.values()} == {Outcome.UNSUPPORTED, Outcome.FAIL}


def once(code: str, startup_s: float = 20.0) -> CommandClient:
    """A program that is one process for all scenarios."""
    return CommandClient((sys.executable, "-c", READS_TASKS + code), startup_s=startup_s)


TROUBLE = {
    "sys.exit(3)": ClientDied,
    "os.kill(os.getpid(), 9)": ClientDied,
    "sys.exit(0)": ClientSaidLess,
    "time.sleep(60)": ClientTimedOut,
    "print('{\"scenario\": 1', flush=True)": ClientGarbage,
    'print(\'{"level": "info"}\', flush=True)': ClientGarbage,
    "print('{ \"scenario\": 1}', flush=True)": ClientGarbage,
    "print('{\"scenario\": \"K', end='', flush=True); os._exit(0)": ClientGarbage,
    "print(json.dumps({'scenario': task['scenario'], 'lines': [{}]}), flush=True)": ClientGarbage,
    "print(json.dumps({'scenario': task['scenario'], 'lines': []}), flush=True)": ClientSaidLess,
    f"sys.stdout.write('x' * {MOST_OUTPUT + 1}); sys.stdout.flush()": ClientFlooded,
    f"sys.stderr.write('x' * {MOST_OUTPUT + 1})": ClientFlooded,
    "os.close(0); os.close(1); os.close(2); time.sleep(60)": ClientTimedOut,
}


@pytest.mark.parametrize("code", TROUBLE)
@pytest.mark.parametrize("jobs", [1, 3])
def test_only_the_scenario_fails_in_which_the_process_ends(
    code: str, jobs: int, tmp_path: Path
) -> None:
    made = f"""
for task in tasks:
    if task["scenario"] == {ONE!r}:
        {code}
    say(task)
"""
    limit = 1 if TROUBLE[code] is ClientTimedOut else 20
    report = run(tmp_path, once(made, startup_s=2.0), jobs, ("K3/mixed-order*",), timeout_s=limit)
    causes = {case.id: case.cause for case in report.cases if case.outcome is Outcome.FAIL}
    assert list(causes) == [ONE], causes
    assert isinstance(getattr(causes[ONE], "finding", causes[ONE]), TROUBLE[code])


def test_a_client_that_dies_within_a_later_task_fails_it(tmp_path: Path) -> None:
    made = """
import urllib.request
for number, task in enumerate(tasks):
    if number == 1:
        urllib.request.urlopen(task["url"] + "/v2").read()
        sys.exit(3)
    say(task)
"""
    report = run(tmp_path, once(made), 1, ("K3/same-sizes*",))
    died = [isinstance(case.cause, ClientDied) for case in report.cases]
    assert died == [False, True, False]


@pytest.mark.parametrize(
    "says",
    ["hello", '{"scenario": "K1/x", "lines": []}', "[1]", "\\ufeff"],
)
def test_lines_that_answer_no_task_are_ignored(says: str, tmp_path: Path) -> None:
    code = f"for task in tasks: print({says!r}); say(task); say(task)"
    report = run(tmp_path, once(code), 1, ("K3/mixed-order*",))
    assert {case.outcome for case in report.cases} == {Outcome.UNSUPPORTED}


@pytest.mark.parametrize(("before", "after"), [("\\ufeff", ""), (" ", " \\r"), ("", " ")])
def test_answers_are_read_as_languages_print_them(before: str, after: str, tmp_path: Path) -> None:
    code = f"""
for task in tasks:
    sys.stdout.reconfigure(encoding="utf-8")
    print("{before}", end="")
    text = json.dumps({{"scenario": task["scenario"], "lines": [{{"unsupported": "x"}}]}})
    print(text.replace("{{", "{{ "), end="{after}\\n", flush=True)
"""
    report = run(tmp_path, once(code, startup_s=5.0), 1, (ONE,), timeout_s=1)
    assert [case.outcome for case in report.cases] == [Outcome.UNSUPPORTED]


def test_what_a_task_of_one_process_printed_is_kept_with_it(tmp_path: Path) -> None:
    code = (
        'for task in tasks: print("of", task["scenario"], file=sys.stderr, flush=True); say(task)'
    )
    report = run(tmp_path, once(code), 1, ("K3/mixed-order*",))
    for case in report.cases:
        assert case.said is not None
        assert case.said.stderr == f"of {case.id}\\n"


HANGS = "import time; time.sleep(60)"


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_client_that_hangs_again_and_again_is_not_run_anymore(jobs: int, tmp_path: Path) -> None:
    client = CommandClient((sys.executable, "-c", HANGS), startup_s=0.1)
    report = run(tmp_path, client, jobs, ("K3", "K7"), timeout_s=0.1)
    found = list(by_id(report).values())
    hung = [cause for outcome, cause in found if outcome is Outcome.FAIL]
    assert len(hung) == MOST_HUNG
    assert all(isinstance(cause, ClientTimedOut) for cause in hung)
    assert set(found[MOST_HUNG:]) == {(Outcome.NOT_RUN, ClientKeptHanging(MOST_HUNG))}
    assert not report.complete
    assert main(["verify", str(tmp_path / "report.json")]) in (0, 1)


def test_scenarios_that_a_run_has_no_time_for_are_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["client", "--max-time", "0.001", "--scenario", "K3", "--report-dir", str(tmp_path)]
    assert main([*words, "--", *PLAIN]) in (1, 3)
    report = load_report(tmp_path / "report.json")
    assert {cause for _, cause in list(by_id(report).values())[1:]} == {OutOfTime(0.001)}
    assert not report.complete
    capsys.readouterr()
    main(["verify", str(tmp_path / "report.json")])
    assert "the run is incomplete" in " ".join(capsys.readouterr().out.split())
    assert main([*words, "--max-time", "0", "--", *PLAIN]) == 2


LEAVES = """
import os, subprocess, sys
child = "import os, sys, time; open(sys.argv[1] + str(os.getpid()), 'w'); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", child, sys.argv[1]], start_new_session=True)
while not os.listdir(sys.argv[1]): pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to another process")
@pytest.mark.parametrize("jobs", [1, 2])
def test_nothing_that_a_client_leaves_behind_outlives_the_run(jobs: int, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    client = CommandClient((sys.executable, "-c", LEAVES, f"{marks}/"))
    run(tmp_path / "r", client, jobs, ("K3/mixed-order*",))
    assert_gone(marks)


def assert_gone(marks: Path) -> None:
    left = [int(path.name) for path in marks.iterdir()]
    assert left
    for process in left:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.mark.parametrize("option", ["--jobs=2", "--jobs=1"])
@pytest.mark.long
def test_a_run_that_is_stopped_ends_its_clients(option: str, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    code = "import os, sys, time; open(sys.argv[1] + str(os.getpid()), 'w'); time.sleep(600)"
    words = ["--scenario", "K3", "--report-dir", str(tmp_path / "r"), option]
    client = [sys.executable, "-c", code, f"{marks}/"]
    command = [sys.executable, "-m", "v2_conformance", "client", *words, "--", *client]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        # Beside the one with which it is checked if the command works at all.
        deadline = time.monotonic() + 100
        while len(list(marks.iterdir())) < 1 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        process.stderr.read()
        process.wait(60)
    assert_gone(marks)
