"""Several scenarios at once, clients that live as long as they like, and some that hang."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from support.runs import command
from support.scenarios import READS_TASKS, program, run
from v2_clients import findings
from v2_clients.bench.tasks import MOST_OUTPUT
from v2_clients.run import MOST_HUNG, make_client_plan, run_budget
from v2_conformance.cli.main import main
from v2_conformance.errors import UsageError
from v2_conformance.report.document import Report
from v2_conformance.report.files import load_report
from v2_conformance.runs.targets.numbers import LONGEST_RUN_S
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.kinds import OutOfTime
from v2_conformance.suite.outcomes import Outcome, Purpose

PLAIN = (sys.executable, "-m", "v2_clients.plain")
ONE = "K3/mixed-order[reversed]"


def by_id(report: Report) -> dict[str, tuple[Outcome, Cause | None]]:
    """What came of each scenario, in the report's order; times differ."""
    return {case.id: (case.outcome, case.cause) for case in report.cases}


def test_outcomes_depend_on_neither_jobs_nor_the_life_of_a_client(tmp_path: Path) -> None:
    code = """
def lines(task):
    kind = "error" if "binary" in task["scenario"] else "unsupported"
    time.sleep(0.1 if "[one_chunk" in task["scenario"] else 0)
    return [{kind: task["scenario"]} for _ in task["requests"]]
"""
    loop = "for task in tasks: say(task, lines(task))"
    once = "task = next(tasks); say(task, lines(task))"
    argument = "task = json.load(open(sys.argv[1])); say(task, lines(task))"
    ways = [(loop,), (once,), (argument, "{task}")]
    found = [
        by_id(run(tmp_path, program(READS_TASKS + code + end, *more), jobs, ("K7",)))
        for end, *more in ways
        for jobs in (1, 3)
    ]
    assert all(list(one.items()) == list(found[0].items()) for one in found)
    assert {outcome for outcome, _ in found[0].values()} == {Outcome.UNSUPPORTED, Outcome.FAIL}


TROUBLE = {
    "sys.exit(3)": findings.ClientDied,
    "sys.exit(0)": findings.ClientSaidLess,
    "time.sleep(60)": findings.ClientTimedOut,
    "print('{ \"scenario\": 1}', flush=True)": findings.ClientGarbage,
    "print('{\"scenario\": \"K', end='', flush=True); os._exit(0)": findings.ClientGarbage,
    f"sys.stdout.write('x' * {MOST_OUTPUT + 1}); sys.stdout.flush()": findings.ClientFlooded,
    "os.close(0); os.close(1); os.close(2); time.sleep(60)": findings.ClientTimedOut,
}


@pytest.mark.parametrize("code", TROUBLE)
@pytest.mark.parametrize("jobs", [1, 3])
def test_only_the_scenario_fails_in_which_it_ends(code: str, jobs: int, tmp_path: Path) -> None:
    made = f"""
for task in tasks:
    if task["scenario"] == {ONE!r}:
        {code}
    say(task)
"""
    limit = 1 if TROUBLE[code] is findings.ClientTimedOut else 20
    client = program(READS_TASKS + made, startup_s=2.0)
    report = run(tmp_path, client, jobs, ("K3/mixed-order*",), timeout_s=limit)
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
    report = run(tmp_path, program(READS_TASKS + made), 1, ("K3/same-sizes*",))
    died = [isinstance(case.cause, findings.ClientDied) for case in report.cases]
    assert died == [False, True, False]


