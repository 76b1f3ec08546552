"""The output of `v2-conformance selftest`."""

from __future__ import annotations

from collections.abc import Iterator

from v2_mutants.selftest.servers import NAMED, SelftestResult
from v2_mutants.selftest.trials import FaultTrial, Half

_MOST_SHOWN = 6
FEW = 3
"""A fault that fails more requirements than this is not told apart from others by them."""


def selftest_lines(result: SelftestResult) -> Iterator[str]:
    """A row for each fault, then everything that is wrong, and the sum."""
    server, client = result.server, result.client
    yield from _half(server, "the reference server", "its cases can fail")
    for trial in server.trials:
        if not trial.alone:
            others = " ".join(trial.other_requirements)
            yield f"the fault {trial.fault} must fail {trial.requirement} alone, but fails {others}"
    few = sum(trial.requirements <= FEW for trial in server.trials)
    yield f"{few} of {len(server.trials)} faults fail at most {FEW} requirements"
    if result.asked:
        yield from _named(result)
    for name in result.unproven_variations:
        yield f"no fault shows only in the variation {name}: nothing shows that it can fail"
    caught = sum(trial.caught for trial in server.trials)
    yield f"{len(server.trials)} faults, {caught} caught by a case of their own requirement"
    if client.trials:
        yield ""
        yield from _half(client, "the plain client", "it can")
        caught = sum(trial.caught for trial in client.trials)
        total = len(client.trials)
        yield f"{total} faults of clients, {caught} caught by a scenario of their own requirement"


def _half(half: Half, who: str, unshown: str) -> Iterator[str]:
    """The rows of the faults, and what is wrong with `who` and with entries."""
    yield from trial_rows(half.trials)
    for failure in half.failures:
        yield f"{who} fails {failure.case.id} without a fault: {failure.message}"
    for entry in half.unproven:
        requirement = entry.partition("/")[0]
        yield f"no fault of {requirement} makes {entry} fail: nothing shows that {unshown}"


def _named(result: SelftestResult) -> Iterator[str]:
    """Yield how many runs first name the requirement that their fault breaks, and which do not."""
    others = [f"{trial.fault} ({trial.first_cause})" for trial in result.asked if not trial.named]
    if others:
        yield f"another requirement is named first as the cause: {', '.join(others)}"
    named = len(result.asked) - len(others)
    yield (
        f"{named} of {len(result.asked)} faults are named first as the cause "
        f"(at least {NAMED:.0%} must be)"
    )


def trial_rows(trials: tuple[FaultTrial, ...]) -> Iterator[str]:
    """A table of the faults: whether and by how many cases each was caught, and how many
    requirements fail."""
    width = max((len(trial.fault) for trial in trials), default=0)
    yield f"{'':<4}{'':<7}{'cases':>5}{'reqs':>6}  {'fault':<{width}}  other failing requirements"
    for trial in trials:
        mark = "caught" if trial.caught else "MISSED"
        row = f"{trial.requirement:<4}{mark:<7}{len(trial.own_failures):>5}"
        row += f"{trial.requirements:>6}  {trial.fault:<{width}}"
        yield f"{row}  {_note(trial)}".rstrip()


def _note(trial: FaultTrial) -> str:
    tries = f"(tried {trial.number} times) " if trial.number > 1 else ""
    if trial.error:
        return tries + trial.error
    shown = " ".join(trial.other_requirements[:_MOST_SHOWN])
    more = " …" if len(trial.other_requirements) > _MOST_SHOWN else ""
    return tries + shown + more
