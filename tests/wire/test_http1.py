"""Exchanges over real sockets: sent as given, read exactly, and ended in time, whatever comes."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from contextlib import ExitStack

import msgspec
import pytest
import trustme

from support.responses import http, posting
from support.servers import (
    BIG,
    GREET_AGAIN,
    PATIENT,
    REQUEST,
    SHORT,
    Peer,
    Script,
    answering,
    connected,
    exchange,
    flooding,
    free_port,
    request_of,
    response,
    serving,
    steps,
)
from v2_conformance.wire.connection import Http1Connection
from v2_conformance.wire.response import Ending, Limits
from v2_conformance.wire.response_reader import ResponseReader
from v2_conformance.wire.sockets import SocketAddress

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LARGE = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % BIG


def with_line(line: bytes) -> bytes:
    return REQUEST.replace(b"\r\n", b"\r\n" + line + b"\r\n", 1)


def test_a_counted_response_is_whole_and_the_connection_stays() -> None:
    came = exchange(answering(http(b"body\r\n\r\nmore", 200, ("X-Any", "v"))))
    assert bytes(response(came).body) == b"body\r\n\r\nmore"
    assert (response(came).framing, response(came).status) == ("content-length", 200)
    assert response(came).value("x-ANY") == "v"
    assert (came.open, came.reused, came.sent) == (True, False, len(REQUEST))
    assert came.first_byte_ms is not None
    assert 0 <= came.first_byte_ms <= came.duration_ms


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
        assert connection.exchange(request_of(request_)).open  # the server, which ignores it
        assert connection.open is stays
    late = steps(Peer.request, http(b"1"), lambda _: time.sleep(1.1))  # a second, as Envoy does
    with serving(late) as server, connected(server) as connection:
        assert connection.exchange(request_of(request_)).open is stays


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


def test_the_time_of_a_request_bounds_its_connection_too() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, ExitStack() as stack:
        for _ in range(3):
            waits = stack.enter_context(socket.socket())
            waits.setblocking(False)
            waits.connect_ex(full.getsockname())
        connection = Http1Connection(SocketAddress(*full.getsockname()), PATIENT)
        came = connection.exchange(msgspec.structs.replace(request_of(REQUEST), limit_s=0.2))
    assert (came.ending, came.sent, came.shortened_ms) == (Ending.TIMEOUT, 0, 200)
    assert 200 <= came.duration_ms < 5000


def test_bytes_that_come_are_given_their_time() -> None:
    answer = http(b"1")
    script = steps(Peer.request, answer[:-1], lambda peer: peer.left(within_s=0.4), answer[-1:])
    slow = msgspec.structs.replace(request_of(REQUEST), limit_s=0.2, rate=1.0)
    with serving(script) as server, connected(server) as connection:
        came = connection.exchange(slow)
    assert (came.ending, came.shortened_ms) == (Ending.COMPLETE, 200)


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


# Whatever a server does, an exchange ends in time, in bounded memory, and says how.


@pytest.mark.parametrize(
    ("start", "piece", "ending"),
    [
        (OK + b"\r\n", b"x" * 65536, Ending.TOO_LARGE),
        (OK, b"A: b\r\n" * 1000, Ending.TOO_LARGE),
        (OK, b"A" * 1000, Ending.TOO_LARGE),
        (OK, b" \r\n" * 1000, Ending.TOO_LARGE),
        (b"", b"\r\n" * 1000, Ending.MALFORMED),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", Ending.TOO_LARGE),
        (CHUNKED, b"1\r\nx\r\n", Ending.TOO_LARGE),
    ],
)
def test_what_has_no_end_is_cut_off(start: bytes, piece: bytes, ending: Ending) -> None:
    limits = Limits(exchange_s=5, response=1 << 20)
    came = exchange(steps(start, lambda peer: peer.forever(piece)), limits)
    assert came.ending is ending, came.detail
    assert len(came.received) <= (1 << 20) + (1 << 19)


@pytest.mark.parametrize(("more", "ending"), [(-100, Ending.COMPLETE), (1 << 20, Ending.TOO_LARGE)])
def test_a_response_may_be_as_long_as_any_json_of_what_was_sent(more: int, ending: Ending) -> None:
    request = posting(bytes(50_000))
    most = Limits().response_to(len(request))
    came = exchange(steps(Peer.request, http(bytes(most + more))), request=request)
    assert came.ending is ending
    assert len(came.received) <= most + (1 << 19)


@pytest.mark.parametrize(
    ("raw", "has_head"),
    [
        (b"", False),
        (OK + b"Content-Le", False),
        (OK + b"Content-Length: 5\r\n\r\nabcd", True),
        (CHUNKED + b"2\r\nab\r\n0\r\n", True),
    ],
)
def test_a_response_that_is_cut_off_is_closed_not_malformed(raw: bytes, has_head: bool) -> None:
    came = exchange(steps(Peer.request, raw))
    assert (came.ending, came.response) == (Ending.CLOSED, None)
    assert (came.partial is not None) == has_head


def test_whole_response_when_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    later = 0.0

    def clock() -> float:
        return perf_counter() + later

    def feed(reader: ResponseReader, data: bytes) -> None:
        nonlocal later
        read(reader, data)
        later = 60.0

    perf_counter, read = time.perf_counter, ResponseReader.feed
    monkeypatch.setattr(time, "perf_counter", clock)
    monkeypatch.setattr(ResponseReader, "feed", feed)
    came = exchange(answering(http(b"late")))
    assert (came.ending, bytes(response(came).body)) == (Ending.COMPLETE, b"late")
    later = 0.0
    assert exchange(answering(http(b"late")[:-1])).ending == Ending.TIMEOUT


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def tls_server(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.fixture
def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def test_tls_carries_large_messages(trusting: ssl.SSLContext, tls_server: ssl.SSLContext) -> None:
    large = posting(bytes(1 << 20))
    replies = answering(http(b"x" * (1 << 20)), http(b"2"))
    with serving(replies, tls=tls_server) as server, connected(server, tls=trusting) as connection:
        first = connection.exchange(request_of(large))
        second = connection.exchange(request_of(REQUEST))
        assert len(response(first).body) == 1 << 20
        assert (bytes(response(second).body), second.reused) == (b"2", True)
        assert server.requests == [large, REQUEST]


def test_closed_tls_is_noticed(trusting: ssl.SSLContext, tls_server: ssl.SSLContext) -> None:
    once = steps(Peer.request, http(b"1"), Peer.end, Peer.until_closed)
    with serving(once, tls=tls_server) as server, connected(server, tls=trusting) as connection:
        assert connection.exchange(request_of(REQUEST)).ending == Ending.COMPLETE
        assert server.peers[0].ended.wait(5)
        assert not connection.open
        assert not connection.exchange(request_of(REQUEST)).reused


ENDLESS_HANDSHAKES = {
    "nothing": Peer.until_closed,
    "requests to greet again": flooding(GREET_AGAIN, 20_000),
    "warnings": flooding(b"\x15\x03\x03\x00\x02\x01\x5a", 20_000),
    "records without content": flooding(b"\x16\x03\x03\x00\x00", 20_000),
    "changes of the cipher": flooding(b"\x14\x03\x03\x00\x01\x01", 20_000),
    "a greeting that never ends": flooding(b"\x16\x03\x03\x40\x00\x02\xff\xff\xff", 1),
}


@pytest.mark.parametrize("script", ENDLESS_HANDSHAKES.values(), ids=ENDLESS_HANDSHAKES)
def test_a_handshake_that_never_ends_is_bounded(script: Script, trusting: ssl.SSLContext) -> None:
    limits = Limits(connect_s=0.1, exchange_s=5)
    with serving(script) as server, connected(server, limits, trusting) as connection:
        started = time.perf_counter()
        came = connection.exchange(request_of(REQUEST))
        assert came.ending == Ending.TIMEOUT or came.hint or came.detail.startswith("TLS")
        assert time.perf_counter() - started < 3


def test_tickets_without_end_hold_no_exchange(
    trusting: ssl.SSLContext, tls_server: ssl.SSLContext
) -> None:
    tls_server.num_tickets = 50_000_000
    limits = Limits(connect_s=5, exchange_s=0.3)
    with (
        serving(answering(http()), tls=tls_server) as server,
        connected(server, limits, trusting) as connection,
    ):
        started = time.perf_counter()
        assert connection.exchange(request_of(REQUEST)).ending == Ending.TIMEOUT
        assert time.perf_counter() - started < 3
