"""What a case breaks for others that run beside it is not held against the server twice."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest

from support.cases import JSON, make_case
from support.runs import CASES, chosen, engine_for
from support.servers import PATIENCE_S, Peer, Scripted, served, serving
from v2_conformance.runs.result import Result
from v2_conformance.runs.scheduling.running import run
from v2_conformance.runs.scheduling.side_by_side import shares
from v2_conformance.suite.cases import Case
from v2_conformance.suite.causes.causes import died
from v2_conformance.suite.outcomes import Outcome

_WORKERS = 8
_FAR_S = 0.02  # what the engine believes, so that all that can share the server does
_CLOSES = CASES()["R8/observed"]
_WRONG = b"HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\noops"

_VICTIM = make_case(JSON, id="victim", case_id="D1/victim")
# Its known-good requests go over the same connection, and then over a fresh one.
_WATCHED = replace(_VICTIM, canary="binary")
_DEADLY = make_case(JSON, id="deadly", case_id="D1/deadly")


@contextmanager
def _dying(requests: int, later: int, *, kills: bool = False) -> Iterator[Scripted]:
    """A server that answers "deadly" wrongly, always; with `kills`, all of its model from then on.

    The first time it also ends the connection of "victim" without a word, after so many `requests`,
    and answers only when `later` more have come.
    """
    deadly, closed, done = threading.Event(), threading.Event(), threading.Event()
    since: list[bytes] = []

    def talk(peer: Peer) -> None:
        victim = 0
        while True:
            request = peer.request()
            if closed.is_set():
                since.append(request)
                if len(since) >= later:
                    done.set()
            if b'"deadly"' in request:
                deadly.set()
                done.wait(PATIENCE_S)
            if b'"deadly"' in request or (kills and done.is_set() and b"fp32" in request):
                peer.send(_WRONG)
                continue
            if (victim or b'"victim"' in request) and not closed.is_set():
                deadly.wait(PATIENCE_S)
                victim += 1
            if victim == requests and not closed.is_set():
                peer.send_last(served(request))
                closed.set()
                if not later:
                    done.set()
                return
            peer.send(served(request))

    with serving(talk) as server:
        yield server
    assert closed.is_set()


def _failed(results: Sequence[Result]) -> set[str]:
    return {result.case.id for result in results if result.outcome is not Outcome.PASS}


@pytest.mark.parametrize("between", [3, 40], ids=["a few cases between", "many cases between"])
def test_a_connection_that_another_case_ended_was_not_closed_unannounced(between: int) -> None:
    """Many: those behind the first have ended long before it, so that it could be handed on."""
    fill = chosen("D10/", "D11/")
    cases: list[Case] = [_WATCHED, *fill[:between], _DEADLY, *fill[between:], _CLOSES]
    with _dying(2, later=20) as server, engine_for(server.url, timeout=2 * PATIENCE_S) as engine:
        engine.round_trip_s = _FAR_S
        found = [event.result for event in run(engine, cases, _WORKERS)]
    assert _failed(found) == {_DEADLY.id}
    assert sum(b'"victim"' in request for request in server.requests) == 2


def test_nor_is_it_held_against_the_next_case_of_its_thread() -> None:
    alone = make_case({"outcome": "disputed"}, case_id="D1/alone")
    assert not shares(alone, _FAR_S)
    fill = [make_case(JSON, case_id=f"D1/{number}") for number in range(12)]
    cases: list[Case] = [_VICTIM, _DEADLY, alone, *fill, _CLOSES]
    with _dying(1, later=0) as server, engine_for(server.url, timeout=2 * PATIENCE_S) as engine:
        engine.round_trip_s = _FAR_S
        found = [event.result for event in run(engine, cases, 2)]
    assert found[-1].outcome is Outcome.PASS


def test_nor_if_that_case_killed_a_model() -> None:
    values = [{"shape": [3], "values": [1.0, 2.0, 3.0]}]
    deadly = make_case(JSON, id="deadly", case_id="D1/x", model="identity/FP32", inputs=values)
    cases: list[Case] = [_WATCHED, deadly, _CLOSES]
    with (
        _dying(2, later=1, kills=True) as server,
        engine_for(server.url, timeout=2 * PATIENCE_S) as engine,
    ):
        engine.round_trip_s = _FAR_S
        found = [event.result for event in run(engine, cases, _WORKERS)]
    assert _failed(found) == {deadly.id}
    assert died(found[1].cause)


@pytest.mark.parametrize("wrong", [True, False])
def test_what_only_the_server_can_break_is_held_against_it_beside_others_too(wrong: bool) -> None:
    """It answers a case with the id of another one, which fails or not."""
    deadly, done = threading.Event(), threading.Event()

    def talk(peer: Peer) -> None:
        while True:
            request = peer.request()
            answer = served(request)
            if b'"deadly"' in request:
                deadly.set()
                done.wait(PATIENCE_S)
                answer = _WRONG if wrong else answer
            elif b'"victim"' in request and not done.is_set():
                deadly.wait(PATIENCE_S)
                peer.send(answer.replace(b'"victim"', b'"deadly"'))
                done.set()
                continue
            peer.send(answer)

    ids = CASES()["O18/observed"]
    with serving(talk) as server, engine_for(server.url, timeout=2 * PATIENCE_S) as engine:
        engine.round_trip_s = _FAR_S
        found = [event.result for event in run(engine, [_VICTIM, _DEADLY, ids], _WORKERS)]
    assert _failed(found) == {ids.id, *([_DEADLY.id] if wrong else [])}


@pytest.mark.parametrize("fails", [True, False])
def test_closes_that_are_the_servers_own_are_found_beside_others_too(fails: bool) -> None:
    def talk(peer: Peer) -> None:
        request = peer.request()
        peer.send(_WRONG if b'"deadly"' in request else served(request))

    fill = [make_case(JSON, id=f"id-{number}", case_id=f"D1/{number}") for number in range(60)]
    cases: list[Case] = [*fill[:30], *([_DEADLY] if fails else []), *fill[30:], _CLOSES]
    with serving(talk) as server, engine_for(server.url, timeout=2 * PATIENCE_S) as engine:
        engine.round_trip_s = _FAR_S
        found = [event.result for event in run(engine, cases, _WORKERS)]
    assert _failed(found) == {_CLOSES.id, *([_DEADLY.id] if fails else [])}
    sent = Counter(re.findall(rb'"id-[0-9]+"', b"".join(server.requests)))
    assert len(sent) == len(fill)
    assert sum(sent.values()) - len(sent) == fails  # once is enough
