"""Runs many cases and yields each result as an event: what runs when, and what runs again.

Cases that can neither harm the server nor depend on what others leave in it may share it, one on
each of several connections. A pass beside others is worth as much as one alone. Whatever
does not pass is rerun alone, in the plan's order; only that counts. All other cases run one by one.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import wait
from contextlib import closing
from functools import partial

from msgspec.structs import replace

from v2_conformance.conversations.steps import CaseFinished, Result
from v2_conformance.judging.extension import SHOWN_BY, Tried, left_out
from v2_conformance.judging.observed.exchanges import Observation, Observations
from v2_conformance.judging.survival import is_of_path
from v2_conformance.judging.verdict import passed_again
from v2_conformance.protocol.names import EXTENSION
from v2_conformance.runs.live import in_threads
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.suite.cases import Case, ObservedCase
from v2_conformance.suite.outcomes import Outcome

_EACH = 16  # cases of each connection in a batch, after which its failures are rerun

_Finished = tuple[Result, Sequence[Observation]]
"""A result that counts, and what its exchanges show."""


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
    engine: Engine, cases: Sequence[Case], workers: int = 1, watch: ExtensionWatch | None = None
) -> Iterator[CaseFinished]:
    """Run `cases`, yielding each result as it comes: first of those that share the server, on as
    many connections as there are `workers`.

    Once `watch` has seen that the server leaves the extension out, nothing more is sent. A case
    that failed before its model was seen not to repeat its answers is yielded again, with the
    result that counts.
    """
    ordered = in_order(cases, watch)
    sent: list[Case] = [case for case in ordered if not isinstance(case, ObservedCase)]
    observations = Observations()
    with closing(engine):
        for number, (result, seen) in enumerate(
            _results(engine, sent, workers, watch, observations), 1
        ):
            observations.add(seen)
            engine.repeats.note(result)
            yield CaseFinished(result, number, len(ordered))
        for result in engine.repeats.withdrawn():
            observations.replace(result.case.id, result.seen())
            yield CaseFinished(result, len(sent), len(ordered))
        observed = (case for case in ordered if isinstance(case, ObservedCase))
        for number, case in enumerate(observed, len(sent) + 1):
            yield CaseFinished(engine.judged(case, observations), number, len(ordered))


def _results(
    engine: Engine,
    left: Sequence[Case],
    workers: int,
    watch: ExtensionWatch | None,
    observations: Observations,
) -> Iterator[_Finished]:
    while watch is not None and watch.undecided:
        result = engine.run(left[0])
        watch.note(result)
        left = left[1:]
        yield result, result.seen()
    if watch is not None and watch.left_out:
        yield from ((engine.without_extension(case), ()) for case in left)
        return
    if workers > 1 and engine.live.serves_together(workers):
        sharing = [case for case in left if not case.alone]
        left = [case for case in left if case.alone]
        for at in range(0, len(sharing), _EACH * workers):
            batch = sharing[at : at + _EACH * workers]
            yield from _side_by_side(engine, batch, workers, observations)
    for case in left:
        result = engine.run(case)
        yield result, result.seen()


def _side_by_side(
    engine: Engine, cases: Sequence[Case], workers: int, observations: Observations
) -> Iterator[_Finished]:
    """Yield the results that count of cases that share the server, in their order.

    Once a request got no answer, which may be because another case killed the server, the rest of
    them are not sent beside others.
    """
    stop = threading.Event()
    engine.live.hang_up()
    coming = in_threads(partial(_run_alongside, engine, stop), cases, workers)
    killers: dict[str, Result] | None = None
    try:
        for case, future in zip(cases, coming, strict=True):
            finished = future.result()
            if finished is not None and is_right(finished, observations):
                engine.count(finished[0])
                yield finished
                continue
            if killers is None:
                wait(coming)  # nothing is in flight anymore
                engine.live.hang_up()
                ran = [one for one in (future.result() for future in coming) if one is not None]
                killers = engine.killers([r for r, _ in ran if r.outcome is not Outcome.PASS])
            result = killers[case.id] if case.id in killers else engine.run(case)
            if finished is not None and is_of_path(finished[0].cause):
                # No fault of a server that serves few connections, but it shows a bad path.
                again = passed_again(result.verdict, finished[0].verdict)
                result = replace(result, verdict=replace(again, outcome=result.outcome))
            yield result, result.seen()
    finally:
        stop.set()  # what is in flight if the run is interrupted is not waited for
    engine.live.hang_up()


def _run_alongside(engine: Engine, stop: threading.Event, case: Case) -> _Finished | None:
    if stop.is_set():
        return None
    result = engine.run_alongside(case)
    if any(one.response is None for one in result.exchanges):
        stop.set()
    return result, result.seen()


def is_right(finished: _Finished, observations: Observations) -> bool:
    """Return True if a result beside others counts: a pass that breaks no rule for every exchange,
    but for those which are known to be broken."""
    result, seen = finished
    broken = (one.what for one in seen if one.wrong)
    return result.outcome is Outcome.PASS and all(map(observations.are_wrong, broken))


class ExtensionWatch:
    """Follows the first cases of a run, one after another, until they show enough.

    `undecided` is true as long as the next case may still show it, `left_out` once all of them
    have shown it. A run of only some of these cases is not followed.
    """

    def __init__(
        self, planned: Sequence[Case], chosen: Sequence[Case], extensions: Collection[str]
    ) -> None:
        """Follow the `chosen` cases out of those `planned`, of a server that lists `extensions`."""
        showing = [case for case in planned if case.requirement in SHOWN_BY]
        self._planned = Counter(case.requirement for case in showing)
        self._extensions = extensions
        self._left = {case.id for case in showing}
        self._tried: list[Tried] = []
        self.undecided = EXTENSION not in extensions and self._left <= {one.id for one in chosen}
        self.left_out = False

    def note(self, result: Result) -> None:
        """Take in the result of the next case."""
        if not self.undecided:
            return
        exchanges = [(bytes(one.request), one.response) for one in result.exchanges]
        tried = Tried(result.case.requirement, result.outcome, result.cause, exchanges)
        self._tried.append(tried)
        self._left.discard(result.case.id)
        if tried.is_served or tried.leaves_open:
            self.undecided = False
        elif not self._left:
            self.undecided = False
            self.left_out = bool(left_out(self._tried, self._planned, self._extensions))
