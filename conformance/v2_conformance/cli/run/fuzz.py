"""`run --fuzz`: sends generated requests and writes the first failure as a case file."""

from __future__ import annotations

from contextlib import closing

from v2_conformance.certifying.seeds import given_or_fresh
from v2_conformance.errors import NothingRanError
from v2_conformance.options.runs import RunOptions
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.generated.counterexamples import write_counterexample
from v2_conformance.runs.generated.fuzzing import explore, usable_roles
from v2_conformance.runs.scheduling.deaths import Recovery
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.targets.readiness import wait_until_ready
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.causes.passes import Accepted
from v2_conformance.suite.entries.case_files import load_cases
from v2_conformance.suite.outcomes import Outcome

_SHRINK_S = 60.0


def fuzz_server(options: RunOptions, target: Target, recovery: Recovery) -> int:
    """Send up to `--fuzz` requests, print the result, and return the exit code.

    A failure is written into the report folder. Without a seed a random one is taken and printed.
    """
    examples = options.fuzz or 0
    seed = given_or_fresh(options.seed)
    wait_until_ready(target, options.wait_ready)
    server = discover(target)
    with closing(Engine(target, server, recovery=recovery)) as engine:
        roles = usable_roles(target, server)
        if not roles:
            raise NothingRanError("the server has no model to which generated requests can be sent")
        print(f"fuzzing {target.public_url} with {examples} requests, --seed {seed}", flush=True)
        extras = _takes_unknown_parameters(engine)
        found = explore(engine.run, roles, examples, seed, extras=extras, shrink_s=_SHRINK_S)
        if found.result is None or not found.failed:
            print(f"{found.sent} requests: every answer is right")
            return 0
        path = write_counterexample(found, target.mask, options.report_dir, f"--seed {seed}")
        outcome = found.result.outcome
        message = target.mask.text(found.result.message)
        print(f"{outcome.words} after {found.sent} requests: {message}")
        print(f"wrote {path}")
    # As another run would send it, without what this one knows about connections and dead models.
    with closing(Engine(target, server)) as fresh:
        (case,) = load_cases(path)
        again = fresh.run(case)
    words = target.mask.text(again.message)
    if again.outcome == outcome:
        print(f"run alone: {again.outcome.words} again: {words}")
    else:
        print(
            f"run alone, it does not fail the same way: {again.outcome.words}"
            + (f" ({words})" if words else "")
        )
    return 1 if outcome is Outcome.FAIL else 3


def _takes_unknown_parameters(engine: Engine) -> bool:
    """Return True if requests may have unknown parameters: a server that rejects them (S14) would
    reject every such request."""
    cases = [case for case in load_cases() if case.requirement == "S14"]
    if all(isinstance(engine.run(case).cause, Accepted) for case in cases):
        return True
    print("the server rejects unknown parameters (S14), so the requests have none")
    return False
