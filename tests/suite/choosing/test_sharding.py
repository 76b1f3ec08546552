"""Shards of a run: every case is in exactly one, and all take about as long."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from support.cases import make_case
from v2_conformance.errors import UsageError
from v2_conformance.suite.cases import ObservedCase
from v2_conformance.suite.choosing.sharding import cost_ms, shards
from v2_conformance.suite.library import suite_cases

CASES = suite_cases()
SENT = [case for case in CASES if not isinstance(case, ObservedCase)]


@pytest.mark.parametrize("count", [1, 2, 8, 31, len(SENT)])
def test_every_case_that_is_sent_is_in_exactly_one_shard(count: int) -> None:
    found = shards(CASES, count)
    assert len(found) == count
    assert all(found)
    assert Counter(case.id for shard in found for case in shard) == {case.id: 1 for case in SENT}


def test_a_shard_keeps_the_order_of_the_plan() -> None:
    place = {case.id: number for number, case in enumerate(CASES)}
    for shard in shards(CASES, 8):
        places = [place[case.id] for case in shard]
        assert places == sorted(places)


@pytest.mark.parametrize("count", [2, 4, 8])
def test_shards_are_balanced_by_what_cases_are_known_to_take(count: int) -> None:
    loads = [sum(map(cost_ms, shard)) for shard in shards(suite_cases(), count)]
    assert max(loads) - min(loads) < 0.05 * sum(loads) / count


def test_the_division_is_the_same_again() -> None:
    ids = [[case.id for case in shard] for shard in shards(CASES, 5)]
    assert [[case.id for case in shard] for shard in shards(list(CASES), 5)] == ids


def test_malformed_requests_stay_with_the_one_that_shows_for_all_that_the_server_lives() -> None:
    """Unless they are too many for one shard."""
    where: dict[str, set[int]] = {}
    for number, shard in enumerate(shards(CASES, 8)):
        for case in shard:
            if case.negative and not case.dangerous:
                where.setdefault(case.requirement, set()).add(number)
    assert len(where["J1"]) == len(where["S2"]) == 1
    split = {requirement for requirement, numbers in where.items() if len(numbers) > 1}
    assert split <= {"J7"}


def test_a_requirement_whose_malformed_requests_take_too_long_is_divided() -> None:
    of_one = [case for case in CASES if case.requirement == "J1"]
    assert len(of_one) > 8
    assert all(len(shard) <= -(-len(of_one) // 4) for shard in shards(of_one, 4))


@pytest.mark.parametrize("count", [0, -1, len(SENT) + 1, 10**9])
def test_more_shards_than_cases_are_refused(count: int) -> None:
    with pytest.raises(UsageError, match=f"use 1 to {len(SENT)} shards"):
        shards(CASES, count)


def test_a_large_case_weighs_as_much_as_hundreds_of_others() -> None:
    large = replace(make_case(case_id="L1/large"), large=True)
    others = [make_case(case_id=f"D1/{number}") for number in range(300)]
    assert shards([*others, large], 2) == [[large], others]
