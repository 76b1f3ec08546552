"""What counts as a leak: steady growth to the end, and with the kind of request that brings it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pytest

from v2_conformance.judging.growth import by_chance, grows, movement, suspects, theil_sen, trends
from v2_conformance.suite.soaking import KINDS, Kind, KindGrowth, Phase, Sample, Trend

MIB = 1 << 20
BASE = 300 * MIB
NUMBER = 240
PER_SAMPLE = 50
"""Requests between two samples."""

Shape = Callable[[int], float]
"""Bytes above BASE at a sample."""


def series(shape: Shape, noise: float = 0.0, seed: int = 1) -> list[tuple[float, int]]:
    wild = random.Random(seed)
    return [
        (float(n * PER_SAMPLE), BASE + int(shape(n) + noise * wild.random())) for n in range(NUMBER)
    ]


def leaking(per_request: float) -> Shape:
    return lambda n: per_request * n * PER_SAMPLE


def saw(shape: Shape, height: float, samples: int) -> Shape:
    return lambda n: shape(n) + height * (n % samples) / samples


def none(n: int) -> float:
    return 0.0


LEAKS: dict[str, tuple[Shape, float]] = {
    "fast": (leaking(12_000), 0.0),
    "slow": (leaking(600), 0.0),
    "slow, in noise": (leaking(1000), MIB),
    "after a cache has filled up": (lambda n: min(n, 60) * MIB + leaking(4000)(n), MIB),
    "in steps of an allocator": (lambda n: (leaking(12_000)(n) // (4 * MIB)) * 4 * MIB, 0.0),
    "under a garbage collector": (saw(leaking(4000), 20 * MIB, 7), MIB),
}
NO_LEAKS: dict[str, tuple[Shape, float]] = {
    "nothing": (none, 0.0),
    "noise": (none, 8 * MIB),
    "a cache that fills up": (lambda n: min(n, 70) * MIB, MIB),
    "a cache that fills up slowly": (lambda n: min(n, 150) * MIB, MIB),
    "a warm-up that slows down": (lambda n: 200 * MIB * (1 - math.exp(-n / 40)), MIB),
    "fragmentation, as a logarithm": (lambda n: 20 * MIB * math.log(1 + n), 0.2 * MIB),
    "a garbage collector": (saw(none, 60 * MIB, 9), MIB),
    "a lazy garbage collector": (saw(none, 60 * MIB, 45), MIB),
    "a very lazy garbage collector": (saw(none, 60 * MIB, 80), MIB),
    "memory that is given back": (lambda n: 50 * MIB - n * MIB / 8, MIB),
    "a new worker": (lambda n: 80 * MIB * (n > 150), MIB),
    "a few pages": (leaking(20), 0.0),
    "growth that stops": (lambda n: leaking(4000)(min(n, 170)), 0.0),
}


@pytest.mark.parametrize("name", LEAKS)
def test_steady_growth_is_seen(name: str) -> None:
    assert movement("memory", series(*LEAKS[name])) == "grows"


@pytest.mark.parametrize("name", NO_LEAKS)
def test_what_levels_off_or_goes_up_and_down_does_not_grow(name: str) -> None:
    assert movement("memory", series(*NO_LEAKS[name])) == "settles"


def test_memory_at_random_is_never_said_to_grow() -> None:
    found = [movement("memory", series(none, 30 * MIB, seed)) for seed in range(300)]
    assert set(found) == {"settles"}


def test_a_random_walk_is_rarely_said_to_grow() -> None:
    def walk(seed: int) -> list[tuple[float, int]]:
        wild, at, found = random.Random(seed), float(BASE), []
        for n in range(NUMBER):
            at += wild.gauss(0, MIB)
            found.append((float(n), int(at)))
        return found

    assert sum(movement("memory", walk(seed)) == "grows" for seed in range(200)) <= 20


def test_a_few_open_files_more_are_no_growth() -> None:
    def files(total: int) -> list[tuple[float, int]]:
        return [(float(n), 20 + total * n // NUMBER) for n in range(NUMBER)]

    assert movement("files", files(6)) == "settles"
    assert movement("files", files(60)) == "grows"


def test_little_was_measured() -> None:
    assert movement("memory", series(leaking(12_000))[:20]) == "unknown"


@pytest.mark.parametrize(("shape", "expected"), [(leaking(12_000), True), (none, False)])
def test_one_quantity_that_grows_is_growth(shape: Shape, expected: bool) -> None:
    measured = enumerate(series(shape))
    samples = [Sample(n, int(sent), memory=memory, files=20) for n, (sent, memory) in measured]
    assert grows(samples, 0.0, float(NUMBER)) is expected


def test_the_slope_ignores_outliers() -> None:
    points = [(float(n), 10 * n) for n in range(20)]
    points[7] = (7.0, 100_000)
    assert theil_sen(points) == 10


def test_chance() -> None:
    assert by_chance([1, 1, 1, 1]) == 1
    assert by_chance([1, 1, 2, 3]) == pytest.approx(0.0743, abs=1e-4)  # as tables have it with ties
    assert by_chance(list(range(12))) < 0.0001 < by_chance([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])


# --- which kind it was -----------------------------------------------------------------------

ALL: tuple[Kind, ...] = KINDS


class Soaking:
    """Samples and phases of a soak of `seconds` whose requests cost these bytes by kind."""

    def __init__(self, costs: dict[Kind, float], *, seconds: float = 120.0) -> None:
        self.costs = costs
        self.seconds = seconds
        self.samples: list[Sample] = []
        self.phases: list[Phase] = []
        self.memory = float(BASE)
        self.sent = 1000  # discovery and warming up
        self.at_s = 0.0
        self.phase("mixed", ALL, 0.55 * seconds, 150)
        for kind in ALL:
            self.phase("one_kind", (kind,), 0.25 * seconds / len(ALL), 12)

    def phase(self, name: str, kinds: Sequence[Kind], seconds: float, number: int) -> None:
        began, requests = self.at_s, dict.fromkeys(kinds, 0)
        self.sample()
        for n in range(1, number + 1):
            self.at_s = round(began + seconds * n / number, 3)
            for kind in kinds if name != "rest" else ():
                each = 90 // len(kinds)
                requests[kind] += each
                self.sent += each
                self.memory += each * self.costs.get(kind, 0.0)
            self.sample()
        self.phases.append(Phase(name, began, self.at_s, requests))  # type: ignore[arg-type]
        self.at_s = round(self.at_s + 0.01, 3)

    def sample(self) -> None:
        self.samples.append(Sample(self.at_s, self.sent, memory=int(self.memory), files=20))

    def again(self, *kinds: Kind) -> None:
        for kind in kinds:
            self.phase("one_kind", (kind,), 0.2 * self.seconds / len(kinds), 25)

    def memory_trend(self) -> Trend:
        return next(t for t in trends(self.samples, self.phases) if t.quantity == "memory")


def test_the_kind_that_leaks_is_found_with_its_bytes() -> None:
    soak = Soaking({"compressed_failing": 12_000})
    assert suspects(soak.samples, soak.phases) == ["compressed_failing"]
    soak.again("known_good", "compressed_failing")
    trend = soak.memory_trend()
    assert trend.movement == "leaks"
    assert trend.kinds == (KindGrowth("compressed_failing", 12_000),)
    assert trend.per_request == pytest.approx(12_000 / len(ALL), rel=0.01)
    mixed = soak.phases[0]
    sent = sum(mixed.requests.values())
    per_second = trend.per_request * sent / (mixed.ended_s - mixed.began_s)
    assert trend.per_second == pytest.approx(per_second, rel=0.01)


def test_several_kinds_may_leak() -> None:
    kinds: tuple[Kind, ...] = ("header_length", "malformed_json", "other", "sizes")
    soak = Soaking(dict.fromkeys(kinds, 4000.0))
    soak.again("known_good", *suspects(soak.samples, soak.phases))
    assert {one.kind for one in soak.memory_trend().kinds} == set(kinds)


def test_what_leaks_with_every_request_leaks_with_known_good_ones() -> None:
    soak = Soaking(dict.fromkeys(ALL, 3000.0))
    soak.again("known_good", *suspects(soak.samples, soak.phases))
    assert [one.kind for one in soak.memory_trend().kinds] == ["known_good"]


def test_growth_that_no_kind_brings_alone_is_no_leak() -> None:
    soak = Soaking({"compressed_failing": 12_000})
    soak.costs = {}
    soak.phases[1:] = []
    soak.again("known_good", "compressed_failing", "known_good", "compressed_failing")
    assert soak.memory_trend().movement == "grows"


def test_known_good_requests_that_grow_more_than_all_together_are_still_warming_up() -> None:
    soak = Soaking({"compressed_failing": 9000})
    soak.costs = {"known_good": 30_000}
    soak.phases[1:] = []
    soak.again("known_good", "compressed_failing", "known_good", "compressed_failing")
    assert soak.memory_trend().movement == "grows"


def test_a_short_soak_calls_nothing_a_leak() -> None:
    soak = Soaking({"compressed_failing": 12_000}, seconds=30)
    soak.again("known_good", "compressed_failing")
    trend = soak.memory_trend()
    assert (trend.movement, len(trend.kinds)) == ("grows", 1)


def test_what_is_given_back_at_rest_was_no_leak() -> None:
    soak = Soaking({"compressed_failing": 12_000})
    soak.again("known_good", "compressed_failing")
    soak.sample()
    began = soak.at_s
    soak.memory = BASE
    soak.at_s = round(soak.at_s + 1, 3)
    soak.sample()
    soak.phases.append(Phase("rest", began, soak.at_s, {}))
    assert soak.memory_trend().movement == "given_back"


def test_what_was_not_measured_has_no_trend() -> None:
    soak = Soaking({})
    assert [trend.quantity for trend in trends(soak.samples, soak.phases)] == ["memory", "files"]
    assert trends(soak.samples, []) == ()
