"""The phases of a soak: which of its requests are sent when, and what is measured meanwhile."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from statistics import median

import msgspec

from v2_conformance.judging.growth import grows, suspects
from v2_conformance.runs.soak.processes import ProcessWatch
from v2_conformance.runs.soak.requests import SILENCE_S, Item, mixed
from v2_conformance.suite.soaking import CONTROL, KINDS, Ended, Kind, Phase, PhaseName, Sample

# Shares of the time after which the mixed phase ends, and each kind has been sent alone: growth
# must be seen to go on before kinds are told apart, and those that are suspected need time of their
# own to be proven. See also docs/soak.md.
_MIXED = 0.55
_ALONE = 0.8
# This share of the time shows whether what has grown is given back at rest; a collector
# needs at least a second, and nobody waits longer than half a minute.
_REST = 0.05
_SHORTEST_REST_S = 1.0
_LONGEST_REST_S = 30.0
# A report has room for 1000 samples, and every phase has one more to begin with. A soak of seconds
# has fewer: every 40 ms is often enough, and leaves the time to the requests.
_SAMPLES = 480
_SHORTEST_S = 0.04

Progress = Callable[[str], object]
"""A function that is called with what a soak does, in words."""


@dataclass
class Tally:
    """Counts by the threads that send; `lock` guards it. Times are of time.monotonic()."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    requests: Counter[Kind] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    answered_at: float = 0.0
    connected_at: float = 0.0


class Phases:
    """The phases of a soak of `seconds`, one after another, in the thread that calls.

    Other threads send what `next_item` says, and count it in `tally`. `past` are the finished
    phases, `samples` what was measured in them, and `ended` is why the last one ended. The server
    hangs if no answer comes for a few seconds more than `limit_s`.
    """

    def __init__(
        self,
        items: Sequence[Item],
        seconds: float,
        limit_s: float,
        watch: ProcessWatch | None,
        show: Progress,
    ) -> None:
        self._items = items
        self._seconds = seconds
        self._limit_s = limit_s
        self._watch = watch
        self._show = show
        self._order: Iterator[Item] = mixed(items)
        self._interval_s = max(_SHORTEST_S, seconds / _SAMPLES)
        self._began = time.monotonic()
        self.tally = Tally()
        self.samples: list[Sample] = []
        self.past: list[Phase] = []
        self.ended: Ended = "time"

    def next_item(self) -> Item:
        """Return the next item to send."""
        with self.tally.lock:
            return next(self._order)

    def begin(self) -> None:
        """Start the clock of the soak; earlier measurements count as of its beginning."""
        self._began = time.monotonic()
        self.samples = [msgspec.structs.replace(one, at_s=0.0) for one in self.samples]
        self.tally.answered_at = self.tally.connected_at = self._began

    def sample(self) -> float:
        """Measure, and return the time of the measurement."""
        usage = None if self._watch is None else self._watch.usage()
        tally = self.tally
        with tally.lock:
            requests = tally.requests.total()
            latencies, tally.latencies = tally.latencies, []
        latency = round(median(latencies) * 1000, 3) if latencies else None
        at_s = self.now()
        sample = Sample(at_s, requests, latency_ms=latency)
        if usage is not None:
            held = vars(usage)
            sample = msgspec.structs.replace(sample, **held)
        self.samples.append(sample)
        return at_s

    def now(self) -> float:
        """Seconds since the soak began."""
        return round(time.monotonic() - self._began, 3)

    def run(self) -> bool:
        """Run all phases in which requests are sent. Return True if a quantity has grown."""
        end = self._seconds
        kinds = [kind for kind in KINDS if any(item.kind == kind for item in self._items)]
        self._phase("mixed", _MIXED * end, mixed(self._items))
        grown = grows(self.samples, 0.0, self.now())
        if not grown or self.ended != "time":
            if self.ended == "time":
                self._phase("mixed", end, None)
                grown = grows(self.samples, 0.0, self.now())
            return grown
        self._show(f"growth found: each of {len(kinds)} kinds of requests is sent alone")
        self._one_by_one(kinds, _ALONE * end)
        if self.ended == "time":
            suspected = suspects(self.samples, self.past)
            self._one_by_one([CONTROL, *suspected], end)
        return True

    def rest(self) -> None:
        """Measure while nothing is sent."""
        rest_s = min(_LONGEST_REST_S, max(_SHORTEST_REST_S, _REST * self._seconds))
        self._show(f"growth found: the server is watched at rest for {rest_s:.0f} s")
        self._phase("rest", self.now() + rest_s, None)

    def _one_by_one(self, kinds: Sequence[Kind], until_s: float) -> None:
        for done, kind in enumerate(kinds):
            own = cycle([item for item in self._items if item.kind == kind])
            now = self.now()
            until = now + (until_s - now) / (len(kinds) - done)
            if self.ended == "time":
                self._phase("one_kind", until, own, kind=kind)

    def _phase(
        self,
        name: PhaseName,
        until_s: float,
        order: Iterator[Item] | None,
        kind: Kind | None = None,
    ) -> None:
        """Send the requests of `order`, None for the previous ones, and measure meanwhile."""
        tally = self.tally
        with tally.lock:
            if order is not None:
                self._order = order
            before = Counter(tally.requests)
        began = self.now()
        if name != "mixed" or not self.past:
            began = self.sample()
        try:
            while (left := until_s - self.now()) > 0 and self.ended == "time":
                time.sleep(min(left, self._interval_s))
                self.sample()
                if name != "rest":
                    self._look()
        finally:
            self._close_phase(name, began, before, kind)

    def _close_phase(
        self, name: PhaseName, began: float, before: Counter[Kind], kind: Kind | None
    ) -> None:
        ended = self.samples[-1].at_s
        with self.tally.lock:
            sent = self.tally.requests - before
        if kind is not None:
            sent = Counter({kind: sent[kind]})  # without requests still under way
        if name == "mixed" and self.past:  # it goes on
            last = self.past.pop()
            began, sent = last.began_s, sent + Counter(last.requests)
        self.past.append(Phase(name, began, ended, dict(sent)))

    def _look(self) -> None:
        """Check whether anybody is there."""
        now, tally = time.monotonic(), self.tally
        gone = self._watch is not None and self._watch.gone
        if gone or now - tally.connected_at > SILENCE_S:
            self.ended = "died"
        elif now - tally.answered_at > self._limit_s + SILENCE_S:
            self.ended = "hung"
