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
LATE = replace(GATEWAY, duration_ms=15_000.0)
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


@pytest.mark.parametrize(
    ("answers", "unasked", "last", "tries", "pauses"),
    [
        # A gateway that lost its connection is asked again at once, a slow one is not.
        ([GATEWAY, GATEWAY, GATEWAY, GOOD], False, GOOD, 4, []),
        ([GATEWAY], False, GATEWAY, 4, []),
        ([LATE, LATE, GOOD], False, LATE, 1, []),
        ([LATE, GOOD], True, GOOD, 2, [0.05]),
        ([GATEWAY, GONE], True, GONE, 2, []),  # it went away meanwhile
        # One that asks to wait is waited for within bounds.
        ([busy("3"), GOOD], False, GOOD, 2, [3.0]),
        ([busy("0"), GOOD], False, GOOD, 2, [0.05]),
        ([busy("86400"), GOOD], False, GOOD, 2, [10.0]),
        ([busy("9" * 400), GOOD], False, GOOD, 2, [0.05]),
        ([busy("soon"), GOOD], False, GOOD, 2, [0.05]),
    ],
)
def test_an_unavailable_server_is_asked_again(
    answers: list[Exchange], unasked: bool, last: Exchange, tries: int, pauses: list[float]
) -> None:
    server = Server(*answers)
    assert server.ask(unasked=unasked) == (last, tries > 1 or last is LATE)
    assert server.fresh == [False, *[True] * (tries - 1)]
    assert server.pauses == pauses


@pytest.mark.parametrize(("answer", "limit_s"), [(GATEWAY, 1.0), (busy("0"), 2.0)])
def test_waiting_for_one_answer_takes_no_longer_than_the_limit(
    answer: Exchange, limit_s: float
) -> None:
    server = Server(answer, limit_s=2.0)
    assert server.ask() == (answer, True)
    assert sum(server.pauses) == pytest.approx(limit_s)


def test_a_server_is_waited_for_as_often_as_it_keeps_its_word() -> None:
    faithful = Server(*[busy("5"), GOOD] * 20)
    assert [faithful.ask()[0] for _ in range(20)] == [GOOD] * 20
    server = Server(busy("5"))
    for _ in range(3):
        server.ask()
    waited, asked = len(server.pauses), len(server.fresh)
    server.ask()
    assert (len(server.pauses), len(server.fresh)) == (waited, asked + 1)


@pytest.mark.parametrize(("answer", "told"), [(GATEWAY, [4]), (busy("1"), [])])
def test_whoever_waits_is_told_when_trying_again_at_once_did_not_help(
    answer: Exchange, told: list[int]
) -> None:
    server, found = Server(*[answer] * 6, GOOD), list[int]()
    server.patience.exchange(
        server, REQUEST, unasked=True, at_loss=lambda: found.append(len(server.fresh))
    )
    assert found == told


@pytest.mark.parametrize(
    ("answers", "last"),
    [((GATEWAY, GATEWAY, GOOD), GOOD), ((GATEWAY,), GATEWAY), ((GONE,), GONE)],
)
def test_liveness_is_asked_past_connections_that_a_gateway_lost(
    answers: tuple[Exchange, ...], last: Exchange
) -> None:
    server = Server(*answers)
    assert liveness(server, Address("host", "/prefix")) is last
    assert {request.head.target for request in server.requests} == {"/prefix/v2/health/live"}
    assert len(server.requests) <= 4