def test_what_a_task_of_one_process_printed_is_kept_with_it(tmp_path: Path) -> None:
    code = (
        "for task in tasks: print('of', task['scenario'], file=sys.stderr, flush=True); say(task)"
    )
    report = run(tmp_path, program(READS_TASKS + code), 1, ("K3/mixed-order*",))
    printed = [
        (case.reported.stderr, case.id) for case in report.cases if case.reported is not None
    ]
    assert [(stderr, id_) for stderr, id_ in printed if stderr != f"of {id_}"] == []
    assert len(printed) == len(report.cases) > 0


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_client_that_hangs_again_and_again_is_not_run_anymore(jobs: int, tmp_path: Path) -> None:
    client = program("import time; time.sleep(60)", startup_s=0.1)
    report = run(tmp_path, client, jobs, ("K3", "K7"), timeout_s=0.1)
    found = list(by_id(report).values())
    hung = [cause for outcome, cause in found if outcome is Outcome.FAIL]
    assert len(hung) == MOST_HUNG
    assert all(isinstance(cause, findings.ClientTimedOut) for cause in hung)
    assert set(found[MOST_HUNG:]) == {(Outcome.NOT_RUN, findings.ClientKeptHanging(MOST_HUNG))}
    assert not report.complete
    assert main(["verify", str(tmp_path / "report.json")]) in (0, 1)


@pytest.mark.parametrize(("limit_s", "client"), [(0.001, PLAIN), (0.5, ("sleep", "60"))])
def test_scenarios_without_time_are_not_run(
    limit_s: float, client: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["client", "--max-time", str(limit_s), "--scenario", "K3"]
    words += ["--report-dir", str(tmp_path)]
    assert main([*words, "--", *client]) in (1, 3)
    report = load_report(tmp_path / "report.json")
    assert {cause for _, cause in by_id(report).values()} == {OutOfTime(limit_s)}
    assert not report.complete
    capsys.readouterr()
    main(["verify", str(tmp_path / "report.json")])
    assert "the run is incomplete" in " ".join(capsys.readouterr().out.split())
    assert main([*words, "--max-time", "0", "--", *PLAIN]) == 2


def test_a_run_without_time_or_end_is_refused_before_it_begins() -> None:
    plan = make_client_plan(("K3/*",))
    for limit_s in (0, -1, LONGEST_RUN_S + 1, float("inf"), float("nan")):
        with pytest.raises(UsageError, match="--max-time must be"):
            run_budget(plan, 1, limit_s)


@pytest.mark.parametrize("option", ["--jobs=2", "--jobs=1"])
@pytest.mark.long
def test_a_run_that_is_stopped_ends_its_clients(option: str, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    code = "import os, sys, time; open(sys.argv[1] + str(os.getpid()), 'w'); time.sleep(600)"
    words = ["--scenario", "K3", "--report-dir", str(tmp_path / "r"), option]
    client = [sys.executable, "-c", code, f"{marks}/"]
    with command("client", *words, "--", *client) as process:
        deadline = time.monotonic() + 100
        while not list(marks.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    left = [int(path.name) for path in marks.iterdir()]
    assert left
    for one in left:
        with pytest.raises(ProcessLookupError):
            os.kill(one, 0)


OTHER_ORDER = """
import json, sys, threading, urllib.error, urllib.request
from v2_clients.plain import run_task

task = json.loads(sys.stdin.readline())
said = [None] * len(task["requests"])

def one(number):
    alone = dict(task, requests=[task["requests"][number]])
    (said[number],) = run_task(alone, task["url"])

# What the task does not ask for: the server's state, another model, a path that is nothing.
for path, body in (("/v2", None), ("/v2/health/ready", None), ("/v2/models/else/infer", b"{}"),
                   ("/nothing", None)):
    try:
        urllib.request.urlopen(task["url"] + path, body, 5).read()
    except urllib.error.HTTPError:
        pass
# The last request first, the first one twice, then all the others at the same time.
one(len(said) - 1)
one(0)
threads = [threading.Thread(target=one, args=(number,)) for number in range(len(said))]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps({"scenario": task["scenario"], "lines": said}))
"""


def test_a_process_may_send_in_any_order(tmp_path: Path) -> None:
    patterns = ("K9/nothing-stays", "K37/output-missing[first,json]")
    report = run(tmp_path, program(OTHER_ORDER), 1, patterns)
    assert {c.id: c.message for c in report.cases if c.outcome is not Outcome.PASS} == {}
    sent = Counter(exchange.purpose for case in report.cases for exchange in case.exchanges)
    assert sent[Purpose.RETRIED] == 2 * 2
    assert sent[Purpose.DISCOVERY] >= 3
