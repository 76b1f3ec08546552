"""Runs many cases and yields each result as an event: order, concurrency, retries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import groupby

from v2_conformance.judging.extension import SHOWN_BY
from v2_conformance.judging.observed.exchanges import Observations
from v2_conformance.runs.result import CaseFinished, Result
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.extension_watch import ExtensionWatch
from v2_conformance.runs.scheduling.side_by_side import (
    SideBySide,
    shares,
    shows_interference,
)
from v2_conformance.suite.cases import Case, GeneratedCase, ObservedCase


def in_order(cases: Sequence[Case], watch: ExtensionWatch | None = None) -> list[Case]:
    """Return the cases in plan order, but those that may damage the server after those that cannot,
    and dangerous ones last. Before all come those that `watch` has to see.

    Cases about all exchanges come after all of these.
    """
    ordered = sorted(cases, key=lambda c: (isinstance(c, ObservedCase), c.dangerous, c.negative))
    if watch is None or not watch.undecided:
        return ordered
    return sorted(ordered, key=lambda case: case.requirement not in SHOWN_BY)


def run(
    engine: Engine,
    cases: Sequence[Case],
    workers: int = 1,
    watch: ExtensionWatch | None = None,
) -> Iterator[CaseFinished]:
    """Run `cases`, yielding each result as it comes.

    Several `workers` run cases on as many connections: see `side_by_side`. Once `watch` has seen
    that the server leaves the extension out, nothing more is sent. A case that failed before its
    model was seen not to repeat its answers is yielded again, with the result that counts.
    """
    ordered = in_order(cases, watch)
    sent: list[Case] = [case for case in ordered if not isinstance(case, ObservedCase)]
    observations = Observations()
    with closing(engine):
        for number, result in enumerate(_watched(engine, sent, workers, watch), 1):
            observations.add(result.seen())
            engine.repeats.note(result)
            yield CaseFinished(result, number, len(ordered))
        for result in engine.repeats.withdrawn():
            observations.replace(result.case.id, result.seen())
            yield CaseFinished(result, len(sent), len(ordered))
        observed = (case for case in ordered if isinstance(case, ObservedCase))
        for number, case in enumerate(observed, len(sent) + 1):
            yield CaseFinished(engine.judged(case, observations), number, len(ordered))


def _watched(
    engine: Engine, ordered: Sequence[Case], workers: int, watch: ExtensionWatch | None
) -> Iterator[Result]:
    """Yield the results of cases in their order: the first ones alone, as long as `watch` has to
    see them.
    """
    begun = 0
    while watch is not None and watch.undecided:
        result = engine.run(ordered[begun])
        watch.note(result)
        begun += 1
        yield result
    if watch is None or not watch.left_out:
        yield from _results(engine, ordered[begun:], workers)
        return
    for case in ordered[begun:]:
        yield engine.without_extension(case)


def _results(engine: Engine, ordered: Sequence[Case], workers: int) -> Iterator[Result]:
    """Yield the results of cases in their order. With several `workers`, the cases that show
    whether cases can share the server run first.
    """
    if workers <= 1:
        yield from map(engine.run, ordered)
        return
    side = SideBySide(engine, workers)
    try:
        side.calibrate(ordered)
        side.find_interference([case for case in ordered if shows_interference(case)])
        away = engine.round_trip_s
        together = groupby(ordered, key=lambda case: shares(case, away) or shows_interference(case))
        for shared, neighbours in together:
            if shared:
                yield from side.run(list(neighbours))
                continue
            for case in neighbours:
                if isinstance(case, GeneratedCase):
                    yield side.run_generated(case)
                else:
                    yield engine.run(case)
    finally:
        side.close()
