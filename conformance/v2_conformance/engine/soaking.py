"""A soak: the requests of a run's cases for minutes, many at a time, while the server is watched.

All kinds of requests come first, mixed. If a quantity grows with them, each kind is sent alone, and
those that seem to bring the growth are sent alone once more, beside known-good ones for comparison.
Then the server is watched at rest.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, cycle
from statistics import median

import msgspec

from v2_conformance.engine.discovery import Server
from v2_conformance.engine.process_watch import ProcessWatch
from v2_conformance.engine.result import Exchange, Result
from v2_conformance.engine.target import Target
from v2_conformance.judging.availability import unavailable
from v2_conformance.judging.growth import grows, suspects
from v2_conformance.judging.judge import judge
from v2_conformance.judging.survival import stale
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import GetCase, RequestCase
from v2_conformance.suite.causes import died
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.suite.soaking import (
    CONTROL,
    KINDS,
    Ended,
    Kind,
    KindCount,
    Phase,
    PhaseName,
    Sample,
    kind_of,
)
from v2_conformance.wire.encode import Prepared, prepare, prepare_get
from v2_conformance.wire.transcript import Transcript
from v2_conformance.wire.transport import Connection, Request, Transport

CONNECTIONS = 16
MOST_KEPT = 20
"""So many wrong answers are kept with all bytes, at most three of a case."""

_KEPT_OF_A_CASE = 3
_LONGEST_KEPT = 256 << 10
_LONGEST_BODY = 64 << 10
_MOST_OF_A_KIND = 60
_SLOWEST_S = 0.5
_SAMPLES = 480
_SHORTEST_S = 0.04
_MIXED = 0.55
_ALONE = 0.8
_REST = 0.05
_LONGEST_REST_S = 30.0
_TRIES = 3
_SILENCE_S = 5.0
_JOIN_S = 1.0
_AGAIN_S = 0.1

_LOOK = 0.1
_LEAST_LOOK_S = 5.0
_RIGHT = (Outcome.PASS, Outcome.DISPUTED)

Progress = Callable[[str], object]


@dataclass(frozen=True)
class Load:
    """What was asked for: for how long, on how many connections, and which process to watch."""

    seconds: float
    connections: int = CONNECTIONS
    pid: int | None = None


@dataclass(frozen=True)
class Soakable:
    """A case that can be sent again and again; `right` says whether its answer was, alone."""

    case: RequestCase | GetCase
    kind: Kind
    right: bool


@dataclass(frozen=True)
class WrongAnswer:
    """An answer under load that was right before."""

    case: RequestCase | GetCase
    at_s: float
    verdict: Verdict
    exchange: Exchange


@dataclass(frozen=True)
class Soaked:
    """What came of a soak. `wrong` counts the wrong answers by case, of which `kept` has some.

    `survived` says whether a known-good request got its right answer afterwards, None if none could
    be sent.
    """

    load: Load
    duration_s: float
    ended: Ended
    survived: bool | None
    connections: int
    kinds: tuple[KindCount, ...] = ()
    phases: tuple[Phase, ...] = ()
    samples: tuple[Sample, ...] = ()
    wrong: tuple[tuple[str, int], ...] = ()
    kept: tuple[WrongAnswer, ...] = ()


def soakable(result: Result) -> Soakable | None:
    """The case of a result, if it can be part of a soak: it is short and quick, it endangers no
    server, and it ran. The known-good ones must have passed."""
    case = result.case
    if not isinstance(case, RequestCase | GetCase) or case.dangerous or case.large or case.huge:
        return None
    if isinstance(case, RequestCase) and (case.together > 1 or case.first is not None):
        return None
    own = [one.transcript for one in result.exchanges if one.purpose is Purpose.CASE]
    if not own or any(one.duration_s > _SLOWEST_S for one in own):
        return None
    if died(result.cause):
        return None
    right = result.outcome in _RIGHT
    if not right and (result.outcome is not Outcome.FAIL or case.expects == "success"):
        return None
    return Soakable(case, kind_of(case), right)


def soak(
    target: Target, server: Server, cases: Sequence[Soakable], load: Load, show: Progress
) -> Soaked:
    """Send `cases` until the time is up, the server is dead, or somebody interrupts.

    `show` is called with what it does, in words. Raises UsageError if the process of `load` cannot
    be watched.
    """
    watch = None if load.pid is None else ProcessWatch(load.pid)
    transport = target.transport()
    items = [_Item(one, _prepared(one.case, target, server)) for one in cases]
    short = [item for item in items if item.prepared.body_size <= _LONGEST_BODY]
    still = _still_answered(transport, list(_some(short)), max(_LEAST_LOOK_S, _LOOK * load.seconds))
    if not any(item.kind == CONTROL for item in still):
        return Soaked(load, 0.0, "nothing_to_send", None, load.connections)
    return _Soak(target, transport, still, load, watch, show).run()


def _some(items: Sequence[_Item]) -> Iterator[_Item]:
    """Some of each kind, evenly from all of them, so that each is sent again soon: until all were,
    a server is still warming up."""
    for kind in KINDS:
        own = [item for item in items if item.kind == kind]
        count = min(len(own), _MOST_OF_A_KIND)
        yield from (own[number * len(own) // count] for number in range(count))


def _still_answered(transport: Transport, items: Sequence[_Item], limit_s: float) -> list[_Item]:
    """Those that are answered now, alone, as they were in the run, which may have killed a model
    or the server: some of each kind if there is no time for all."""
    places: Counter[Kind] = Counter()
    in_turn: list[tuple[int, _Item]] = []
    for item in items:
        in_turn.append((places[item.kind], item))
        places[item.kind] += 1
    found = []
    end = time.monotonic() + limit_s
    connection = transport.connection()
    try:
        for _, item in sorted(in_turn, key=lambda pair: pair[0]):
            if time.monotonic() > end:
                break
            request = replace(item.prepared.request, limit_s=_SILENCE_S)
            transcript = connection.exchange(request)
            if stale(transcript):
                transcript = connection.exchange(request, fresh=True)
            right = judge(item.of.case, item.prepared, transcript).outcome in _RIGHT
            if right is item.of.right:
                found.append(item)
    finally:
        connection.close()
    return found


def mixed(items: Sequence[_Item]) -> Iterator[_Item]:
    """All kinds in turn, for ever, each after a known-good request; each kind's cases in turn."""
    by_kind = {kind: [one for one in items if one.kind == kind] for kind in KINDS}
    turns = {kind: cycle(own) for kind, own in by_kind.items() if own}
    others = [kind for kind in turns if kind != CONTROL] or [CONTROL]
    for kind in cycle(chain.from_iterable((CONTROL, other) for other in others)):
        yield next(turns[kind])


