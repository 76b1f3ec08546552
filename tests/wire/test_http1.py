"""One exchange over a real socket: sent exactly as given, and read exactly."""

from __future__ import annotations

import threading

import pytest

from support.responses import http
from support.servers import (
    BIG,
    PATIENT,
    REQUEST,
    SHORT,
    Peer,
    answering,
    connected,
    exchange,
    free_port,
    request_of,
    response,
    serving,
    steps,
)
from v2_conformance.wire.connection import Http1Connection
from v2_conformance.wire.response import Ending, Limits
from v2_conformance.wire.sockets import SocketAddress

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LARGE = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % BIG


def with_line(line: bytes) -> bytes:
    return REQUEST.replace(b"\r\n", b"\r\n" + line + b"\r\n", 1)


# Framings of a response.


def test_a_counted_response_is_whole_and_the_connection_stays() -> None:
    came = exchange(answering(http(b"body\r\n\r\nmore", 200, ("X-Any", "v"))))
    assert bytes(response(came).body) == b"body\r\n\r\nmore"
    assert (response(came).framing, response(came).status) == ("content-length", 200)
    assert response(came).value("x-ANY") == "v"
    assert (came.open, came.reused, came.sent) == (True, False, len(REQUEST))
    assert came.first_byte_ms is not None
    assert 0 <= came.first_byte_ms <= came.duration_ms


# Connections.


@pytest.mark.parametrize(
    ("request_", "stays"),
    [
        (with_line(b"connection:keep-alive ,\tCLOSE"), False),
        (with_line(b"Connection: x\r\nA: b\r\nConnection: close, te"), False),
        (REQUEST.replace(b"HTTP/1.1", b"HTTP/1.0", 1), False),
        (with_line(b"Connection: x-close, not-closed"), True),
        (with_line(b"X-Connection: close"), True),
        (b"\r\n" + REQUEST, True),
    ],
)
def test_a_request_that_asks_to_close_is_the_last_of_its_connection(
    request_: bytes, stays: bool
) -> None:
    # Some servers ignore that, and refuse what follows: no client may send anything then.
    with serving(answering(http(b"1"), http(b"2"))) as server, connected(server) as connection:
        assert connection.exchange(request_of(request_)).open is stays
        assert connection.open is stays


@pytest.mark.parametrize(("before", "fresh"), [(False, False), (True, False), (False, True)])
def test_a_kept_connection_is_used_again_unless_a_fresh_one_is_asked_for(
    before: bool, fresh: bool
) -> None:
    with serving(answering(http(b"1"), http(b"2"))) as server, connected(server) as connection:
        if before:
            connection.connect()
            assert connection.open
        first = connection.exchange(request_of(REQUEST))
        second = connection.exchange(request_of(REQUEST), fresh=fresh)
        bodies = [bytes(response(came).body) for came in (first, second)]
        assert bodies == [b"1", b"1" if fresh else b"2"]
        assert (first.reused, second.reused) == (False, not fresh)
        assert len(server.peers) == 1 + fresh


@pytest.mark.parametrize("connects", [True, False])
def test_a_refused_connection_is_said_to_be_refused(connects: bool) -> None:
    connection = Http1Connection(SocketAddress("127.0.0.1", free_port()), PATIENT)
    if connects:
        connection.connect()
    came = connection.exchange(request_of(REQUEST))
    assert (came.ending, came.sent, came.response) == (Ending.REFUSED, 0, None)
    assert "refused" in came.detail


def test_a_kept_connection_that_closes_under_the_request_is_closed_and_reused() -> None:
    script = steps(Peer.request, http(b"1"), Peer.request)
    with serving(script) as server, connected(server) as connection:
        connection.exchange(request_of(REQUEST))
        came = connection.exchange(request_of(REQUEST))
        again = connection.exchange(request_of(REQUEST))
    assert (came.ending, came.reused, bytes(came.received)) == (Ending.CLOSED, True, b"")
    assert came.closed_before_ms is not None
    assert again.closed_before_ms == came.closed_before_ms  # the one before may be dropped


