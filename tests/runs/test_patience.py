"""A server that cannot serve just now is asked again, for a bounded time."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from support.connections import FakeConnection, instant_patience
from support.responses import exchange_of, http
from v2_conformance.runs.patience import liveness
from v2_conformance.wire.encode.deployment import Address
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending
from v2_conformance.wire.transport import Head, Request

GOOD = exchange_of(http(b"good"))
GATEWAY = exchange_of(http(b"", 502))
GONE = exchange_of(b"", Ending.REFUSED)
REQUEST = Request(Head("GET", "/"), (), (b"GET / HTTP/1.1\r\n\r\n",))


def busy(after: str) -> Exchange:
    return exchange_of(http(b"", 503, ("Retry-After", after)))


class Server(FakeConnection):
    """Answers as told, the last answer again and again; its time passes only in pauses."""

    def __init__(self, *answers: Exchange, limit_s: float = 10.0) -> None:
        super().__init__(*answers, repeats=True)
        self.patience, self.pauses = instant_patience(limit_s)

    def ask(self, *, unasked: bool = True) -> tuple[Exchange, bool]:
        return self.patience.exchange(self, REQUEST, unasked=unasked)


def test_a_gateway_that_lost_its_connection_is_asked_again_at_once() -> None:
    server = Server(GATEWAY, GATEWAY, GATEWAY, GOOD)
    assert server.ask(unasked=False) == (GOOD, True)
    assert (server.fresh, server.pauses) == ([False, True, True, True], [])


def test_a_gateway_that_gave_up_after_seconds_is_not_asked_again_at_once() -> None:
    late = replace(GATEWAY, duration_ms=15_000.0)
    server = Server(late, late, GOOD)
    assert server.ask(unasked=False) == (late, True)
    assert (len(server.fresh), server.pauses) == (1, [])
    assert server.ask() == (GOOD, True)
    assert (len(server.fresh), server.pauses) == (3, [0.05])


def test_a_server_that_does_not_ask_is_waited_for_a_second_if_that_is_wanted() -> None:
    server = Server(GATEWAY)
    assert server.ask() == (GATEWAY, True)
    assert 0.99 < sum(server.pauses) < 1.01
    other = Server(GATEWAY)
    assert other.ask(unasked=False) == (GATEWAY, True)
    assert (len(other.fresh), other.pauses) == (4, [])


@pytest.mark.parametrize(
    ("after", "pauses"),
    [("3", [3.0]), ("0", [0.05]), ("86400", [10.0]), ("9" * 400, [0.05]), ("soon", [0.05])],
)
def test_a_server_that_asks_to_wait_is_waited_for_within_bounds(
    after: str, pauses: list[float]
) -> None:
    server = Server(busy(after), GOOD)
    assert server.ask(unasked=False) == (GOOD, True)
    assert server.pauses == pauses


def test_waiting_for_one_answer_takes_no_longer_than_the_limit() -> None:
    server = Server(busy("0"), limit_s=2.0)
    last, retried = server.ask()
    assert retried
    assert last.response is not None
    assert sum(server.pauses) == pytest.approx(2.0)


def test_a_server_that_stays_unavailable_is_not_waited_for_again_and_again() -> None:
    server = Server(busy("5"))
    for _ in range(3):
        server.ask()
    waited = len(server.pauses)
    asked = len(server.fresh)
    server.ask()
    assert (len(server.pauses), len(server.fresh)) == (waited, asked + 1)


def test_a_server_that_keeps_its_word_is_waited_for_as_often_as_it_asks() -> None:
    server = Server(*[busy("5"), GOOD] * 20)
    assert [server.ask()[0] for _ in range(20)] == [GOOD] * 20


def test_a_server_that_goes_away_meanwhile_ends_the_wait() -> None:
    server = Server(GATEWAY, GONE)
    assert server.ask() == (GONE, True)


def test_whoever_waits_is_told_when_trying_again_at_once_did_not_help() -> None:
    told: list[int] = []
    server = Server(*[GATEWAY] * 6, GOOD)
    server.patience.exchange(
        server, REQUEST, unasked=True, at_loss=lambda: told.append(len(server.fresh))
    )
    assert told == [4]
    polite = Server(*[busy("1")] * 6, GOOD)
    polite.patience.exchange(polite, REQUEST, at_loss=lambda: told.append(0))
    assert told == [4]


@pytest.mark.parametrize(
    ("answers", "last"),
    [((GOOD,), GOOD), ((GATEWAY, GATEWAY, GOOD), GOOD), ((GATEWAY,), GATEWAY), ((GONE,), GONE)],
)
def test_liveness_is_asked_past_connections_that_a_gateway_lost(
    answers: tuple[Exchange, ...], last: Exchange
) -> None:
    server = Server(*answers)
    assert liveness(server, Address("host", "/prefix")) is last
    assert {request.head.target for request in server.requests} == {"/prefix/v2/health/live"}
    assert len(server.requests) <= 4
