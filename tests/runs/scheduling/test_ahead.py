"""The next request of a run is on its way while its user is handed the results so far."""

from __future__ import annotations

from dataclasses import replace

from support.runs import chosen, engine_for, target_of
from v2_conformance.runs.budget import Budget
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import in_order, run
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.transcript import Transcript
from v2_conformance.wire.transport import Connection, Request, Transport

PLAIN = chosen("P2/blob-follows-json[INT32]", "P2/blob-follows-json[FP32]", "P4/")
NEGATIVE = chosen("H6/not-a-number[letters]")


class Watched:
    """A transport whose connections say in `steps` what is done with them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.steps: list[str] = []

    def connection(self) -> Connection:
        return WatchedConnection(self._transport.connection(), self.steps)


class WatchedConnection:
    def __init__(self, connection: Connection, steps: list[str]) -> None:
        self._connection = connection
        self._steps = steps

    @property
    def open(self) -> bool:
        return self._connection.open

    def pending(self) -> bool:
        return self._connection.pending()

    def open_ahead(self) -> None:
        self._connection.open_ahead()

    def begin(self, request: Request) -> None:
        self._steps.append("begin")
        self._connection.begin(request)

    def exchange(self, request: Request, *, fresh: bool = False) -> Transcript:
        self._steps.append("exchange")
        return self._connection.exchange(request, fresh=fresh)

    def close(self) -> None:
        self._connection.close()


def steps(url: str, cases: list[Case]) -> list[str]:
    """What a second run of `cases`, for which all that must be asked first is known, does."""
    target = target_of(url)
    watched = Watched(target.transport())
    engine = Engine(target, discover(target), transport=watched)
    list(run(engine, cases))
    watched.steps.clear()
    for event in run(engine, cases):
        assert event.result.outcome is Outcome.PASS
        watched.steps.append("result")
    return watched.steps


def test_a_request_leaves_before_the_result_of_the_case_before_it_is_handed_on(url: str) -> None:
    first, second = in_order(PLAIN)[:2]
    # The first one opens the connection.
    assert steps(url, [first, second]) == ["exchange", "begin", "result", "exchange", "result"]


def test_the_known_good_request_after_a_case_leaves_before_it_is_judged(url: str) -> None:
    cases = [*NEGATIVE, replace(NEGATIVE[0], id="H6/again")]
    canaries = ["begin", "exchange", "exchange"]  # on the same connection and on a fresh one
    first = ["exchange", *canaries, "begin", "result"]
    assert steps(url, cases) == [*first, "exchange", *canaries, "result"]


def test_only_one_whole_request_that_leaves_the_server_as_it_was_goes_ahead(url: str) -> None:
    dangerous = replace(NEGATIVE[0], id="H6/dangerous", dangerous=True)
    for following in (dangerous, *chosen("C6/")[:1], *chosen("C7/")[:1]):
        assert "begin" not in steps(url, [PLAIN[0], following])[:2]


def test_what_has_been_sent_is_read_even_if_the_time_is_spent(url: str) -> None:
    now = [0.0]
    target = target_of(url)
    budget = Budget(10.0, clock=lambda: now[0])
    engine = Engine(target, discover(target), budget=budget)
    cases = in_order(PLAIN)[:3]
    list(run(engine, cases))
    outcomes = []
    for event in run(engine, cases):
        now[0] = 20.0  # while the second request is on its way
        outcomes.append(event.result.outcome)
    assert outcomes == [Outcome.PASS, Outcome.PASS, Outcome.NOT_RUN]
    assert engine.out_of_time


def test_a_case_that_cannot_be_made_says_so_in_its_turn(url: str) -> None:
    good = PLAIN[0]
    assert isinstance(good, RequestCase)
    broken = replace(good, id="P2/broken", request={**good.request, "header_length": {"odd": 1}})
    with engine_for(url) as engine:
        outcomes = [event.result.outcome for event in run(engine, [good, broken, good])]
    assert outcomes == [Outcome.PASS, Outcome.ERROR, Outcome.PASS]


def test_the_time_of_a_case_that_went_ahead_covers_that_of_its_exchanges(url: str) -> None:
    with engine_for(url) as engine:
        for event in run(engine, in_order(PLAIN)):
            sum_s = sum(one.transcript.duration_s for one in event.result.exchanges)
            assert sum_s <= event.result.duration_s