@dataclass(frozen=True, eq=False)
class _Item:
    of: Soakable
    prepared: Prepared

    @property
    def kind(self) -> Kind:
        return self.of.kind


def _prepared(case: RequestCase | GetCase, target: Target, server: Server) -> Prepared:
    if isinstance(case, GetCase):
        return prepare_get(case, target.address)
    return prepare(case, target.address, server.present[case.model])


@dataclass
class _Tally:
    """What the threads have counted; `lock` guards it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    requests: Counter[Kind] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    declined: Counter[str] = field(default_factory=Counter)
    unanswered: Counter[str] = field(default_factory=Counter)
    wrong_cases: Counter[str] = field(default_factory=Counter)
    kept: list[WrongAnswer] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    answered_at: float = 0.0
    connected_at: float = 0.0


class _Soak:
    def __init__(
        self,
        target: Target,
        transport: Transport,
        items: Sequence[_Item],
        load: Load,
        watch: ProcessWatch | None,
        show: Progress,
    ) -> None:
        self._transport = transport
        self._limit_s = target.limits.exchange_s
        self._rate = target.rate
        self._items = items
        self._load = load
        self._watch = watch
        self._show = show
        self._tally = _Tally()
        self._order: Iterator[_Item] = mixed(items)
        self._stopped = threading.Event()
        self._samples: list[Sample] = []
        self._phases: list[Phase] = []
        self._exact: dict[_Item, bytes] = {}
        self._interval_s = max(_SHORTEST_S, load.seconds / _SAMPLES)
        self._connections: list[Connection] = []
        self._ended: Ended = "time"
        self._began = time.monotonic()

    def run(self) -> Soaked:
        threads: list[threading.Thread] = []
        grown = False
        try:
            self._sample()  # with none of its connections
            for connection in self._opened():
                work = threading.Thread(target=self._work, args=(connection,), daemon=True)
                threads.append(work)
            self._show(
                f"soak: {len(self._items)} cases again and again for {self._load.seconds:g} s; "
                "Ctrl-C ends it early"
            )
            self._began = time.monotonic()
            self._samples[0] = msgspec.structs.replace(self._samples[0], at_s=0.0)
            self._tally.answered_at = self._tally.connected_at = self._began
            for thread in threads:
                thread.start()
            grown = self._run_phases()
        except KeyboardInterrupt:
            self._ended = "interrupted"
        finally:
            self._stop(threads)
        lasted = self._now()
        survived = self._alive()
        if grown and self._ended == "time":
            with contextlib.suppress(KeyboardInterrupt):
                rest_s = min(_LONGEST_REST_S, max(_JOIN_S, _REST * self._load.seconds))
                self._show(f"growth found: the server is watched at rest for {rest_s:.0f} s")
                self._phase("rest", self._now() + rest_s, None)
        return Soaked(
            self._load,
            lasted,
            self._ended,
            survived,
            len(self._connections) or self._load.connections,
            self._counts(),
            tuple(self._phases),
            tuple(self._samples),
            tuple(sorted(self._tally.wrong_cases.items())),
            tuple(self._tally.kept),
        )

    def _opened(self) -> list[Connection]:
        """The connections of the soak: as many as the server serves at once, if that is fewer."""
        number = self._load.connections
        first = next(one for one in self._items if one.kind == CONTROL).prepared.request
        probe = replace(first, limit_s=_SILENCE_S)
        while number > 1 and not self._serves(number, probe):
            number //= 2
        if number < self._load.connections:
            self._show(f"the server serves only {number} connections at a time")
        self._connections = [self._transport.connection() for _ in range(number)]
        return self._connections

    def _serves(self, number: int, probe: Request) -> bool:
        """Whether so many open connections get an answer each."""
        connections = [self._transport.connection() for _ in range(number)]
        try:
            return all(one.exchange(probe).response is not None for one in connections)
        finally:
            for connection in connections:
                connection.close()

    # --- phases ------------------------------------------------------------------------------

    def _run_phases(self) -> bool:
        """Whether a quantity has grown."""
        end = self._load.seconds
        kinds = [kind for kind in KINDS if any(item.kind == kind for item in self._items)]
        self._phase("mixed", _MIXED * end, mixed(self._items))
        grown = grows(self._samples, 0.0, self._now())
        if not grown or self._ended != "time":
            if self._ended == "time":
                self._phase("mixed", end, None)
                grown = grows(self._samples, 0.0, self._now())
            return grown
        self._show(f"growth found: each of {len(kinds)} kinds of requests is sent alone")
        self._one_by_one(kinds, _ALONE * end)
        if self._ended == "time":
            suspected = suspects(self._samples, self._phases)
            self._one_by_one([CONTROL, *suspected], end)
        return True

    def _one_by_one(self, kinds: Sequence[Kind], until_s: float) -> None:
        for done, kind in enumerate(kinds):
            own = cycle([item for item in self._items if item.kind == kind])
            now = self._now()
            until = now + (until_s - now) / (len(kinds) - done)
            if self._ended == "time":
                self._phase("one_kind", until, own, kind=kind)

    def _phase(
        self,
        name: PhaseName,
        until_s: float,
        order: Iterator[_Item] | None,
        kind: Kind | None = None,
    ) -> None:
        """Send the requests of `order`, None for those of before, and measure meanwhile."""
        tally = self._tally
        with tally.lock:
            if order is not None:
                self._order = order
            before = Counter(tally.requests)
        began = self._now()
        if name != "mixed" or not self._phases:
            began = self._sample()
        try:
            while (left := until_s - self._now()) > 0 and self._ended == "time":
                time.sleep(min(left, self._interval_s))
                self._sample()
                if name != "rest":
                    self._look()
        finally:
            self._close_phase(name, began, before, kind)

    def _close_phase(
        self, name: PhaseName, began: float, before: Counter[Kind], kind: Kind | None
    ) -> None:
        ended = self._samples[-1].at_s
        with self._tally.lock:
            sent = self._tally.requests - before
        if kind is not None:
            sent = Counter({kind: sent[kind]})  # without what was still under way
        if name == "mixed" and self._phases:  # it goes on
            last = self._phases.pop()
            began, sent = last.began_s, sent + Counter(last.requests)
        self._phases.append(Phase(name, began, ended, dict(sent)))

    def _look(self) -> None:
        """See whether anybody is there."""
        now, tally = time.monotonic(), self._tally
        gone = self._watch is not None and self._watch.gone
        if gone or now - tally.connected_at > _SILENCE_S:
            self._ended = "died"
        elif now - tally.answered_at > self._limit_s + _SILENCE_S:
            self._ended = "hung"

    def _sample(self) -> float:
        """Measure, and return when that was."""
        usage = None if self._watch is None else self._watch.usage()
        tally = self._tally
        with tally.lock:
            requests = tally.requests.total()
            latencies, tally.latencies = tally.latencies, []
        latency = round(median(latencies) * 1000, 3) if latencies else None
        at_s = self._now()
        sample = Sample(at_s, requests, latency_ms=latency)
        if usage is not None:
            held = vars(usage)
            sample = msgspec.structs.replace(sample, **held)
        self._samples.append(sample)
        return at_s

    def _now(self) -> float:
        return round(time.monotonic() - self._began, 3)

    # --- the threads -------------------------------------------------------------------------

    def _work(self, connection: Connection) -> None:
        while not self._stopped.is_set():
            with self._tally.lock:
                item = next(self._order)
            transcript = connection.exchange(item.prepared.request)
            if stale(transcript) and not self._stopped.is_set():
                transcript = connection.exchange(item.prepared.request, fresh=True)
            if self._stopped.is_set():
                break  # its connection may have been closed under it
            self._note(item, transcript)
            if connection.pending():
                connection.close()
            if not transcript.sent:
                self._stopped.wait(_AGAIN_S)

    def _note(self, item: _Item, transcript: Transcript) -> None:
        verdict = self._judged(item, transcript)
        case, tally, now = item.of.case, self._tally, time.monotonic()
        response = transcript.response
        left = item.kind == "broken_off"
        with tally.lock:
            tally.requests[item.kind] += 1
            if transcript.sent:
                tally.connected_at = now
            if response is not None:
                tally.answered_at = now
                if item.kind == CONTROL:
                    tally.latencies.append(transcript.duration_s)
            if response is None:
                tally.unanswered[item.kind] += not left
            elif unavailable(transcript):
                tally.declined[item.kind] += 1
            elif item.of.right and verdict is not None and verdict.outcome is Outcome.FAIL:
                tally.wrong[item.kind] += 1
                tally.wrong_cases[case.id] += 1
                self._keep(case, verdict, transcript)

    def _judged(self, item: _Item, transcript: Transcript) -> Verdict | None:
        """The verdict on an answer; None if it is byte for byte one that was right."""
        received = transcript.received
        if transcript.response is not None and received == self._exact.get(item):
            return None
        verdict = judge(item.of.case, item.prepared, transcript)
        if verdict.outcome is Outcome.PASS and transcript.response is not None:
            self._exact[item] = bytes(received)
        return verdict

    def _keep(self, case: RequestCase | GetCase, verdict: Verdict, transcript: Transcript) -> None:
        tally = self._tally
        size = len(transcript.request) + len(transcript.received)
        few = tally.wrong_cases[case.id] <= _KEPT_OF_A_CASE and len(tally.kept) < MOST_KEPT
        if few and size <= _LONGEST_KEPT:
            purpose = Purpose.CASE
            exchange = Exchange(transcript, purpose, purpose.note)
            tally.kept.append(WrongAnswer(case, self._now(), verdict, exchange))

    def _stop(self, threads: Iterable[threading.Thread]) -> None:
        self._stopped.set()
        started = [thread for thread in threads if thread.ident is not None]
        # With a --rate, each may have to wait for its turn first.
        turns_s = 0.0 if self._rate is None else len(started) / self._rate
        end = time.monotonic() + min(_JOIN_S + turns_s, _LONGEST_REST_S)
        for thread in started:
            thread.join(max(0.0, end - time.monotonic()))
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.close()

    def _alive(self) -> bool:
        """Whether a known-good request is answered right, once all others are over."""
        item = next(one for one in self._items if one.kind == CONTROL)
        connection = self._transport.connection()
        try:
            for attempt in count(1):
                transcript = connection.exchange(item.prepared.request, fresh=True)
                verdict = judge(item.of.case, item.prepared, transcript)
                if verdict.outcome is Outcome.PASS:
                    return True
                if attempt == _TRIES:
                    return False
                time.sleep(_AGAIN_S)
        finally:
            connection.close()
        return False

    def _counts(self) -> tuple[KindCount, ...]:
        tally = self._tally
        cases = Counter(item.kind for item in self._items)
        return tuple(
            KindCount(
                kind,
                cases[kind],
                tally.requests[kind],
                tally.wrong[kind],
                tally.declined[kind],
                tally.unanswered[kind],
            )
            for kind in KINDS
            if cases[kind]
        )
