"""Runs many cases and yields each result as an event: order, concurrency, second tries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import replace

from v2_conformance.engine.engine import Engine
from v2_conformance.engine.result import CaseFinished
from v2_conformance.judging.observed import Observations
from v2_conformance.suite.cases import Case, ObservedCase
from v2_conformance.suite.outcomes import Outcome


def in_order(cases: Sequence[Case]) -> list[Case]:
    """Plan order, but what may leave a server damaged comes after what cannot, dangers last.

    What is observed of all exchanges comes after all of them.
    """
    observed = ObservedCase
    return sorted(cases, key=lambda c: (isinstance(c, observed), c.dangerous, c.negative))


def run(engine: Engine, cases: Sequence[Case], workers: int = 1) -> Iterator[CaseFinished]:
    """Run `cases`, yielding each result as it comes.

    Only cases that cannot damage the server share time with others; whatever of them does not pass
    is run again alone, so that the verdict never depends on what ran at the same time.
    """
    ordered = in_order(cases)
    sent: list[Case] = [case for case in ordered if not isinstance(case, ObservedCase)]
    observations = Observations()
    with closing(engine):
        for event in _events(engine, sent, workers):
            observations.add(event.result.seen())
            yield replace(event, total=len(ordered))
        observed = [case for case in ordered if isinstance(case, ObservedCase)]
        for number, case in enumerate(observed, len(sent) + 1):
            yield CaseFinished(engine.run(case, observations), number, len(ordered))


def _events(engine: Engine, ordered: list[Case], workers: int) -> Iterator[CaseFinished]:
    total = len(ordered)
    count = 0
    alone: list[Case] = []
    shared = [case for case in ordered if not case.alone]
    if workers > 1:
        pool = ThreadPoolExecutor(workers)
        try:
            for future in as_completed([pool.submit(engine.run, case) for case in shared]):
                result = future.result()
                if result.outcome in (Outcome.FAIL, Outcome.INCONCLUSIVE):
                    alone.append(result.case)
                    continue
                count += 1
                yield CaseFinished(result, count, total)
        finally:  # a run that is stopped does not do the rest first
            pool.shutdown(cancel_futures=True)
        again = {case.id for case in alone}
        ordered = [c for c in ordered if c.id in again or c not in shared]
    for case in ordered:
        count += 1
        yield CaseFinished(engine.run(case), count, total)
