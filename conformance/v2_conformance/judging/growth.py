"""Decides whether a server's resources grow steadily with its requests. Pure.

A server may grow at first (caches, arenas, threads), and its memory may go up and down with a
garbage collector. Neither is a leak, so the beginning is left out, what counts is how low a
quantity still falls, and it has to rise steadily: as fast at the end as before. docs/soak.md has
the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import erf, sqrt
from statistics import median

from v2_conformance.suite.soaking import (
    CONTROL,
    KINDS,
    LEAST_S,
    QUANTITIES,
    Kind,
    KindGrowth,
    Movement,
    Phase,
    Quantity,
    Sample,
    Trend,
)

FEWEST_SAMPLES = 24
"""With fewer, nothing is said."""
WARM_UP = 1 / 3
"""The part of the mixed requests that is left out."""

_BLOCKS = 12
_CHANCE = 0.001
_STEADY = 0.7
_FALLS = 1 / 3
_COUNT_RISE = 8
_SMALLEST_RISE = 1 << 20
_LARGEST_RISE = 16 << 20
_RISE_PART = 0.01
_KIND_PART = 0.1
_TOGETHER = 0.4
_FITS = 2.5
_TIMES_CONTROL = 4
_SUSPECT_PART = 0.1
_MOST_SUSPECTS = 5
_TIMES_ALONE = 2
_FEWEST_ALONE = 3
_MOST_ALONE = 50
_GIVEN_BACK = 0.5

Point = tuple[float, int]
"""How many requests had been sent, and how much of a quantity there was."""


def trends(samples: Sequence[Sample], phases: Sequence[Phase]) -> tuple[Trend, ...]:
    """Return the trend of each quantity that was measured; none if there are no phases."""
    mixed = [phase for phase in phases if phase.name == "mixed"]
    if not mixed:
        return ()
    return tuple(
        trend
        for quantity in QUANTITIES
        if (trend := _trend(quantity, samples, phases, mixed[0])) is not None
    )


def grows(samples: Sequence[Sample], began_s: float, ended_s: float) -> bool:
    """Return True if any quantity grows until the end of the mixed requests."""
    return any(
        movement(quantity, _points(quantity, samples, began_s, ended_s)) == "grows"
        for quantity in QUANTITIES
    )


def movement(quantity: Quantity, points: Sequence[Point]) -> Movement:
    """Return the movement of a quantity while all kinds of requests were sent."""
    later = _after_warm_up(points)
    if len(points) < FEWEST_SAMPLES or len(floors := _floors(later)) < _BLOCKS:
        return "unknown"
    slope = theil_sen(floors)
    rise = slope * (floors[-1][0] - floors[0][0])
    half = len(floors) // 2
    before, after = theil_sen(floors[: half + 1]), theil_sen(floors[half - 1 :])
    steady = after >= _STEADY * before and before > 0
    chance = by_chance([value for _, value in floors])
    enough = rise >= _least_rise(quantity, floors[0][1])
    falls = _largest_fall([value for _, value in floors])
    if enough and steady and chance < _CHANCE and falls <= _FALLS * rise:
        return "grows"
    return "settles"


def theil_sen(points: Sequence[Point]) -> float:
    """Return the median slope over all pairs of points: outliers do not move it."""
    slopes = [(b - a) / (y - x) for (x, a), (y, b) in combinations(points, 2) if y > x]
    return median(slopes) if slopes else 0.0


def by_chance(values: Sequence[int]) -> float:
    """Return the probability that values in random order rise as much as these (Mann
    and Kendall).
    """
    n = len(values)
    rises = sum((b > a) - (b < a) for a, b in combinations(values, 2))
    ties = [values.count(value) for value in set(values)]
    variance = n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)
    if rises <= 0 or variance <= 0:
        return 1.0
    score = (rises - 1) / sqrt(variance / 18)
    return (1 - erf(score / sqrt(2))) / 2


def _trend(
    quantity: Quantity, samples: Sequence[Sample], phases: Sequence[Phase], mixed: Phase
) -> Trend | None:
    everything = [value for one in samples if (value := getattr(one, quantity)) is not None]
    points = _points(quantity, samples, mixed.began_s, mixed.ended_s)
    if not everything or not points:
        return None
    found = movement(quantity, points)
    kinds: tuple[KindGrowth, ...] = ()
    per_second = per_request = 0.0
    if found != "unknown":
        later = _after_warm_up(points)
        per_request = theil_sen(_floors(later))
        times = [s.at_s for s in samples if mixed.began_s <= s.at_s <= mixed.ended_s]
        taken = times[-1] - times[0]
        sent = points[-1][0] - points[0][0]
        per_second = per_request * sent / taken if taken else 0.0
    if found == "grows":
        rise = _rise(points, mixed)
        if _given_back(quantity, samples, phases, rise):
            found = "given_back"
        else:
            kinds = tuple(_blamed(quantity, samples, phases, mixed, rise))
            if kinds and samples[-1].at_s >= LEAST_S:
                found = "leaks"
    return Trend(
        quantity,
        found,
        everything[0],
        everything[-1],
        max(everything),
        round(per_second, 6),
        round(per_request, 6),
        kinds,
    )


def _points(
    quantity: Quantity, samples: Sequence[Sample], began_s: float, ended_s: float
) -> list[Point]:
    return [
        (one.requests, value)
        for one in samples
        if began_s <= one.at_s <= ended_s and (value := getattr(one, quantity)) is not None
    ]


def _after_warm_up(points: Sequence[Point]) -> Sequence[Point]:
    return points[int(len(points) * WARM_UP) :]


def _floors(points: Sequence[Point]) -> list[Point]:
    """Return the lowest point of each of a dozen equal parts: right after a collection."""
    size = len(points) / _BLOCKS
    parts = (points[int(n * size) : int((n + 1) * size)] for n in range(_BLOCKS))
    return [
        (median(count for count, _ in part), min(value for _, value in part))
        for part in parts
        if part
    ]


def _least_rise(quantity: Quantity, value: float) -> float:
    if quantity != "memory":
        return _COUNT_RISE
    return min(max(_SMALLEST_RISE, _RISE_PART * value), _LARGEST_RISE)


def _largest_fall(values: Sequence[int]) -> int:
    highest, fall = values[0], 0
    for value in values:
        highest = max(highest, value)
        fall = max(fall, highest - value)
    return fall


def _given_back(
    quantity: Quantity, samples: Sequence[Sample], phases: Sequence[Phase], rise: float
) -> bool:
    """Return True if half of a rise was gone once no more requests were sent.

    The files and threads of the soak's own connections are gone by then, so these are compared with
    the state before the first connection.
    """
    rest = next((phase for phase in phases if phase.name == "rest"), None)
    if rest is None:
        return False
    at_rest = [v for one in samples if one.at_s >= rest.began_s and (v := getattr(one, quantity))]
    first = next((v for one in samples if (v := getattr(one, quantity)) is not None), None)
    if not at_rest or first is None:
        return False
    if quantity == "memory":
        return bool(at_rest[0] - at_rest[-1] >= _GIVEN_BACK * rise)
    return bool(at_rest[-1] - first < _GIVEN_BACK * rise)


def suspects(samples: Sequence[Sample], phases: Sequence[Phase]) -> list[Kind]:
    """Return the kinds that growth may come with, judged by the phases in which each was sent
    alone: at most five, most growth first.
    """
    mixed = next(phase for phase in phases if phase.name == "mixed")
    parts: dict[Kind, float] = {}
    for quantity in QUANTITIES:
        points = _points(quantity, samples, mixed.began_s, mixed.ended_s)
        if movement(quantity, points) != "grows":
            continue
        rise = _rise(points, mixed)
        for kind, rates in _alone(quantity, samples, phases).items():
            part = sum(rates) / len(rates) * mixed.requests.get(kind, 0) / rise
            if kind != CONTROL and part >= _SUSPECT_PART:
                parts[kind] = max(part, parts.get(kind, 0.0))
    return sorted(parts, key=lambda kind: -parts[kind])[:_MOST_SUSPECTS]


def _rise(points: Sequence[Point], mixed: Phase) -> float:
    """Return how much a quantity would have risen over all mixed requests at its final rate."""
    return theil_sen(_floors(_after_warm_up(points))) * sum(mixed.requests.values())


def _blamed(
    quantity: Quantity,
    samples: Sequence[Sample],
    phases: Sequence[Phase],
    mixed: Phase,
    rise: float,
) -> Iterator[KindGrowth]:
    """Return the kinds whose rises when sent alone account for the rise of all together.

    Each has to cause growth whenever it is sent, more than known-good requests do, and in
    proportion to the total. Return none if they do not account for a good part of the total.
    """
    alone = _alone(quantity, samples, phases)
    control = max(0.0, *alone.get(CONTROL, [0.0]), 0.0)
    found: list[KindGrowth] = []
    together = 0.0
    sent = sum(mixed.requests.values())
    for kind, rates in alone.items():
        if len(rates) < _TIMES_ALONE or min(rates) <= 0:
            continue
        rate = median(rates)
        # Growth with known-good requests has to show with all others as well.
        part = rate * (sent if kind == CONTROL else mixed.requests.get(kind, 0)) / rise
        more = kind == CONTROL or rate >= _TIMES_CONTROL * control
        if _KIND_PART <= part <= _FITS and more:
            found.append(KindGrowth(kind, round(rate, 6)))
            together += part
    if together >= _TOGETHER:
        yield from sorted(found, key=lambda one: -one.per_request)


def _alone(
    quantity: Quantity, samples: Sequence[Sample], phases: Sequence[Phase]
) -> dict[Kind, list[float]]:
    """Return how much a quantity rose per request of a kind that was sent alone, by phase.

    Only the second half of each phase counts: at first the previous kind's memory is reused, and
    its connections close.
    """
    found: dict[Kind, list[float]] = {}
    for phase in phases:
        if phase.name != "one_kind":
            continue
        middle = (phase.began_s + phase.ended_s) / 2
        points = _points(quantity, samples, middle, phase.ended_s)
        if len(points) < _FEWEST_ALONE:
            continue
        for kind in KINDS:
            if kind in phase.requests:
                some = points[:: 1 + len(points) // _MOST_ALONE]
                found.setdefault(kind, []).append(theil_sen(some))
    return found
