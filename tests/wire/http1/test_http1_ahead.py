"""A request that is sent before anybody waits for its answer: exact, and timed as it comes."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from support.responses import http, posting
from support.servers import (
    BIG,
    REQUEST,
    Peer,
    answering,
    connected,
    request_of,
    response,
    serving,
    steps,
)
from v2_conformance.wire.transcript import Ending, Limits
from v2_conformance.wire.transport import Request

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux notes arrivals")

_AWAY_S = 0.3
_CLOCKS_S = 0.001


def _away() -> None:
    """Be busy with something else than the server."""
    until = time.perf_counter() + _AWAY_S
    while time.perf_counter() < until:
        pass


def test_the_server_has_the_request_before_anybody_waits_for_the_answer() -> None:
    got = threading.Event()

    script = steps(Peer.request, http(b"1"), Peer.request, got, http(b"2"), Peer.until_closed)
    with serving(script) as server, connected(server) as connection:
        connection.exchange(request_of(REQUEST))
        request = request_of(REQUEST)
        connection.begin(request)
        assert got.wait(5)
        assert connection.open
        assert not connection.pending()  # what waits is its answer
        came = connection.exchange(request)
        assert bytes(response(came).body) == b"2"
        assert (came.sent, came.reused, came.open, came.stray_before) == (
            len(REQUEST),
            True,
            True,
            0,
        )
        assert len(server.requests) == 2


def test_the_time_of_an_answer_that_is_read_late_is_the_servers() -> None:
    with serving(answering(http(b"1"), http(b"2"))) as server, connected(server) as connection:
        connection.exchange(request_of(REQUEST))
        request = request_of(REQUEST)
        connection.begin(request)
        _away()
        came = connection.exchange(request)
        assert bytes(response(came).body) == b"2"
        assert came.first_byte_s is not None
        assert 0 <= came.first_byte_s <= came.duration_s < _AWAY_S


def test_the_time_of_an_answer_that_comes_later_still_is_the_whole_one() -> None:
    waited_for = threading.Event()

    script = steps(
        Peer.request,
        http(b"1"),
        Peer.request,
        lambda _: waited_for.wait(5),
        http(b"2"),
        Peer.until_closed,
    )
    # The server has all its time once somebody waits, however long nobody did.
    limits = Limits(connect_s=5, exchange_s=_AWAY_S * 0.9)
    with serving(script) as server, connected(server, limits) as connection:
        connection.exchange(request_of(REQUEST))
        request = request_of(REQUEST)
        connection.begin(request)
        _away()
        waited_for.set()
        came = connection.exchange(request)
        assert bytes(response(came).body) == b"2"
        assert came.first_byte_s is not None
        assert came.first_byte_s >= _AWAY_S - _CLOCKS_S


@pytest.mark.parametrize("fresh", [False, True])
def test_unread_answer_is_not_that_of_another_request(fresh: bool) -> None:
    scripts = answering(http(b"1"), http(b"2")), answering(http(b"3"))
    with serving(*scripts) as server, connected(server) as connection:
        connection.exchange(request_of(REQUEST))
        begun = request_of(REQUEST)
        connection.begin(begun)
        came = connection.exchange(begun if fresh else request_of(REQUEST), fresh=fresh)
        assert bytes(response(came).body) == b"3"
        assert not came.reused
        assert len(server.peers) == 2


def test_a_connection_that_the_server_closes_meanwhile_is_noted_as_closed() -> None:
    script = steps(Peer.request, http(b"1"), Peer.request)
    with serving(script) as server, connected(server) as connection:
        connection.exchange(request_of(REQUEST))
        request = request_of(REQUEST)
        connection.begin(request)
        came = connection.exchange(request)
    assert (came.ending, came.reused, bytes(came.received)) == (Ending.CLOSED, True, b"")
    assert came.closed_before_s is not None


def test_connection_that_breaks_is_noted_as_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    reset = threading.Event()

    script = steps(Peer.request, http(b"1"), Peer.reset, reset)
    with serving(script) as server, connected(server) as connection:
        connection.exchange(request_of(REQUEST))
        assert reset.wait(5)
        # As if it broke between the look at the connection and the request.
        monkeypatch.setattr(type(connection), "_peek", lambda self: -1)
        request = request_of(REQUEST)
        connection.begin(request)
        came = connection.exchange(request)
    assert came.ending in (Ending.RESET, Ending.CLOSED)
    assert came.sent == 0
    assert not bytes(came.received)


@pytest.mark.parametrize(
    "request_",
    [request_of(REQUEST[:40], REQUEST[40:]), request_of(posting(bytes(BIG)))],
    ids=["in pieces", "long"],
)
def test_what_may_take_the_client_some_time_is_sent_when_somebody_waits(request_: Request) -> None:
    with serving(answering(http(b"1"), http(b"2"))) as server, connected(server) as connection:
        connection.exchange(request_of(REQUEST))
        connection.begin(request_)
        other = request_of(REQUEST)
        assert bytes(response(connection.exchange(other)).body) == b"2"  # nothing was in flight
        assert len(server.peers) == 1


def test_nothing_is_sent_ahead_where_nothing_is_open() -> None:
    with serving(answering(http(b"1"))) as server, connected(server) as connection:
        request = request_of(REQUEST)
        connection.begin(request)
        assert not server.peers
        assert not connection.exchange(request).reused
