"""Divides the cases of a run into shards, which machines can run independently of each other.

The division depends only on the cases and on the number of shards, so that every machine, and
whoever checks a report, gets the same one.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from v2_conformance.errors import UsageError
from v2_conformance.suite.cases import Case, GeneratedCase, ObservedCase, RequestCase

# One exchange over a network, and one with its canaries.
_USUAL_MS = 15
_WITH_CANARY_MS = 35
_GENERATED_MS = 15
_TOGETHER_MS = 80
_LARGE_MS = 5000
# What cases that take much longer than others take, by id without axes: measured with the reference
# server on two cores. A real server has other times, but the same cases are the long ones.
_KNOWN_MS = {
    "B12/many-elements": 105,
    "C4/many-segments": 265,
    "C8/broken-chunk": 60,
    "D11/many-elements-out": 70,
    "J7/very-many": 500,
    "J7/very-many-chunks": 1700,
    "P14/no-content-type-with-a-long-body": 170,
    "V3/json-of-any-size": 110,
    "V3/json-part-of-any-size": 80,
    "V3/text-of-any-size": 160,
}


def shards(cases: Sequence[Case], count: int) -> list[list[Case]]:
    """`cases` in `count` shards that take about as long; each keeps the order of `cases`.

    Every case that sends something is in exactly one shard. What is observed of all exchanges is in
    none: only who has all shards can judge it. The malformed requests of a requirement stay
    together unless they take longer than a shard should, because the last of them shows for all
    whether the server takes new connections. Raises UsageError if there are fewer cases than
    shards.
    """
    sent = [(place, c) for place, c in enumerate(cases) if not isinstance(c, ObservedCase)]
    if not 1 <= count <= len(sent):
        raise UsageError(
            f"{len(sent)} cases cannot be divided into {count} shards: use 1 to {len(sent)} shards"
        )
    loads = [(0, 0, number) for number in range(count)]
    found: list[list[tuple[int, Case]]] = [[] for _ in range(count)]
    for group in sorted(_groups(sent, count), key=lambda g: (-_cost(g), g[0][0])):
        load, size, number = heapq.heappop(loads)
        found[number] += group
        heapq.heappush(loads, (load + _cost(group), size + len(group), number))
    return [[case for _, case in sorted(shard, key=lambda item: item[0])] for shard in found]


def cost_ms(case: Case) -> int:
    """About how many milliseconds a case takes."""
    if isinstance(case, GeneratedCase):
        return _GENERATED_MS * len(case.requests)
    if case.large:
        return _LARGE_MS
    if case.template in _KNOWN_MS:
        return _KNOWN_MS[case.template]
    if isinstance(case, RequestCase) and case.together > 1:
        return _TOGETHER_MS
    return _WITH_CANARY_MS if case.negative else _USUAL_MS


_Group = list[tuple[int, Case]]


def _cost(group: _Group) -> int:
    return sum(cost_ms(case) for _, case in group)


def _groups(sent: Sequence[tuple[int, Case]], count: int) -> list[_Group]:
    """The cases with their places, those together that must be in one shard."""
    together: dict[object, _Group] = {}
    for place, case in sent:
        watched = case.negative and not (case.dangerous or case.large)
        key: object = case.requirement if watched else place
        together.setdefault(key, []).append((place, case))
    share = sum(cost_ms(case) for _, case in sent) / count
    groups: list[_Group] = []
    for group in together.values():
        groups += [group] if _cost(group) <= share else [[one] for one in group]
    return groups if len(groups) >= count else [[one] for one in sent]
