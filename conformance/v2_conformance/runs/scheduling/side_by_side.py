"""Cases that share the server, one on each connection, as if they had run one by one.

This is group testing: as long as every answer and every known-good request after it is right, that
shows as much as it would alone. As soon as one is wrong, nothing more is sent, and once nothing is
in flight, the cases that went wrong run again, one after another, before anyone is blamed. So do
cases that were right but lost a connection: another case may have closed it.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

from v2_conformance.judging.known_good import own_form
from v2_conformance.runs.distance import FAR_S
from v2_conformance.runs.result import Result
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.found_alone import found_alone, lingers, unclear
from v2_conformance.runs.scheduling.turns import Turns
from v2_conformance.suite.cases import Case, GeneratedCase, GetCase, RequestCase
from v2_conformance.suite.outcomes import Outcome

_HELD = 2  # results of each thread that wait for those of their neighbors
_AHEAD = 8  # results of each thread that may wait to be taken


def shares(case: Case, round_trip_s: float) -> bool:
    """Return True if a case may run concurrently with others: it is not known to endanger the
    server, needs no request to follow another, and its verdict tells its own answer from another
    case's.

    Cases that a server has to reject share it only if it is far away: see `turns`.
    """
    if case.dangerous or (case.negative and round_trip_s < FAR_S):
        return False
    if isinstance(case, GetCase):
        return True
    if not isinstance(case, RequestCase) or case.expects == "disputed":
        return False
    return not (case.others or case.together > 1)


def shows_interference(case: Case) -> bool:
    """Return True if a case only tests what well-formed requests do to each other (C6, C7): if a
    server fails one, cases cannot share it.
    """
    if not isinstance(case, RequestCase) or case.negative or case.dangerous or case.canary:
        return False
    return bool(case.others) or case.together > 1


def shows_leavings(case: Case) -> bool:
    """Return True if a case tests what a rejected request leaves for a request of another form: a
    known-good request of another case could take that away without showing it.
    """
    if not isinstance(case, RequestCase) or not case.negative or case.canary != "json":
        return False
    return own_form(case) != "json"


class SideBySide:
    """Runs cases of one engine on several connections at once, in threads of its own.

    Once a case has a different result concurrently than alone, and no case that also fails alone
    explains it, the server cannot be shared: `shared` is false, and all remaining cases run one by
    one.
    """

    def __init__(self, engine: Engine, workers: int) -> None:
        self._engine = engine
        self._workers = workers
        self._pool = ThreadPoolExecutor(2 * workers)
        self._known: dict[str, Result] = {}
        self._passed: set[str] = set()  # ids of cases that passed concurrently
        self._lingers = False
        self._closed = False
        # A known-good request after a case is on its way while the next case is.
        self.shared = workers > 1 and engine.live.serves_together(2 * workers)

    def close(self) -> None:
        """End its threads. None is running a case; if the run was stopped, some may still look for
        canaries, and end after the next.
        """
        self._closed = True
        self._pool.shutdown(cancel_futures=True)

    def calibrate(self, cases: Sequence[Case]) -> None:
        """Find the canaries of all models that `cases` need, several models at once.

        A canary that its model does not answer exactly under concurrency is found later, alone.
        """
        if not self.shared:
            return
        of_model: dict[str | None, list[Case]] = {}
        for case in cases:
            of_model.setdefault(case.role, []).append(case)
        list(self._pool.map(self._calibrate, of_model.values()))
        self._engine.live.hang_up()  # a server may serve one connection at a time

    def _calibrate(self, cases: Sequence[Case]) -> None:
        for case in cases:
            if not self._closed:
                self._engine.calibrate(case)

    def find_interference(self, cases: Sequence[Case]) -> None:
        """Run these cases one by one before any other; `run` gives their results in their place.

        If the server fails one, it cannot be shared, and they run again in their place.
        """
        if not self.shared:
            return
        for case in cases:
            self._known[case.id] = result = self._engine.run(case)
            self.shared = self.shared and result.outcome is not Outcome.FAIL
        if not self.shared and self._engine.start_over():
            self._known.clear()

    def run(self, cases: Sequence[Case]) -> Iterator[Result]:
        """Yield the results of cases, which share the server or are known, in their order.

        Cases that a server has to reject are held back to the end: if one of them leaves something
        behind in the server, the cases that passed concurrently run again, as they may have hidden
        another such case.
        """
        for negative, grouped in groupby(cases, key=lambda case: case.negative):
            self._passed.clear()
            results = self._run(list(grouped))
            yield from self._certain(list(results)) if negative else results

    def _certain(self, results: Sequence[Result]) -> Iterator[Result]:
        asking = [r.case for r in results if shows_leavings(r.case) and r.case.id in self._passed]
        if self.shared and any(lingers(self._engine, case) for case in asking):
            self._lingers, self.shared = True, False
        for result in results:
            again = None
            if self._lingers and result.case.id in self._passed:
                again = self._engine.run(result.case, in_any_case=True)
            yield result if again is None or again.outcome is Outcome.NOT_RUN else again

    def _run(self, cases: Sequence[Case]) -> Iterator[Result]:
        left = deque(cases)
        while left:
            if self.shared:
                yield from self._stretch(left)
                continue
            case = left.popleft()
            known = self._known.get(case.id)
            yield self._engine.run(case) if known is None else self._engine.settled(known)

    def run_generated(self, case: GeneratedCase) -> Result:
        """Return the result of a case whose requests may share the server."""
        answers: list[Result] = []
        if self.shared:
            turns = _share(self._engine, self._workers)
            stretch = _Stretch(self._engine, self._pool, self._workers, turns)
            came = sorted(stretch.results(deque(self._engine.generated(case))))
            _share_no_more(self._engine, disturbed=stretch.unclear)
            if not stretch.unclear:
                answers = [self._engine.settled(one.result) for one in came]
        return self._engine.run_generated(case, answers)

    def _stretch(self, left: deque[Case]) -> Iterator[Result]:
        """Yield the results of cases taken from `left`, until none are left or one is unclear."""
        threads = self._workers * (2 if left[0].negative else 1)
        turns = _share(self._engine, self._workers)
        stretch = _Stretch(self._engine, self._pool, threads, turns, self._known)
        early: dict[int, _Came] = {}
        settled = 0
        seen = 0  # how many results, from the first on, are there
        for came in stretch.results(left):
            early[came.number] = came
            while seen in early or seen < settled:
                seen += 1
            while (
                not stretch.unclear
                and settled + _HELD * threads < seen
                and early[settled].begun <= seen
            ):
                result = early.pop(settled).result
                self._passed.add(result.case.id)
                yield self._engine.settled(result)
                settled += 1
        _share_no_more(self._engine, disturbed=stretch.unclear)
        held = [early[number].result for number in sorted(early)]
        found = found_alone(self._engine, held)
        self._passed |= {result.case.id for result in held if not unclear(result)}
        self._lingers = self._lingers or found.lingers
        self.shared = self.shared and not (found.interfered or found.lingers)
        yield from found.results


class _Came(NamedTuple):
    """The result of a case with its number, and how many cases had begun by then.

    Any of these may have affected it.
    """

    number: int
    result: Result
    begun: int


_Outbox = queue.Queue["_Came | None"]
"""The results, and None from each worker at its end."""


class _Stretch:
    """Cases that run concurrently until one is unclear, which `unclear` then says."""

    def __init__(
        self,
        engine: Engine,
        pool: ThreadPoolExecutor,
        threads: int,
        turns: Turns,
        known: Mapping[str, Result] = MappingProxyType({}),
    ) -> None:
        """`known` has the results of cases that ran before, alone."""
        self._engine = engine
        self._known = known
        self._pool = pool
        self._threads = threads
        self._turns = turns
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._taken = 0
        self.unclear = False

    def results(self, left: deque[Case]) -> Iterator[_Came]:
        """Yield the results of cases taken from the front of `left`, as they come.

        When it ends nothing is in flight. A caller that stops taking results also stops the cases.
        """
        came: _Outbox = queue.Queue(_AHEAD * self._threads)
        working = [self._pool.submit(self._work, left, came) for _ in range(self._threads)]
        ended = 0
        try:
            while ended < len(working):
                item = came.get()
                if item is None:
                    ended += 1
                else:
                    yield item
        finally:
            self._stop.set()
            while ended < len(working):
                ended += came.get() is None
            for future in working:
                future.result()

    def _work(self, left: deque[Case], came: _Outbox) -> None:
        try:
            while True:
                self._turns.enter()
                with self._lock:
                    if self._stop.is_set() or not left:
                        return
                    number, case = self._taken, left.popleft()
                    self._taken += 1
                known = self._known.get(case.id)
                result = known or self._engine.run_beside(case)
                if unclear(result):
                    self.unclear = True
                    self._stop.set()
                self._turns.leave()
                came.put(_Came(number, result, self._taken))
        finally:
            self._turns.leave()
            came.put(None)


def _share(engine: Engine, cases: int) -> Turns:
    """From now on let this many cases at a time share the server, in these turns."""
    engine.live.hang_up()
    engine.live.turns = turns = Turns(engine.round_trip_s / (2 * cases), cases)
    return turns


def _share_no_more(engine: Engine, *, disturbed: bool) -> None:
    """From now on run cases one by one. Nothing may be in flight. With `disturbed`, one of them may
    have closed the connections of others.
    """
    engine.live.turns = None
    engine.live.hang_up(forget=disturbed)
