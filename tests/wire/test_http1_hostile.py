"""Whatever a server does, an exchange ends in time, in bounded memory, and says how; TLS."""

from __future__ import annotations

import ssl
import time

import pytest
import trustme

from support.responses import http, posting
from support.servers import (
    GREET_AGAIN,
    REQUEST,
    SHORT,
    Peer,
    Script,
    answering,
    connected,
    exchange,
    flooding,
    request_of,
    response,
    serving,
    steps,
)
from v2_conformance.wire.response import Ending, Limits
from v2_conformance.wire.response_reader import ResponseReader

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("start", "piece", "ending"),
    [
        (OK + b"\r\n", b"x" * 65536, Ending.TOO_LARGE),
        (OK, b"A: b\r\n" * 1000, Ending.TOO_LARGE),
        (OK, b"A" * 1000, Ending.TOO_LARGE),
        (OK, b" \r\n" * 1000, Ending.TOO_LARGE),
        (b"", b"\r\n" * 1000, Ending.MALFORMED),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", Ending.TOO_LARGE),
    ],
)
def test_what_has_no_end_is_cut_off(start: bytes, piece: bytes, ending: Ending) -> None:
    limits = Limits(exchange_s=5, response=1 << 20)
    came = exchange(steps(start, lambda peer: peer.forever(piece)), limits)
    assert came.ending is ending, came.detail
    assert len(came.received) <= (1 << 20) + (1 << 19)
    assert came.duration_ms < 2000


def test_a_server_that_drips_forever_is_a_time_out() -> None:
    came = exchange(steps(CHUNKED, lambda peer: peer.forever(b"1\r\nx\r\n")), SHORT)
    assert came.ending == Ending.TIMEOUT
    assert came.duration_ms < 1000


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


# TLS.


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


def test_what_no_known_authority_vouches_for_is_refused(
    trusting: ssl.SSLContext, tls_server: ssl.SSLContext
) -> None:
    unknown = ssl.create_default_context()
    for server_s, ours, words in (
        (tls_server, unknown, "certificate verify failed"),
        (None, trusting, ""),  # it does not speak TLS
    ):
        with (
            serving(steps(http()), tls=server_s) as server,
            connected(server, tls=ours) as connection,
        ):
            came = connection.exchange(request_of(REQUEST))
        assert came.ending == Ending.REFUSED
        assert words in came.detail


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
