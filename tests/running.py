"""What tests of runs share: cases by the start of their ids, a run's results by case id."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from conformance.discovery import discover
from conformance.plan import Case, load_cases
from conformance.runner import Engine, Recovery, Result, run
from conformance.target import Target, make_target

CASES = cache(lambda: {case.id: case for case in load_cases()})


def chosen(*prefixes: str) -> list[Case]:
    """The cases whose ids begin so, in the plan's order."""
    return [case for case in CASES().values() if case.id.startswith(prefixes)]


def target_of(url: str, *profiles: str, timeout: float = 3) -> Target:
    return make_target(url, profiles=profiles, timeout=timeout)


def results(
    target: Target,
    cases: Sequence[Case],
    *,
    workers: int = 1,
    recovery: Recovery | None = None,
) -> dict[str, Result]:
    """What became of each case, in the order in which they ended."""
    engine = Engine(target, discover(target), recovery=recovery)
    return {event.result.case.id: event.result for event in run(engine, cases, workers)}


def outcomes(found: dict[str, Result]) -> dict[str, str]:
    return {name: result.outcome for name, result in found.items()}


def message_of(prefix: str, found: dict[str, Result]) -> str:
    """The message of the first case whose id begins so."""
    return next(result.message for name, result in found.items() if name.startswith(prefix))
