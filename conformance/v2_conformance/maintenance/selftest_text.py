"""What `v2-conformance selftest` prints."""

from __future__ import annotations

from collections.abc import Iterator

from v2_conformance.maintenance.selftest import FaultTrial, SelftestResult

_MOST_SHOWN = 6


def selftest_lines(result: SelftestResult) -> Iterator[str]:
    """A row for each fault, then everything that is wrong, and the sum."""
    yield from trial_rows(result.trials)
    for failure in result.failures_without_fault:
        yield f"the reference server fails {failure.case.id} without a fault: {failure.message}"
    for entry in result.unproven:
        requirement = entry.partition("/")[0]
        yield f"no fault of {requirement} makes {entry} fail: nothing shows that its cases can fail"
    for name in result.unproven_variations:
        yield f"no fault shows only in the variation {name}: nothing shows that it can fail"
    caught = sum(trial.caught for trial in result.trials)
    yield f"{len(result.trials)} faults, {caught} caught by a case of their own requirement"


def trial_rows(trials: tuple[FaultTrial, ...]) -> Iterator[str]:
    """A table of the faults: whether and by how many cases each was caught, and what else fails."""
    width = max((len(trial.fault) for trial in trials), default=0)
    yield f"{'':<4}{'':<7}{'cases':>5}  {'fault':<{width}}  other requirements with failing cases"
    for trial in trials:
        mark = "caught" if trial.caught else "MISSED"
        row = f"{trial.requirement:<4}{mark:<7}{len(trial.own_failures):>5}  {trial.fault:<{width}}"
        yield f"{row}  {_note(trial)}".rstrip()


def _note(trial: FaultTrial) -> str:
    tries = f"(tried {trial.number} times) " if trial.number > 1 else ""
    if trial.error:
        return tries + trial.error
    shown = " ".join(trial.other_requirements[:_MOST_SHOWN])
    more = " …" if len(trial.other_requirements) > _MOST_SHOWN else ""
    return tries + shown + more
