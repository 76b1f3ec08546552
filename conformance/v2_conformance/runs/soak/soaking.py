"""A soak: the requests of a run's cases for minutes, many at a time, while the server is watched.

All kinds of requests come first, mixed. If a quantity grows with them, each kind is sent alone, and
those that seem to cause the growth are sent alone once more, along with known-good ones for
comparison. Then the server is watched at rest. `requests` says what is sent, `phases` when; this
module has the threads that send it, and the result.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from v2_conformance.conversations.steps import Exchange
from v2_conformance.judging.availability import unavailable
from v2_conformance.judging.judge import judge
from v2_conformance.judging.survival import stale
from v2_conformance.judging.verdict import Verdict
from v2_conformance.runs.discovery import Server
from v2_conformance.runs.result import Result
from v2_conformance.runs.soak.phases import Phases, Progress
from v2_conformance.runs.soak.processes import ProcessWatch
from v2_conformance.runs.soak.requests import (
    RIGHT,
    SILENCE_S,
    Item,
    prepared_case,
    some_of_each,
    still_answered,
)
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import GetCase, RequestCase
from v2_conformance.suite.causes.causes import died
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.suite.soaking import (
    CONTROL,
    KINDS,
    Ended,
    Kind,
    KindCount,
    Phase,
    Sample,
    kind_of,
)
from v2_conformance.wire.transcript import Transcript
from v2_conformance.wire.transport import Connection, Request, Transport

CONNECTIONS = 16
"""So many connections, if nobody says how many. What docs/soak.md tells was found with these."""

MOST_KEPT = 20
"""So many wrong answers are kept with all bytes, at most three of a case."""

_KEPT_OF_A_CASE = 3
# Bytes of a request and its answer: what is kept stays within 5 MiB in a report.
_LONGEST_KEPT = 256 << 10
# A case that took longer alone would take the place of many requests.
_SLOWEST_S = 0.5
# A server that is still busy with the soak may refuse a request at first.
_TRIES = 3
_AGAIN_S = 0.1
# A thread has one request under way, which took half a second at most, alone. With a --rate it may
# have to wait for its turn, too, but nobody waits for all of them longer than half a minute.
_JOIN_S = 1.0
_LONGEST_JOIN_S = 30.0
# Sending some of everything once, alone, may take a tenth of the time, or five seconds.
_LOOK = 0.1
_LEAST_LOOK_S = 5.0


@dataclass(frozen=True)
class Load:
    """Settings of a soak: for how long, on how many connections, and which process to watch."""

    seconds: float
    connections: int = CONNECTIONS
    pid: int | None = None


@dataclass(frozen=True)
class Soakable:
    """A case that can be sent again and again; `right` says whether its answer was right when sent
    alone.
    """

    case: RequestCase | GetCase
    kind: Kind
    right: bool


@dataclass(frozen=True)
class WrongAnswer:
    """An answer that was right before and is wrong under load."""

    case: RequestCase | GetCase
    at_s: float
    verdict: Verdict
    exchange: Exchange


@dataclass(frozen=True)
class Soaked:
    """Result of a soak. `wrong` counts the wrong answers by case; `kept` has some of them.

    `survived` says whether a known-good request was answered correctly afterwards, None if none
    could be sent.
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
    """Return the case of a result if it can be part of a soak: it is short and quick, does not
    endanger the server, and ran. Known-good ones must have passed.
    """
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
    right = result.outcome in RIGHT
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
    items = [
        Item(one.case, one.kind, one.right, prepared_case(one.case, target, server))
        for one in cases
    ]
    limit_s = max(_LEAST_LOOK_S, _LOOK * load.seconds)
    still = still_answered(transport, list(some_of_each(items)), limit_s)
    if not any(item.kind == CONTROL for item in still):
        return Soaked(load, 0.0, "nothing_to_send", None, load.connections)
    phases = Phases(still, load.seconds, target.limits.exchange_s, watch, show)
    return _Soak(target, transport, still, load, phases, show).run()


