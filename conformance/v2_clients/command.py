"""The command `client`: tests a client, writes the report and prints a summary."""

from __future__ import annotations

from contextlib import ExitStack

from v2_conformance.cli import exit_codes
from v2_conformance.cli.command import command
from v2_conformance.cli.ending import masked_errors, naming_the_record
from v2_conformance.options.others import ClientOptions

_EXAMPLES = {
    "v2-conformance client -- python my_client.py": "Give this command one task after the other.",
    "v2-conformance client --scenario 'K3/*' -- ./client {url} {task}": (
        "Run only scenarios of K3; the command gets the URL and the task as arguments."
    ),
}
_EXIT_CODES = {
    **exit_codes.OF_A_RUN,
    0: "Conformant, or what --require says. With --expect: every result is as expected.",
    1: f"{exit_codes.OF_A_RUN[1]} With --expect: a result is not as expected.",
    3: "The suite itself failed, or the run was stopped.",
    4: "No scenario ran.",
}


@command("client", ClientOptions, examples=_EXAMPLES, exit_codes=_EXIT_CODES)
def client(options: ClientOptions) -> int:
    """Test a client and write a report.

    Gives the command the task of each scenario, which has a server of its own, judges the bytes
    that came and what the client says that it read, writes report.json, report.html and the other
    report files, and prints a summary.
    """
    from v2_clients.bench.clients import CommandClient
    from v2_clients.bench.features import check_features
    from v2_clients.run import (
        check_client,
        client_target,
        make_client_plan,
        start_client_run,
    )
    from v2_conformance.certifying.progress import Reporter
    from v2_conformance.cli.reporting import Reporting
    from v2_conformance.formats.registry import file_names
    from v2_conformance.report.folder_lock import sole_run
    from v2_conformance.runs.targets.access import of_environment

    target = client_target(options.profiles, list(map(of_environment, options.secret_env)))
    check_features(options.lacks)
    plan = make_client_plan(options.patterns, options.files)
    reporting = Reporting(options)
    with ExitStack() as stack:
        stack.enter_context(masked_errors(target.mask))
        tested = CommandClient(options.command, mask=target.mask)
        stack.callback(tested.close)
        stack.enter_context(sole_run(options.report_dir))
        check_client(plan, tested, timeout_s=options.timeout)
        started = start_client_run(
            target,
            plan,
            options.report_dir,
            command=options.command,
            timeout_s=options.timeout,
            limit_s=options.max_time,
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
        reporting.show(report, started.record.mask.check)
    return reporting.exit_code(report, plan.planned)
