"""Turns: how many cases share a server at a time, and in what order their requests leave."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait

from v2_conformance.runs.scheduling.turns import Turns


def entering(turns: Turns, pool: ThreadPoolExecutor) -> Future[None]:
    """Another thread's case that wants room, once it is about to ask for it."""
    about = threading.Event()

    def enter() -> None:
        about.set()
        turns.enter()
        turns.leave()

    future = pool.submit(enter)
    assert about.wait(5)
    return future


def test_a_case_that_has_left_makes_room_for_one_other() -> None:
    turns = Turns(0.0, cases=1)
    turns.enter()
    with ThreadPoolExecutor(1) as pool:
        other = entering(turns, pool)
        assert not other.done()
        turns.leave()
        other.result(5)


def test_leaving_again_makes_no_more_room() -> None:
    turns = Turns(0.0, cases=1)
    turns.enter()
    turns.leave()
    turns.leave()
    turns.enter()
    with ThreadPoolExecutor(1) as pool:
        other = entering(turns, pool)
        assert wait([other], 0.05).not_done
        turns.leave()
        other.result(5)


def test_between_two_that_may_leave_something_behind_a_known_good_request_leaves() -> None:
    turns = Turns(0.0, cases=2)
    assert turns.left_behind()
    assert not turns.left_behind()
    turns.known_good()
    assert turns.left_behind()