class _Soak:
    """The threads of a soak, one for each connection, and what they find."""

    def __init__(
        self,
        target: Target,
        transport: Transport,
        items: Sequence[Item],
        load: Load,
        phases: Phases,
        show: Progress,
    ) -> None:
        self._transport = transport
        self._rate = target.rate
        self._items = items
        self._load = load
        self._phases = phases
        self._show = show
        self._stopped = threading.Event()
        self._exact: dict[Item, bytes] = {}
        self._connections: list[Connection] = []
        # Guarded by the lock of the tally, as that is.
        self._wrong: Counter[Kind] = Counter()
        self._declined: Counter[Kind] = Counter()
        self._unanswered: Counter[Kind] = Counter()
        self._wrong_cases: Counter[str] = Counter()
        self._kept: list[WrongAnswer] = []

    def run(self) -> Soaked:
        phases = self._phases
        threads: list[threading.Thread] = []
        grown = False
        try:
            phases.sample()  # with none of its connections
            for connection in self._opened():
                work = threading.Thread(target=self._work, args=(connection,), daemon=True)
                threads.append(work)
            self._show(
                f"soak: {len(self._items)} cases again and again for {self._load.seconds:g} s; "
                "Ctrl-C ends it early"
            )
            phases.begin()
            for thread in threads:
                thread.start()
            grown = phases.run()
        except KeyboardInterrupt:
            phases.ended = "interrupted"
        finally:
            self._stop(threads)
        lasted = phases.now()
        survived = self._alive()
        if grown and phases.ended == "time":
            with contextlib.suppress(KeyboardInterrupt):
                phases.rest()
        return Soaked(
            self._load,
            lasted,
            phases.ended,
            survived,
            len(self._connections) or self._load.connections,
            self._counts(),
            tuple(phases.past),
            tuple(phases.samples),
            tuple(sorted(self._wrong_cases.items())),
            tuple(self._kept),
        )

    def _opened(self) -> list[Connection]:
        """Open the connections of the soak: as many as the server serves at once, if
        that is fewer.
        """
        number = self._load.connections
        first = next(one for one in self._items if one.kind == CONTROL).prepared.request
        probe = replace(first, limit_s=SILENCE_S)
        while number > 1 and not self._serves(number, probe):
            number //= 2
        if number < self._load.connections:
            self._show(f"the server serves only {number} connections at a time")
        self._connections = [self._transport.connection() for _ in range(number)]
        return self._connections

    def _serves(self, number: int, probe: Request) -> bool:
        """Return True if this many open connections get an answer each."""
        connections = [self._transport.connection() for _ in range(number)]
        try:
            return all(one.exchange(probe).response is not None for one in connections)
        finally:
            for connection in connections:
                connection.close()

    def _work(self, connection: Connection) -> None:
        while not self._stopped.is_set():
            item = self._phases.next_item()
            transcript = connection.exchange(item.prepared.request)
            if stale(transcript) and not self._stopped.is_set():
                transcript = connection.exchange(item.prepared.request, fresh=True)
            if self._stopped.is_set():
                break  # its connection may have been closed meanwhile
            self._note(item, transcript)
            if connection.pending():
                connection.close()
            if not transcript.sent:
                self._stopped.wait(_AGAIN_S)

    def _note(self, item: Item, transcript: Transcript) -> None:
        verdict = self._judged(item, transcript)
        case, tally, now = item.case, self._phases.tally, time.monotonic()
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
                self._unanswered[item.kind] += not left
            elif unavailable(transcript):
                self._declined[item.kind] += 1
            elif item.right and verdict is not None and verdict.outcome is Outcome.FAIL:
                self._wrong[item.kind] += 1
                self._wrong_cases[case.id] += 1
                self._keep(case, verdict, transcript)

    def _judged(self, item: Item, transcript: Transcript) -> Verdict | None:
        """Return the verdict on an answer; None if it is byte for byte one that was right."""
        received = transcript.received
        if transcript.response is not None and received == self._exact.get(item):
            return None
        verdict = judge(item.case, item.prepared, transcript)
        if verdict.outcome is Outcome.PASS and transcript.response is not None:
            self._exact[item] = bytes(received)
        return verdict

    def _keep(self, case: RequestCase | GetCase, verdict: Verdict, transcript: Transcript) -> None:
        size = len(transcript.request) + len(transcript.received)
        few = self._wrong_cases[case.id] <= _KEPT_OF_A_CASE and len(self._kept) < MOST_KEPT
        if few and size <= _LONGEST_KEPT:
            purpose = Purpose.CASE
            exchange = Exchange(transcript, purpose, purpose.note)
            self._kept.append(WrongAnswer(case, self._phases.now(), verdict, exchange))

    def _stop(self, threads: Iterable[threading.Thread]) -> None:
        self._stopped.set()
        started = [thread for thread in threads if thread.ident is not None]
        turns_s = 0.0 if self._rate is None else len(started) / self._rate
        end = time.monotonic() + min(_JOIN_S + turns_s, _LONGEST_JOIN_S)
        for thread in started:
            thread.join(max(0.0, end - time.monotonic()))
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.close()

    def _alive(self) -> bool:
        """Return True if a known-good request is answered correctly once all others are over."""
        item = next(one for one in self._items if one.kind == CONTROL)
        connection = self._transport.connection()
        try:
            for attempt in range(_TRIES):
                if attempt:
                    time.sleep(_AGAIN_S)
                transcript = connection.exchange(item.prepared.request, fresh=True)
                if judge(item.case, item.prepared, transcript).outcome is Outcome.PASS:
                    return True
        finally:
            connection.close()
        return False

    def _counts(self) -> tuple[KindCount, ...]:
        requests = self._phases.tally.requests
        cases = Counter(item.kind for item in self._items)
        return tuple(
            KindCount(
                kind,
                cases[kind],
                requests[kind],
                self._wrong[kind],
                self._declined[kind],
                self._unanswered[kind],
            )
            for kind in KINDS
            if cases[kind]
        )
