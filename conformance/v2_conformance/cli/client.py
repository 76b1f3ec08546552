"""The command `client`: tests a client, writes the report and prints a summary."""

from __future__ import annotations

import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
import cloup

from v2_conformance.cli import exit_codes, known_values
from v2_conformance.cli.command import FILE, Command, seconds, whole_number
from v2_conformance.cli.report_options import report_options
from v2_conformance.cli.reports.sign import signing_key
from v2_conformance.cli.stopping import naming_the_record
from v2_conformance.errors import UsageError

if TYPE_CHECKING:
    from v2_conformance.certifying.clients import ClientRun
    from v2_conformance.report.document import Report
    from v2_conformance.runs.result import Result

_EXAMPLES = {
    "v2-conformance client -- python my_client.py": "Run this command once for each scenario.",
    "v2-conformance client --scenario 'K3/*' -- ./client {url} {task}": (
        "Run only scenarios of K3; the command gets the URL and the task as arguments."
    ),
}
_EXIT_CODES = {
    **exit_codes.OF_A_RUN,
    0: "Conformant. With --expect: every result is as expected. With --scenarios: no MUST scenario "
    "of the file fails.",
    1: "Not conformant; with --strict, also if there are warnings. With --expect: a result is not "
    "as expected.",
    3: "The suite itself failed, or the run was stopped.",
    4: "No scenario ran.",
}

_SELECTION = cloup.option_group(
    "Selection",
    cloup.option(
        "--scenario",
        "patterns",
        multiple=True,
        metavar="PATTERN",
        shell_complete=known_values.scenarios,
        help="Run only the scenarios of this requirement, such as K3, or whose id matches this "
        "pattern, such as 'K3/*'. A run that leaves scenarios out is never conformant. Repeatable.",
    ),
    cloup.option(
        "--profile",
        "profiles",
        multiple=True,
        metavar="NAME",
        help="Claim a profile besides client: bf16. Repeatable.",
    ),
    cloup.option(
        "--scenarios",
        "files",
        type=FILE,
        metavar="FILE|DIR",
        help="Run the scenarios in this file or folder instead of the suite's own. Such a run is "
        "never conformant.",
    ),
)
_CLIENT = cloup.option_group(
    "Client",
    cloup.option(
        "--timeout",
        type=seconds,
        default=10,
        metavar="SECONDS",
        help="Time limit of the client for each request. The command has 20 seconds more in all.",
    ),
    cloup.option(
        "--port",
        type=whole_number(least=0, most=65535),
        default=0,
        metavar="N",
        help="Without a command: wait on this port for a client that is run by hand. 0 is any free "
        "port.",
    ),
    cloup.option(
        "--secret",
        "secrets",
        multiple=True,
        metavar="VALUE",
        help="A value that no report may show. Other users of this machine can see it in the list "
        "of processes: --secret-env cannot be seen. Repeatable.",
    ),
    cloup.option(
        "--secret-env",
        multiple=True,
        metavar="NAME",
        help="A value that no report may show, in this environment variable. Repeatable.",
    ),
)


@cloup.command("client", cls=Command, examples=_EXAMPLES, exit_codes=_EXIT_CODES)
@cloup.argument(
    "command",
    nargs=-1,
    required=False,
    type=click.UNPROCESSED,
    help="The command that runs the client, after `--`; no shell reads it. {url}, {scenario} and "
    "{task} in it stand for the base URL, the scenario's id and a JSON file with the task, which "
    "are in V2_BENCH_URL, V2_BENCH_SCENARIO and V2_BENCH_TASK, too.  [default: wait for clients "
    "that are run by hand]",
)
@_SELECTION
@_CLIENT
@report_options()
def client(
    *,
    command: tuple[str, ...],
    patterns: tuple[str, ...],
    profiles: tuple[str, ...],
    files: Path | None,
    timeout: float,
    port: int,
    secrets: tuple[str, ...],
    secret_env: tuple[str, ...],
    report_dir: Path,
    expectation_file: Path | None,
    key_file: Path | None,
    strict: bool,
) -> int:
    """Test a client and write a report.

    Runs the command once for each scenario against a server of its own, judges the bytes that came
    and what the client says that it read, writes report.json, report.html and the other report
    files, and prints a summary.
    """
    from v2_conformance.bench.clients import CommandClient
    from v2_conformance.certifying.clients import (
        check_client,
        client_target,
        make_client_plan,
        start_client_run,
    )
    from v2_conformance.certifying.servers import NO_EXPECTATIONS
    from v2_conformance.cli.masked_errors import masked_errors
    from v2_conformance.cli.reports.expect import print_comparison
    from v2_conformance.cli.run.command import present
    from v2_conformance.formats.registry import file_names
    from v2_conformance.formats.text.terminal import Reporter
    from v2_conformance.report.expectations.known import load_expectations
    from v2_conformance.report.files import REPORT
    from v2_conformance.report.folder_lock import sole_run
    from v2_conformance.report.signatures.signing import sign_report
    from v2_conformance.runs.targets.access import of_environment

    key = None if key_file is None else signing_key(key_file)
    target = client_target(profiles, (*secrets, *map(of_environment, secret_env)))
    plan = make_client_plan(patterns, files)
    known = load_expectations(expectation_file) if expectation_file else NO_EXPECTATIONS
    with ExitStack() as stack:
        stack.enter_context(masked_errors(target.mask))
        tested = CommandClient(command) if command else None
        stack.enter_context(sole_run(report_dir))
        if tested is not None:
            check_client(plan, tested, timeout_s=timeout)
        started = start_client_run(
            target,
            plan,
            report_dir,
            command=command,
            timeout_s=timeout,
            expectations=known,
            outdated=file_names(),
        )
        if tested is None:
            report = _by_hand(started, port, timeout)
        else:
            shown = target.mask.text(" ".join(command))
            stack.enter_context(naming_the_record(report_dir))
            with Reporter(len(plan.chosen), f"the client {shown!a:.100}") as reporter:
                report = started.finish(tested, timeout_s=timeout, on_case=reporter.show)
        if key is not None:
            sign_report(report_dir / REPORT, key)
        present(report, report_dir, started.record.mask)
    if expectation_file:
        return print_comparison(report, known, plan.planned, strict=strict)
    return exit_codes.of_report(report, strict=strict)


def _by_hand(started: ClientRun, port: int, timeout_s: float) -> Report:
    """Wait for clients until somebody stops it."""
    from v2_conformance.bench.waiting import WaitingBench
    from v2_conformance.certifying.clients import ByHand
    from v2_conformance.terminal_safe_text import plain

    run = ByHand(started)

    def show(result: Result) -> None:
        run.add(result)
        print(plain(f"{result.outcome} {result.case.id} {result.message}".rstrip()), flush=True)

    offered = [case for case in started.scenarios if started.skipped(case) is None]
    bench = WaitingBench(offered, port=port, timeout_s=timeout_s, on_result=show)
    with ExitStack() as stack:
        try:
            stack.enter_context(bench)
        except OSError as error:
            raise UsageError(f"cannot wait on port {port}: {error.strerror}") from error
        print(f"bench on {bench.url} (GET / lists the scenarios; Ctrl-C ends it)", flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
        return run.finish(bench.unsaid())
