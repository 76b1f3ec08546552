"""What `v2-conformance selftest` prints."""

from __future__ import annotations

from collections.abc import Iterator

from v2_conformance.maintenance.selftest import NAMED, SelftestResult
from v2_conformance.maintenance.trials import FaultTrial

_MOST_SHOWN = 6
FEW = 3
"""A fault that fails more requirements than this is not told apart from others by them."""


def selftest_lines(result: SelftestResult) -> Iterator[str]:
    """A row for each fault, then everything that is wrong, and the sum."""
    yield from trial_rows(result.trials)
    for failure in result.failures_without_fault:
        yield f"the reference server fails {failure.case.id} without a fault: {failure.message}"
    for entry in result.unproven:
        requirement = entry.partition("/")[0]
        yield f"no fault of {requirement} makes {entry} fail: nothing shows that its cases can fail"
    for trial in result.trials:
        if not trial.alone:
            others = " ".join(trial.other_requirements)
            yield f"the fault {trial.fault} must fail {trial.requirement} alone, but fails {others}"
    few = sum(trial.requirements <= FEW for trial in result.trials)
    yield f"{few} of {len(result.trials)} faults fail at most {FEW} requirements"
    if result.asked:
        yield from _named(result)
    for name in result.unproven_variations:
        yield f"no fault shows only in the variation {name}: nothing shows that it can fail"
    caught = sum(trial.caught for trial in result.trials)
    yield f"{len(result.trials)} faults, {caught} caught by a case of their own requirement"
    if result.client_trials:
        yield from _client_lines(result)


def _named(result: SelftestResult) -> Iterator[str]:
    """Whether the first cause that a run names is the requirement that its fault breaks."""
    others = [f"{trial.fault} ({trial.first_cause})" for trial in result.asked if not trial.named]
    if others:
        yield f"another requirement is named first as the cause: {', '.join(others)}"
    named = len(result.asked) - len(others)
    yield (
        f"{named} of {len(result.asked)} faults are named first as the cause "
        f"(at least {NAMED:.0%} must be)"
    )


def _client_lines(result: SelftestResult) -> Iterator[str]:
    """The same of the plain client, its faults and the scenarios."""
    yield ""
    yield from trial_rows(result.client_trials)
    for failure in result.client_failures:
        yield f"the plain client fails {failure.case.id} without a fault: {failure.message}"
    for entry in result.client_unproven:
        requirement = entry.partition("/")[0]
        yield f"no fault of {requirement} makes {entry} fail: nothing shows that it can"
    caught = sum(trial.caught for trial in result.client_trials)
    total = len(result.client_trials)
    yield f"{total} faults of clients, {caught} caught by a scenario of their own requirement"


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
