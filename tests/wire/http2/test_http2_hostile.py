"""Whatever a server of HTTP/2 does, an exchange ends in time, in bounded memory, and says how."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from hpack import Encoder
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PushPromiseFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from support.http2_servers import OK, Http2Peer, exchanged, http2, http2_request, over_http2
from support.servers import BIG, SHORT, serving
from v2_conformance.wire.http2.exchange import Http2Exchange
from v2_conformance.wire.http2.session import Http2Session
from v2_conformance.wire.obstacle import Obstacle
from v2_conformance.wire.transcript import Ending, Limits

PAIRS = [(name.encode(), value.encode()) for name, value in OK]
SMALL = Limits(connect_s=5, exchange_s=20, response=1024 * 1024)


def sends(*frames: Frame | bytes) -> Callable[[Http2Peer], None]:
    """A server that sends these frames for an answer, and waits."""

    def script(peer: Http2Peer) -> None:
        peer.request()
        for frame in frames:
            peer.peer.send(frame if isinstance(frame, bytes) else frame.serialize())
        peer.peer.until_closed()

    return script


def forever(frame: Frame, *before: Frame) -> Callable[[Http2Peer], None]:
    """A server that sends one frame again and again."""

    def script(peer: Http2Peer) -> None:
        peer.request()
        for one in before:
            peer.peer.send(one.serialize())
        peer.peer.forever(frame.serialize() * 100)

    return script


def head(*more: tuple[bytes, bytes], flags: tuple[str, ...] = ("END_HEADERS",)) -> Frame:
    return HeadersFrame(1, Encoder().encode([*PAIRS, *more]), flags=list(flags))


def fields(*pairs: tuple[bytes, bytes]) -> Frame:
    return HeadersFrame(1, Encoder().encode(pairs), flags=["END_HEADERS"])


def padding() -> Frame:
    frame = DataFrame(1, b"", flags=["PADDED"])
    frame.pad_length = 255
    return frame


def bomb() -> Frame:
    """A head of some hundred bytes that means a thousand times as many."""
    encoder = Encoder()
    start = encoder.encode([*PAIRS, (b"x-bomb", b"x" * 3000)])
    again = encoder.encode([(b"x-bomb", b"x" * 3000)])
    return HeadersFrame(1, start + again * 1000, flags=["END_HEADERS"])


@pytest.mark.parametrize(
    "script",
    [
        forever(PingFrame(0, b"12345678")),
        forever(SettingsFrame(0)),
        forever(WindowUpdateFrame(0, 1), head()),
        forever(DataFrame(1, b""), head()),
        forever(padding(), head()),
        forever(fields((b":status", b"103"))),
        forever(ContinuationFrame(1, b"\x88" * 10), head(flags=())),
        forever(DataFrame(1, b"x" * 16384), head()),
    ],
    ids=["ping", "settings", "window", "empty-data", "padding", "interim", "continuation", "body"],
)
@pytest.mark.long
def test_a_flood_of_frames_is_cut_off(script: Callable[[Http2Peer], None]) -> None:
    # A busy machine takes long to read a mebibyte of small frames.
    came = exchanged(script, http2_request(b"abc"), replace(SMALL, exchange_s=90))
    assert came.ending in (Ending.TOO_LARGE, Ending.MALFORMED)
    assert not came.open
    assert len(came.received) < 2 * SMALL.response


@pytest.mark.parametrize(
    ("frame", "ending"),
    [
        (bomb(), Ending.TOO_LARGE),
        (HeadersFrame(1, b"\x80" * 20, flags=["END_HEADERS"]), Ending.MALFORMED),
        (b"\x10\0\0\x01\x04\0\0\0\x01", Ending.TOO_LARGE),
        (head((b"Upper", b"x")), Ending.MALFORMED),
        (head((b"x", b"a\r\nb: c")), Ending.MALFORMED),
        (head((b"connection", b"close")), Ending.MALFORMED),
        (fields((b"a", b"b")), Ending.MALFORMED),
        (fields((b":status", b"9x")), Ending.MALFORMED),
        (fields((b":status", b"101")), Ending.MALFORMED),
        (DataFrame(1, b"abc"), Ending.MALFORMED),
        (
            PushPromiseFrame(1, 2, Encoder().encode(PAIRS), flags=["END_HEADERS"]),
            Ending.MALFORMED,
        ),
        (WindowUpdateFrame(0, 0x7FFFFFFF), Ending.MALFORMED),
        (b"\0\0\x05\x06\0\0\0\0\x0012345", Ending.MALFORMED),
    ],
    ids=[
        "bomb", "index", "frame-size", "upper-case", "line-end", "connection-field", "no-status",
        "status", "switching", "data-first", "push", "window", "ping-size",
    ],
)  # fmt: skip
def test_what_breaks_http2_is_an_ending(frame: Frame | bytes, ending: Ending) -> None:
    came = exchanged(sends(frame))
    assert (came.ending, came.open) == (ending, False)
    assert bytes(came.received) == b""
    assert came.detail


REFUSED = fields((b":status", b"413"), (b"content-length", b"0"))
REFUSED.flags.add("END_STREAM")


@pytest.mark.parametrize(
    ("left", "ending", "code", "obstacle"),
    [
        ([SettingsFrame(0), REFUSED], Ending.COMPLETE, None, None),
        ([SettingsFrame(0), GoAwayFrame(0, 0, 11)], Ending.CLOSED, 11, None),
        ([SettingsFrame(0)], Ending.CLOSED, None, None),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", Ending.MALFORMED, None, Obstacle.NO_HTTP2),
    ],
    ids=["answer", "goaway", "nothing", "http1"],
)
def test_what_a_server_sent_before_it_closed_is_read_though_nothing_can_be_sent(
    left: list[Frame] | bytes, ending: Ending, code: int | None, obstacle: Obstacle | None
) -> None:
    ours, its = socket.socketpair()
    its.sendall(left if isinstance(left, bytes) else b"".join(one.serialize() for one in left))
    its.close()
    session = Http2Session(ours, SMALL.head)
    ours.setblocking(False)
    request = http2_request(b"abc")
    exchange = Http2Exchange(session, SMALL, time.perf_counter() + 20, 100)
    assert exchange.run(request, "http")[0] is ending
    assert (exchange.facts.goaway, exchange.obstacle, exchange.sent) == (code, obstacle, 0)
    assert exchange.received.startswith(b"HTTP/2 413" if ending is Ending.COMPLETE else b"")
    assert not session.usable
    ours.close()


def test_a_request_that_the_server_leaves_no_room_for_is_not_sent_and_the_detail_says_so() -> None:
    ours, its = socket.socketpair()
    its.sendall(SettingsFrame(0, {SettingsFrame.MAX_CONCURRENT_STREAMS: 0}).serialize())
    session = Http2Session(ours, SMALL.head)
    ours.setblocking(False)
    session.drain()
    exchange = Http2Exchange(session, SMALL, time.perf_counter() + 20, 100)
    ending, detail = exchange.run(http2_request(b"abc"), "http")
    assert (ending, exchange.sent) == (Ending.CLOSED, 0)
    assert "0" in detail
    ours.close()
    its.close()


@pytest.mark.parametrize("length", [b"1", b"3", b"x"])
def test_a_length_that_is_not_that_of_the_body_is_malformed(length: bytes) -> None:
    body = DataFrame(1, b"{}", flags=["END_STREAM"])
    came = exchanged(sends(head((b"content-length", length)), body))
    assert came.ending is Ending.MALFORMED


def test_a_server_that_never_answers_is_a_time_out() -> None:
    came = exchanged(sends(), http2_request(b"abc"), SHORT)
    assert came.ending is Ending.TIMEOUT
    assert came.duration_s < 2


def test_a_server_that_never_opens_its_window_is_a_time_out() -> None:
    def script(peer: Http2Peer) -> None:
        while True:
            peer.step()

    came = exchanged(script, http2_request(bytes(200_000)), SHORT, opens_windows=False)
    assert (came.ending, came.detail) == (Ending.TIMEOUT, "the server stopped reading the request")
    assert 0 < came.sent < len(came.request)


def test_a_server_that_never_reads_is_a_time_out() -> None:
    def script(peer: Http2Peer) -> None:
        peer.begun()
        peer.h2.increment_flow_control_window(2**30)
        peer.h2.increment_flow_control_window(2**30, 1)
        peer.flush()
        peer.peer.until_closed_unread()

    came = exchanged(script, http2_request(bytes(BIG)), SHORT, opens_windows=False)
    assert came.ending is Ending.TIMEOUT
    assert came.sent < len(came.request)


def test_a_server_that_drips_is_a_time_out() -> None:
    def script(peer: Http2Peer) -> None:
        asked = peer.request()
        peer.fields(asked, OK)
        while True:
            peer.peer.send(DataFrame(asked.stream, b"x").serialize())
            peer.peer.some() if peer.peer.left(within_s=0.01) else None

    came = exchanged(script, http2_request(b"abc"), Limits(connect_s=5, exchange_s=1))
    assert came.ending is Ending.TIMEOUT
    assert came.partial is not None


def test_a_connection_that_allows_no_stream_any_more_is_not_used() -> None:
    def script(peer: Http2Peer) -> None:
        peer.answer(peer.request())
        peer.peer.send(SettingsFrame(0, {SettingsFrame.MAX_CONCURRENT_STREAMS: 0}).serialize())
        peer.peer.until_closed()

    with serving(http2(script)) as server, over_http2(server) as connection:
        assert connection.exchange(http2_request(b"abc")).ending is Ending.COMPLETE
        while connection.open:  # until SETTINGS is there
            pass
        assert not connection.exchange(http2_request(b"abc")).reused
