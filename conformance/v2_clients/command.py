"""The command `client`: tests a client, writes the report and prints a summary."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click

from v2_conformance.cli.command import (
    SECONDS_OF_A_RUN,
    Checked,
    argument,
    command,
    masked_errors,
    naming_the_record,
    option,
    takes,
)
from v2_conformance.cli.options import OF_A_RUN, ReportOptions
from v2_conformance.runs.targets.numbers import number

_EXAMPLES = {
    "v2-conformance client -- python my_client.py": "Give this command one task after another.",
    "v2-conformance client --scenario 'K3/*' -- ./client {url} {task}": (
        "Run only scenarios of K3; the command gets the URL and the task as arguments."
    ),
}
_EXIT_CODES = {
    **OF_A_RUN,
    0: "Conformant, or what --require says. With --expect: every result is as expected.",
    1: "The verdict is worse. In a partial run: a scenario that blocks the verdict failed. With "
    "--expect: a result is not as expected.",
    3: "The suite itself failed, or the run was stopped.",
    4: "No scenario ran, for example because --scenario matches none.",
}


@dataclass(frozen=True, kw_only=True)
class ClientOptions(ReportOptions):
    """`client`."""

    command: tuple[str, ...] = argument(
        nargs=-1,
        type=click.UNPROCESSED,
        required=True,
        help="The command that runs the client, after `--`, without a shell. It reads a task "
        "from each line of its standard input and prints a line with its answer. With "
        "{task}, {url} or {scenario} in it, it is run for each scenario: they stand for a "
        "JSON file with the task, the base URL and the scenario's id.",
    )
    patterns: tuple[str, ...] = option(
        "--scenario PATTERN...",
        "Run only the scenarios of this requirement, such as K3, or whose id matches this "
        "pattern, such as 'K3/*'. A run that leaves scenarios out is never conformant. Repeatable.",
    )
    profiles: tuple[str, ...] = option(
        "--profile NAME...",
        "Claim a profile besides client: bf16. Repeatable.",
    )
    lacks: tuple[str, ...] = option(
        "--lacks FEATURE...",
        "Skip the scenarios that need this feature, such as column-major or FP64, because the "
        "client lacks it. The report names it. docs/clients.md lists the features. Repeatable.",
    )
    files: Path | None = option(
        "--scenarios FILE|DIR",
        "Run the scenarios in this file or folder instead of the suite's own. Such a run is "
        "never conformant.",
    )
    timeout: float = option(
        "--timeout SECONDS",
        "Time limit of the client for each request. The whole command has 20 seconds more.",
        default=10,
    )
    jobs: int = option(
        "-n, --jobs N",
        "Number of scenarios to run at the same time, each with a server and a process of its "
        "own. The outcome and the order in the report are the same for every N.",
        type=Checked("N", number(int, 1, 64)),
        default=1,
    )
    max_time: float | None = option(
        "--max-time SECONDS",
        "Time limit for the whole run. Scenarios that are left by then do not run, and the run is "
        "incomplete. The same happens if the client hangs in 8 scenarios in a row.  "
        "[default: 3 seconds for each scenario and 10 minutes more, with the usual --timeout]",
        type=SECONDS_OF_A_RUN,
    )
    secret_env: tuple[str, ...] = option(
        "--secret-env NAME...",
        "Hide the value of this environment variable in every report. Repeatable.",
    )


@command("client", examples=_EXAMPLES, exit_codes=_EXIT_CODES)
@takes(ClientOptions)
def client(options: ClientOptions) -> int:
    """Test a client and write a report.

    Starts a server for each scenario, gives the command its task, judges the bytes that the client
    sent and what it says it read, writes report.json, report.html and the other report files, and
    prints a summary.
    """
    from v2_clients import run
    from v2_clients.bench.clients import CommandClient
    from v2_clients.bench.features import check_features
    from v2_conformance.certifying.progress import Reporter
    from v2_conformance.cli.reporting import Reporting
    from v2_conformance.formats.registry import file_names
    from v2_conformance.report.recorder import sole_run
    from v2_conformance.runs.targets.access import of_environment

    target = run.client_target(options.profiles, list(map(of_environment, options.secret_env)))
    check_features(options.lacks)
    plan = run.make_client_plan(options.patterns, options.files)
    reporting = Reporting(options)
    with ExitStack() as stack:
        stack.enter_context(masked_errors(target.mask))
        tested = CommandClient(options.command, mask=target.mask)
        stack.callback(tested.close)
        stack.enter_context(sole_run(options.report_dir))
        budget = run.run_budget(plan, options.timeout, options.max_time)
        run.check_client(plan, tested, timeout_s=options.timeout, budget=budget)
        started = run.start_client_run(
            target,
            plan,
            options.report_dir,
            command=options.command,
            timeout_s=options.timeout,
            budget=budget,
            lacks=options.lacks,
            expectations=reporting.expected,
            outdated=file_names(),
        )
        shown = target.mask.text(" ".join(options.command))
        stack.enter_context(naming_the_record(options.report_dir))
        place = f"the client {shown!a:.100}"
        total, jobs = len(plan.chosen), options.jobs
        with Reporter(total, place, options.max_time, jobs) as reporter:
            report = started.finish(
                tested, timeout_s=options.timeout, jobs=jobs, on_case=reporter.show
            )
        reporting.show(report)
    return reporting.exit_code(report, plan.planned)
