"""The command `selftest`: checks that the suite notices every fault of its server and client."""

from __future__ import annotations

import click

from v2_conformance.cli.command import AT_LEAST_ONE, SEED, command


@command(
    "selftest",
    exit_codes={
        0: "Every fault fails a case of its own requirement, and every MUST case can fail. With "
        "--any-model: enough faults are noticed.",
        1: "A fault goes unnoticed, a MUST case never fails, or the server without faults fails. "
        "With --any-model: too many faults go unnoticed.",
        2: "Wrong usage.",
        3: "The suite itself failed.",
    },
)
@click.option(
    "-n",
    "--workers",
    type=AT_LEAST_ONE,
    help="Number of processes.  [default: one for each core]",
)
@click.option("--full", is_flag=True, help="Run every case against every fault.")
@click.option(
    "--seed",
    type=SEED,
    help="Send the values of the selftest that printed this seed.  [default: a fresh one]",
)
@click.option(
    "--any-model",
    is_flag=True,
    help="Instead, show which faults `run --model` notices, on models that are not identity "
    "models.",
)
def selftest(workers: int | None, full: bool, seed: int | None, any_model: bool) -> int:
    """Check that the suite notices every fault of the reference server and of the plain client.

    Takes up to ten minutes on two cores, and far longer with --full.
    """
    if any_model:
        from v2_mutants.selftest.relation_faults import (
            enough_noticed,
            relation_lines,
            try_relations,
        )

        trials = try_relations(workers)
        for line in relation_lines(trials):
            print(line)
        return 0 if enough_noticed(trials) else 1
    from v2_conformance.certifying.servers import given_or_fresh
    from v2_mutants.selftest.servers import run_selftest
    from v2_mutants.selftest.text import selftest_lines

    seed = given_or_fresh(seed)
    print(f"--seed {seed}", flush=True)
    result = run_selftest(workers, full=full, seed=seed)
    for line in selftest_lines(result):
        print(line)
    return 0 if result.passed else 1
