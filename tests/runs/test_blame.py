"""Behind a gateway: what is no death, what is one, and what a busy server's answers are worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from support.runs import chosen, target_of
from support.servers import Start
from v2_conformance.conversations.steps import Result
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.patience import Patience
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.suite.cases import Case
from v2_conformance.suite.causes.causes import DidNotSurvive
from v2_conformance.suite.causes.kinds import KilledBy, Unavailable, WasDown, WrongStatus
from v2_conformance.suite.outcomes import Outcome, Purpose

NEGATIVE = chosen("R3/survives-a-rejection")
GOOD = chosen("P2/blob-follows-json[INT32]")


class Gateway(Behaviour):
    """A server behind a gateway, which has no answer to `lost` requests after a rejection."""

    lost: ClassVar[int] = 0
    about_all = False
    left = 0

    def handle(self, request: Request) -> Response:
        infers = request.target.endswith("/infer")
        if self.left and (infers or self.about_all):
            self.left -= 1
            return Response(502, (("Content-Type", "text/html"),), (b"<h1>Bad Gateway</h1>",))
        response = super().handle(request)
        if infers and response.status >= 400:
            self.left = self.lost
        return response


def found(url: str, cases: Sequence[Case] = NEGATIVE) -> list[Result]:
    """The results of the run, whose pauses take no time."""
    pauses: list[float] = []
    patience = Patience(5.0, pause=pauses.append, clock=lambda: sum(pauses, 0.0))
    target = target_of(url)
    engine = Engine(target, discover(target), patience=patience)
    return [event.result for event in run(engine, cases)]


def test_a_connection_that_a_gateway_lost_is_no_death(start: Start) -> None:
    class LosesTwo(Gateway):
        lost = 2

    results = found(start(LosesTwo).url)
    assert [result.outcome for result in results] == [Outcome.PASS] * len(NEGATIVE)


def test_a_server_that_was_down_and_came_back_has_not_survived(start: Start) -> None:
    class Restarts(Gateway):
        lost = 10
        about_all = True

    results = found(start(Restarts).url, NEGATIVE[:1])
    (result,) = results
    assert result.outcome is Outcome.FAIL
    assert isinstance(result.cause, DidNotSurvive)
    assert result.cause.fresh_connection == WasDown("status 502")
    purposes = [exchange.purpose for exchange in result.exchanges]
    assert purposes[-2:] == [Purpose.LIVENESS, Purpose.CANARY_FRESH]


def test_a_model_that_is_away_for_a_while_on_a_living_server_has_survived(start: Start) -> None:
    class Reloads(Gateway):
        lost = 6

    assert {result.outcome for result in found(start(Reloads).url)} == {Outcome.PASS}


def test_a_server_that_stays_away_is_dead_as_a_whole(start: Start) -> None:
    class Dies(Gateway):
        lost = 10**6
        about_all = True

    first, *rest = found(start(Dies).url, [*NEGATIVE, *chosen("R1/unknown-model")])
    assert isinstance(first.cause, DidNotSurvive)
    assert isinstance(first.cause.fresh_connection, WrongStatus)
    for result in rest:
        assert result.cause == KilledBy(first.case.id, result.case.role)


class TestBusy:
    def test_a_server_that_limits_rates_and_keeps_its_word_passes(self, start: Start) -> None:
        class Limits(Behaviour):
            served = 0

            def handle(self, request: Request) -> Response:
                if request.target.endswith("/infer"):
                    self.served += 1
                    if self.served % 3 == 0:
                        return Response(429, (("Retry-After", "1"),), (b"slow down",))
                return super().handle(request)

        results = found(start(Limits).url, [*GOOD, *NEGATIVE])
        assert {result.outcome for result in results} == {Outcome.PASS}
        purposes = {e.purpose for result in results for e in result.exchanges}
        assert Purpose.RETRIED in purposes

    def test_one_that_asks_to_wait_for_ever_is_neither_wrong_nor_dead(self, start: Start) -> None:
        class Throttles(Behaviour):
            served = 0

            def handle(self, request: Request) -> Response:
                if request.target.endswith("/infer"):
                    self.served += 1
                    if self.served > 2:
                        fields = (("Retry-After", "Fri, 31 Dec 2999 23:59:59 GMT"),)
                        return Response(503, fields, (b"busy",))
                return super().handle(request)

        first, *rest = found(start(Throttles).url, [*GOOD, *NEGATIVE])
        assert first.outcome is Outcome.PASS
        assert {result.outcome for result in rest} == {Outcome.INCONCLUSIVE}
        busy = Unavailable(503, "Fri, 31 Dec 2999 23:59:59 GMT", "busy")
        assert {result.cause for result in rest} == {busy}
