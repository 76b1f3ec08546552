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
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from v2_conformance.judging.known_good import own_form
from v2_conformance.judging.survival import passed_alone, unrepeated
from v2_conformance.runs.distance import FAR_S
from v2_conformance.runs.result import Result
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.turns import Turns
from v2_conformance.suite.cases import Case, GeneratedCase, GetCase, RequestCase
from v2_conformance.suite.causes.causes import died, unsurvived
from v2_conformance.suite.causes.circumstances import Hung
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


def unclear(result: Result) -> bool:
    """Return True if a concurrent result has to be checked by running the case alone."""
    return result.outcome in (Outcome.FAIL, Outcome.INCONCLUSIVE)


def cut_off(result: Result) -> bool:
    """Return True if the server closed one of its connections without announcing it. Only that can
    be another case's fault: a server keeps every other rule under concurrency as well.
    """
    return any(seen.what == "announced_closes" and seen.first for seen in result.seen())


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
        # A known-good request after a case is on its way while the next case is.
        self.shared = workers > 1 and engine.live.serves_together(2 * workers)

    def close(self) -> None:
        """End its threads, none of which is running a case."""
        self._pool.shutdown()

    def calibrate(self, cases: Sequence[Case]) -> None:
        """Find the canaries of all models that `cases` need, several models at once.

        A canary that its model does not answer exactly under concurrency is found later, alone.
        """
        if not self.shared:
            return
        of_model: dict[str | None, list[Case]] = {}
        for case in cases:
            of_model.setdefault(case.role, []).append(case)
        list(self._pool.map(self._engine.calibrate, of_model.values()))
        self._engine.live.hang_up()  # a server may serve one connection at a time

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
        if self.shared and any(_lingers(self._engine, case) for case in asking):
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


@dataclass(frozen=True)
class FoundAlone:
    """What concurrent cases gave when run again alone, in the same order.

    `interfered` says whether some results changed although no case among them fails alone in a way
    that explains it; `lingers` says whether a case leaves something behind in the server that
    others may have met or hidden.
    """

    results: Sequence[Result]
    interfered: bool
    lingers: bool


def found_alone(
    engine: Engine, results: Sequence[Result], *, disturbed: bool = False
) -> FoundAlone:
    """Return the final `results` of cases that ran concurrently, in the plan's order, now that
    nothing is in flight. Unclear cases run again, unless they killed what they need. So do cases
    that were cut off meanwhile (if `disturbed`, also by a case of another process), unless the
    whole server is dead.

    If that does not explain why a case was unclear, all others run again as well: one may have hurt
    another.
    """
    disturbed = disturbed or any(map(unclear, results))

    def doubtful(result: Result) -> bool:
        return disturbed and result.beside and not engine.cuts_off and cut_off(result)

    killings = engine.killings([result for result in results if unclear(result)])
    killed = {killing.result.case.id: killing.result for killing in killings}
    dead = {killing.role for killing in killings}
    found: dict[int, Result] = {}
    for number, result in enumerate(results):
        if not killed or result.case.id in killed:
            break
        repeatable = not dead.intersection((None, *result.case.roles))
        if not unclear(result) and not (repeatable and doubtful(result)):
            found[number] = engine.settled(result)
    for killing in killings:
        engine.blame(killing)
    again: dict[int, Result] = {}
    for number, result in enumerate(results):
        if result.case.id in killed:
            found[number] = killed[result.case.id]
        elif unclear(result):
            found[number] = again[number] = engine.run(result.case, in_any_case=True)
        elif number not in found and doubtful(result):
            found[number] = again[number] = engine.run(result.case, in_any_case=True)
            engine.cuts_off = cut_off(again[number])
        elif number not in found:
            found[number] = engine.settled(result)
    differing = [
        number
        for number, result in again.items()
        if unclear(results[number]) and results[number].exchanges and result.outcome.harmless
    ]
    if not differing or killed or any(map(_harms_others, again.values())):
        return _found_alone(engine, found, again, interfered=False)
    for number, result in enumerate(results):
        if number not in again and result.beside:
            found[number] = again[number] = engine.run(result.case, in_any_case=True)
    harmed = any(map(_harms_others, again.values()))
    cases = () if harmed else [result.case for result in results]
    kept = any(_lingers(engine, case, any_form=True) for case in cases)
    interfered = not (harmed or kept)
    for number in differing if interfered else ():
        alone, beside = found[number], results[number]
        verdict = unrepeated(alone.case, alone.verdict, beside.verdict)
        found[number] = replace(
            alone, verdict=verdict or passed_alone(alone.verdict, beside.verdict)
        )
    return _found_alone(engine, found, again, interfered=interfered, left=kept)


def _found_alone(
    engine: Engine,
    found: Mapping[int, Result],
    again: Mapping[int, Result],
    *,
    interfered: bool,
    left: bool = False,
) -> FoundAlone:
    hurt = (result.case for result in again.values() if _hurts_the_next(result))
    left = left or any(_lingers(engine, case) for case in hurt)
    return FoundAlone([found[number] for number in range(len(found))], interfered, left)


def _hurts_the_next(result: Result) -> bool:
    """Return True if only the first request after a case that failed alone got a wrong answer."""
    cause = unsurvived(result.cause)
    return cause is not None and cause.fresh_connection is None


class _Came(NamedTuple):
    """The result of a case with its number, and how many cases had begun by then.

    Any of these may have affected it.
    """

    number: int
    result: Result
    begun: int


_Outbox = queue.Queue["_Came | None"]
"""What came, and None from each worker at its end."""


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


def _lingers(engine: Engine, case: Case, *, any_form: bool = False) -> bool:
    """Return True if something that a case leaves behind hurts others, for a case that is sent and
    has to be rejected: see Live.
    """
    if not isinstance(case, RequestCase) or not case.negative or not engine.sends(case):
        return False
    return engine.live.lingers(case, any_form=any_form)


def _harms_others(result: Result) -> bool:
    """Return True if a case that also fails alone shows why others failed concurrently."""
    return result.outcome is Outcome.FAIL and (died(result.cause) or isinstance(result.cause, Hung))
