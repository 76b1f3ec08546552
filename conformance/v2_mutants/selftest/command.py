"""The command `selftest`: checks that the suite notices every fault of its server and client."""

from __future__ import annotations

from v2_conformance.cli.command import command
from v2_conformance.options.others import SelftestOptions


@command(
    "selftest",
    SelftestOptions,
    exit_codes={
        0: "Every fault fails a case of its own requirement, and every MUST case can fail. With "
        "--any-model: enough faults are noticed.",
        1: "A fault goes unnoticed, a MUST case never fails, or the server without faults fails. "
        "With --any-model: too many faults go unnoticed.",
        2: "Wrong usage.",
        3: "The suite itself failed.",
    },
)
def selftest(options: SelftestOptions) -> int:
    """Check that the suite notices every fault of the reference server and of the plain client.

    Takes up to ten minutes on two cores, and far longer with --full.
    """
    if options.any_model:
        from v2_mutants.selftest.relation_faults import (
            enough_noticed,
            relation_lines,
            try_relations,
        )

        trials = try_relations(options.workers)
        for line in relation_lines(trials):
            print(line)
        return 0 if enough_noticed(trials) else 1
    from v2_conformance.certifying.seeds import given_or_fresh
    from v2_mutants.selftest.servers import run_selftest
    from v2_mutants.selftest.text import selftest_lines

    seed = given_or_fresh(options.seed)
    print(f"--seed {seed}", flush=True)
    result = run_selftest(options.workers, full=options.full, seed=seed)
    for line in selftest_lines(result):
        print(line)
    return 0 if result.passed else 1
