"""The command `selftest`: checks that the suite notices every fault of its server and client."""

from __future__ import annotations

import cloup

from v2_conformance.cli.command import Command, whole_number


@cloup.command(
    "selftest",
    cls=Command,
    exit_codes={
        0: "Every fault fails a case of its own requirement, and every MUST case can fail. With "
        "--any-model: enough faults are noticed.",
        1: "A fault goes unnoticed, a MUST case never fails, or the server without faults fails. "
        "With --any-model: too many faults go unnoticed.",
        2: "Wrong usage.",
        3: "The suite itself failed.",
    },
)
@cloup.option(
    "-n",
    "--workers",
    type=whole_number(least=1),
    metavar="N",
    help="Number of processes.  [default: one for each core]",
)
@cloup.option("--full", is_flag=True, help="Run every case against every fault.")
@cloup.option(
    "--any-model",
    is_flag=True,
    help="Tell instead which faults `run --model` notices, on models that are no identities.",
)
def selftest(*, workers: int | None, full: bool, any_model: bool) -> int:
    """Check that the suite notices every fault of the reference server and of the plain client.

    Takes up to ten minutes on two cores, and far longer with --full.
    """
    if any_model:
        from v2_conformance.maintenance.selftest.relation_faults import (
            enough_noticed,
            relation_lines,
            try_relations,
        )

        trials = try_relations(workers)
        for line in relation_lines(trials):
            print(line)
        return 0 if enough_noticed(trials) else 1
    from v2_conformance.maintenance.selftest.servers import run_selftest
    from v2_conformance.maintenance.selftest.text import selftest_lines

    result = run_selftest(workers, full=full)
    for line in selftest_lines(result):
        print(line)
    return 0 if result.passed else 1