@pytest.mark.parametrize(
    ("answer", "request_", "noted"),
    [
        (http(b"1"), REQUEST, True),
        (http(b"1", 200, ("Connection", "close")), REQUEST, False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n1", REQUEST, False),
        (http(b"1"), with_line(b"Connection: close"), False),
        (http(b"1"), REQUEST.replace(b"HTTP/1.1", b"HTTP/1.0"), False),
    ],
)
def test_a_close_that_neither_side_announced_is_noted_with_the_next_exchange(
    answer: bytes, request_: bytes, noted: bool
) -> None:
    once = steps(Peer.request, answer, Peer.end, Peer.until_closed)
    with serving(once) as server, connected(server) as connection:
        assert connection.exchange(request_of(request_)).closed_before_ms is None
        assert server.peers[0].ended.wait(5)
        assert not connection.open
        assert not connection.pending()
        after = connection.exchange(request_of(request_))
        assert (after.closed_before_ms is not None) is noted
        assert 0 <= (after.closed_before_ms or 0) < 5000
        assert (bytes(response(after).body), after.reused) == (b"1", False)


@pytest.mark.parametrize(
    ("surplus", "count"),
    [(b"xyz", 3), (b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n", 0)],
)
def test_stray_bytes_are_noted_with_the_next_exchange(surplus: bytes, count: int) -> None:
    read, ended = threading.Event(), threading.Event()
    script = steps(
        Peer.request, http(b"1"), lambda _: read.wait(5), surplus, ended, Peer.until_closed
    )
    replies = answering(http(b"2"), http(b"3"))
    with serving(script, replies) as server, connected(server) as connection:
        assert connection.exchange(request_of(REQUEST)).stray_before == 0
        read.set()
        assert ended.wait(5)
        assert connection.pending()
        connection.close()
        strays = [connection.exchange(request_of(REQUEST)).stray_before for _ in range(2)]
    assert strays == [count, 0]


# What is sent is exactly what was given.


@pytest.mark.parametrize("pause_s", [0.0, 0.001])
def test_slices_go_out_exactly_and_in_order(pause_s: float) -> None:
    pieces = [REQUEST[i : i + 7] for i in range(0, len(REQUEST), 7)]
    with serving(answering(http())) as server, connected(server) as connection:
        came = connection.exchange(request_of(*pieces, pause_s=pause_s))
        assert server.requests == [REQUEST]
    assert (bytes(came.request), came.sent) == (REQUEST, len(REQUEST))
    assert came.pieces == tuple(map(len, pieces))
    assert came.pause_ms == pause_s * 1000


def test_pauses_of_our_own_are_no_time_of_the_server() -> None:
    short = Limits(connect_s=5, exchange_s=0.4)
    pieces = REQUEST[:9], REQUEST[9:20], REQUEST[20:]
    with serving(answering(http())) as server, connected(server, short) as connection:
        assert connection.exchange(request_of(*pieces, pause_s=0.25)).ending is Ending.COMPLETE
    with serving(Peer.until_closed) as server, connected(server, SHORT) as connection:
        came = connection.exchange(request_of(REQUEST[:9], REQUEST[9:], pause_s=0.01))
    assert came.ending is Ending.TIMEOUT
    assert came.duration_ms < 2000


def test_a_request_larger_than_the_sockets_buffers_goes_out_whole() -> None:
    with serving(answering(http(b"ok"))) as server, connected(server) as connection:
        came = connection.exchange(request_of(LARGE, bytes(BIG)))
        assert came.sent == len(LARGE) + BIG == len(server.requests[0])
        assert response(came).body == b"ok"


def test_an_early_answer_ends_the_sending_of_a_large_request() -> None:
    script = steps(Peer.head, http(b"too large", 413), Peer.until_closed_unread)
    came = exchange(script, request=LARGE + bytes(BIG))
    assert response(came).status == 413
    assert came.sent < len(LARGE) + BIG
    assert not came.open


def test_an_early_answer_between_slices_is_kept() -> None:
    script = steps(http(b"early", 400), Peer.until_closed)
    with serving(script) as server, connected(server) as connection:
        came = connection.exchange(request_of(REQUEST[:9], REQUEST[9:], pause_s=2))
    assert response(came).status == 400
    assert came.duration_ms < 1000


@pytest.mark.parametrize(
    "error",
    [
        b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 413 Too Large\r\nContent-Length: 99\r\n\r\ncut off",
    ],
)
@pytest.mark.parametrize("size", [100, BIG])
def test_an_error_before_a_reset_is_a_refusal_however_the_reset_is_met(
    error: bytes, size: int
) -> None:
    head = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % size
    came = exchange(steps(Peer.head, error, Peer.reset), request=head + bytes(size))
    found = came.response or came.refusal
    assert found is not None, (came.ending, came.detail)
    assert found.status == int(error[9:12])
    assert (came.refusal is None) is (came.ending is Ending.COMPLETE)


def test_a_server_that_stops_reading_is_a_time_out() -> None:
    came = exchange(Peer.until_closed_unread, SHORT, LARGE + bytes(BIG))
    assert (came.ending, came.detail) == (Ending.TIMEOUT, "the server stopped reading the request")
    assert 0 < came.sent < BIG
