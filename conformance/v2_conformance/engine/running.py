"""Runs many cases and yields each result as an event: order, concurrency, second tries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace

from v2_conformance.engine.engine import Engine
from v2_conformance.engine.result import CaseFinished, Result
from v2_conformance.judging.observed import Observations
from v2_conformance.judging.survival import needs_canary
from v2_conformance.suite.cases import Case, ObservedCase
from v2_conformance.suite.outcomes import Outcome

Room = Callable[[bool], AbstractContextManager[object]]
"""Gives the caller the server, for itself if the argument is true."""


def in_order(cases: Sequence[Case]) -> list[Case]:
    """Plan order, but what may leave a server damaged comes after what cannot, dangers last.

    What is observed of all exchanges comes after all of them.
    """
    observed = ObservedCase
    return sorted(cases, key=lambda c: (isinstance(c, observed), c.dangerous, c.negative))


def run(engine: Engine, cases: Sequence[Case], workers: int = 1) -> Iterator[CaseFinished]:
    """Run `cases`, yielding each result as it comes.

    Only cases that cannot damage the server share time with others, see `run_beside`.
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


def run_beside(engine: Engine, case: Case, room: Room) -> Result:
    """The result of a case while others may run, which all use the same `room`.

    Whatever is not answered as it should be is run again alone, with the known-good requests that
    follow then, so that the verdict never depends on what ran at the same time.
    """
    with room(False):
        result = engine.run(case, beside=True)
    unclear = result.outcome in (Outcome.FAIL, Outcome.INCONCLUSIVE)
    watched = bool(result.exchanges) and needs_canary(case, result.outcome)
    if not unclear and not watched:
        return result
    with room(True):
        return engine.run_again(result)


def _events(engine: Engine, ordered: list[Case], workers: int) -> Iterator[CaseFinished]:
    total = len(ordered)
    count = 0
    shared = [case for case in ordered if not case.alone] if workers > 1 else []
    if shared:
        room = SharedRoom()
        pool = ThreadPoolExecutor(workers)
        try:
            for future in as_completed([pool.submit(run_beside, engine, c, room) for c in shared]):
                count += 1
                yield CaseFinished(future.result(), count, total)
        finally:  # a run that is stopped does not do the rest first
            pool.shutdown(cancel_futures=True)
        ordered = [case for case in ordered if case.alone]
    for case in ordered:
        count += 1
        yield CaseFinished(engine.run(case), count, total)


class SharedRoom:
    """A server that many threads share, or one has for itself: whoever wants that waits until the
    others have finished, and goes before those who come later. See Room."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharing = 0
        self._wanting_it_alone = 0
        self._taken = False

    @contextmanager
    def __call__(self, alone: bool) -> Iterator[None]:
        """See Room."""
        self._enter(alone)
        try:
            yield
        finally:
            self._leave(alone)

    @property
    def wanted(self) -> bool:
        """Whether somebody waits to have the server for itself."""
        return self._wanting_it_alone > 0

    def _enter(self, alone: bool) -> None:
        with self._changed:
            if not alone:
                self._changed.wait_for(lambda: not self._taken and not self.wanted)
                self._sharing += 1
                return
            self._wanting_it_alone += 1
            self._changed.wait_for(lambda: not self._taken and not self._sharing)
            self._wanting_it_alone -= 1
            self._taken = True

    def _leave(self, alone: bool) -> None:
        with self._changed:
            if alone:
                self._taken = False
            else:
                self._sharing -= 1
            self._changed.notify_all()
