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

# Hostile and broken servers: every ending comes in time and in bounded memory.


def test_a_server_that_drips_forever_is_a_time_out() -> None:
    script = steps(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        lambda peer: peer.forever(b"1\r\nx\r\n"),
    )
    came = exchange(script, SHORT)
    assert came.ending == Ending.TIMEOUT
    assert came.duration_ms < 1000


def test_an_endless_body_is_cut_off() -> None:
    script = steps(b"HTTP/1.1 200 OK\r\n\r\n", lambda peer: peer.forever(b"x" * 65536))
    came = exchange(script, Limits(exchange_s=5, response=1 << 20))
    assert came.ending == Ending.TOO_LARGE
    assert (1 << 20) < len(came.received) <= (1 << 20) + (1 << 19)


@pytest.mark.parametrize("request_size", [100, 100_000])
def test_a_response_may_be_as_long_as_any_json_of_what_was_sent(request_size: int) -> None:
    request = posting(bytes(request_size))
    most = Limits().response_to(len(request))
    assert most >= 32 * request_size + (1 << 20)
    for size, ending in ((most - 100, Ending.COMPLETE), (most + (1 << 20), Ending.TOO_LARGE)):
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size

        def script(peer: Peer, answer: bytes = head + bytes(size)) -> None:
            peer.request()
            peer.send(answer)

        came = exchange(script, request=request)
        assert came.ending == ending
        assert len(came.received) <= most + (1 << 19)


@pytest.mark.parametrize("line", [b"A: b\r\n", b"A", b" \r\n", b"\r\n"])
def test_endless_headers_are_too_large(line: bytes) -> None:
    script = steps(
        b"HTTP/1.1 200 OK\r\n" if line != b"\r\n" else b"", lambda peer: peer.forever(line * 1000)
    )
    came = exchange(script)
    assert came.ending in (Ending.TOO_LARGE, Ending.MALFORMED)
    assert came.ending == Ending.TOO_LARGE or line in (b" \r\n", b"\r\n")
    assert came.duration_ms < 2000


def test_a_flood_of_informational_responses_is_cut_off() -> None:
    came = exchange(steps(lambda peer: peer.forever(b"HTTP/1.1 100 Continue\r\n\r\n")))
    assert came.ending == Ending.TOO_LARGE
    assert "informational" in came.detail


@pytest.mark.parametrize(
    "garbage",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"\x16\x03\x01\x00\x05hello\r\n\r\n",
        b"closed HTTP\r\n\r\n",
        b"HTTP/1.1 closed\r\n\r\n",
        b"HTTP/1.1 20x OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ],
)
@pytest.mark.parametrize("closes", [True, False])
def test_garbage_is_malformed_closed_or_not(garbage: bytes, closes: bool) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.send(garbage)
        if not closes:
            peer.until_closed()

    came = exchange(script)
    assert came.ending == Ending.MALFORMED
    assert came.response is None
    assert bytes(came.received) == garbage


@pytest.mark.parametrize(
    ("raw", "has_head"),
    [
        (b"", False),
        (b"HT", False),
        (b"HTTP/1.1 200 OK\r\nContent-Le", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcd", True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n", True),
    ],
)
def test_a_response_that_is_cut_off_is_closed_not_malformed(raw: bytes, has_head: bool) -> None:
    came = exchange(steps(Peer.request, raw))
    assert came.ending == Ending.CLOSED
    assert came.response is None
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


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def test_tls_carries_large_messages(authority: trustme.CA, tls_server: ssl.SSLContext) -> None:
    size = 1 << 20
    head = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % size
    replies = answering(http(b"x" * size), http(b"2"))
    with (
        serving(replies, tls=tls_server) as server,
        connected(server, tls=trusting(authority)) as connection,
    ):
        first = connection.exchange(request_of(head, bytes(size)))
        second = connection.exchange(request_of(REQUEST))
        assert len(response(first).body) == size
        assert (bytes(response(second).body), second.reused) == (b"2", True)
        assert [len(request) for request in server.requests] == [len(head) + size, len(REQUEST)]


def test_closed_tls_is_noticed(authority: trustme.CA, tls_server: ssl.SSLContext) -> None:
    once = steps(Peer.request, http(b"1"), Peer.end, Peer.until_closed)
    with (
        serving(once, tls=tls_server) as server,
        connected(server, tls=trusting(authority)) as connection,
    ):
        assert connection.exchange(request_of(REQUEST)).ending == Ending.COMPLETE
        assert server.peers[0].ended.wait(5)
        assert not connection.open
        assert not connection.exchange(request_of(REQUEST)).reused


def test_a_certificate_of_an_unknown_authority_is_refused(tls_server: ssl.SSLContext) -> None:
    with (
        serving(answering(http()), tls=tls_server) as server,
        connected(server, tls=ssl.create_default_context()) as connection,
    ):
        came = connection.exchange(request_of(REQUEST))
    assert came.ending == Ending.REFUSED
    assert "certificate verify failed" in came.detail


def test_tls_to_a_server_without_tls_is_refused(authority: trustme.CA) -> None:
    with serving(steps(http())) as server, connected(server, tls=trusting(authority)) as connection:
        assert connection.exchange(request_of(REQUEST)).ending == Ending.REFUSED


ENDLESS_HANDSHAKES = {
    "nothing": Peer.until_closed,
    "requests to greet again": flooding(GREET_AGAIN, 20_000),
    "warnings": flooding(b"\x15\x03\x03\x00\x02\x01\x5a", 20_000),
    "records without content": flooding(b"\x16\x03\x03\x00\x00", 20_000),
    "changes of the cipher": flooding(b"\x14\x03\x03\x00\x01\x01", 20_000),
    "a greeting that never ends": flooding(b"\x16\x03\x03\x40\x00\x02\xff\xff\xff", 1),
}


@pytest.mark.parametrize("script", ENDLESS_HANDSHAKES.values(), ids=ENDLESS_HANDSHAKES)
def test_a_handshake_that_never_ends_is_bounded(script: Script, authority: trustme.CA) -> None:
    limits = Limits(connect_s=0.1, exchange_s=5)
    with (
        serving(script) as server,
        connected(server, limits, trusting(authority)) as connection,
    ):
        started = time.perf_counter()
        came = connection.exchange(request_of(REQUEST))
        assert came.ending == Ending.TIMEOUT or came.hint or came.detail.startswith("TLS")
        assert time.perf_counter() - started < 3


def test_tickets_without_end_hold_no_exchange(
    authority: trustme.CA, tls_server: ssl.SSLContext
) -> None:
    tls_server.num_tickets = 50_000_000
    limits = Limits(connect_s=5, exchange_s=0.3)
    with (
        serving(answering(http()), tls=tls_server) as server,
        connected(server, limits, trusting(authority)) as connection,
    ):
        started = time.perf_counter()
        assert connection.exchange(request_of(REQUEST)).ending == Ending.TIMEOUT
        assert time.perf_counter() - started < 3
