"""HTTP/2: what leaves as frames, what is recorded of an exchange, and how it can end."""

from __future__ import annotations

import ssl

import pytest
import trustme
from hyperframe.frame import DataFrame, SettingsFrame

from support.http2_servers import GET, OK, Http2Peer, exchanged, http2, http2_request, over_http2
from support.servers import PATIENT, Peer, free_port, response, serving, steps
from v2_conformance.wire.http1.response import read_again
from v2_conformance.wire.http2.connection import Http2Connection, offer_http2
from v2_conformance.wire.http2.notation import FRAMES
from v2_conformance.wire.obstacle import Obstacle
from v2_conformance.wire.sockets import SocketAddress
from v2_conformance.wire.transcript import Ending
from v2_conformance.wire.transport import Head, Parting

BODY = bytes(range(256)) * 1024  # more than a window and many frames


def answers(peer: Http2Peer) -> None:
    while True:
        peer.answer(peer.request())


def test_a_request_is_fields_and_data_and_is_recorded_as_a_head_and_a_body() -> None:
    seen = []

    def script(peer: Http2Peer) -> None:
        seen.append(peer.request())
        peer.answer(seen[0], b'{"a":1}')
        peer.until_closed()

    head = Head("POST", "/v2/x", (("Host", "h:1"), ("X-Case", "é"), ("Content-Length", "3")))
    came = exchanged(script, http2_request(b"abc", head=head))
    assert dict(seen[0].fields) == {
        ":method": "POST",
        ":scheme": "http",
        ":path": "/v2/x",
        ":authority": "h:1",
        "x-case": "é",
        "content-length": "3",
    }
    assert seen[0].body == b"abc"
    assert bytes(came.request) == (
        "POST /v2/x HTTP/2\r\nhost: h:1\r\nx-case: é\r\ncontent-length: 3\r\n\r\nabc".encode()
    )
    assert bytes(came.received) == (
        b"HTTP/2 200 \r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n" + b'{"a":1}'
    )
    assert came.sent == len(came.request)
    assert (came.ending, came.reused, came.open) == (Ending.COMPLETE, False, True)
    again = read_again(came.received, came.ending, http2=True)
    assert again == came.response
    assert response(came).value("content-length") == "7"


def test_a_get_ends_with_its_fields() -> None:
    came = exchanged(answers, http2_request(head=GET))
    assert came.ending is Ending.COMPLETE
    assert bytes(came.request) == b"GET /x HTTP/2\r\nhost: h\r\n\r\n"


def test_large_bodies_go_both_ways_through_the_windows_of_both_sides() -> None:
    def script(peer: Http2Peer) -> None:
        asked = peer.request()
        assert max(asked.frames) <= 16384
        peer.answer(asked, bytes(asked.body) * 8)
        peer.until_closed()

    came = exchanged(script, http2_request(BODY))
    assert bytes(response(came).body) == BODY * 8
    assert came.sent == len(came.request)


def test_a_window_that_the_server_lowers_below_what_has_left_is_waited_for() -> None:
    def script(peer: Http2Peer) -> None:
        asked = peer.begun()
        while len(asked.body) < 65535:
            peer.step()
        peer.h2.update_settings({SettingsFrame.INITIAL_WINDOW_SIZE: 0})
        peer.h2.increment_flow_control_window(len(BODY))
        peer.flush()
        while peer.h2.remote_flow_control_window(asked.stream) >= 0:  # until it is acknowledged
            peer.step()
        peer.h2.update_settings({SettingsFrame.INITIAL_WINDOW_SIZE: len(BODY)})
        peer.flush()
        peer.answer(peer.request())
        peer.until_closed()

    came = exchanged(script, http2_request(BODY), opens_windows=False)
    assert (came.ending, came.sent) == (Ending.COMPLETE, len(came.request))


def test_the_pieces_of_a_body_are_frames_of_their_own() -> None:
    seen = []

    def script(peer: Http2Peer) -> None:
        seen.append(peer.request())
        peer.answer(seen[0])

    came = exchanged(script, http2_request(b"", b"abc", b"defgh", pause_s=0.005))
    assert seen[0].frames == [3, 5]
    assert came.pieces == (len(came.request) - 8, 3, 5)


def test_a_pause_is_not_cut_short_by_frames_that_are_no_answer() -> None:
    def script(peer: Http2Peer) -> None:
        asked = peer.begun()
        peer.h2.ping(b"12345678")
        peer.flush()
        peer.fields(asked, [(":status", "100")])
        peer.answer(peer.request())

    came = exchanged(script, http2_request(b"", b"abc", pause_s=4))
    assert came.ending is Ending.COMPLETE
    assert came.duration_s < 4
    assert bytes(came.received).startswith(b"HTTP/2 100 \r\n\r\nHTTP/2 200 \r\n")
    assert response(came).status == 200


def test_a_response_without_a_length_ends_with_its_stream_and_trailers_are_facts() -> None:
    def script(peer: Http2Peer) -> None:
        asked = peer.request()
        peer.fields(asked, OK)
        peer.data(asked, b"{}")
        peer.fields(asked, [("x-sum", "1"), ("x-odd", "\u00e9")], end=True)
        peer.until_closed()

    came = exchanged(script)
    assert response(came).framing == FRAMES
    assert bytes(response(came).body) == b"{}"
    assert came.http2 is not None
    assert came.http2.trailers == (("x-sum", "1"), ("x-odd", "\\xc3\\xa9"))


@pytest.mark.parametrize("sizes", [[1] * 3000, [1, 0, 2, 16384, 3], [9000, 9000, 1]])
def test_data_in_any_frames_is_one_body(sizes: list[int]) -> None:
    def script(peer: Http2Peer) -> None:
        asked = peer.request()
        peer.fields(asked, OK)
        pieces = [bytes((number % 251,)) * size for number, size in enumerate(sizes)]
        peer.peer.send(b"".join(DataFrame(asked.stream, piece).serialize() for piece in pieces))
        ended = DataFrame(asked.stream, b"z", pad_length=3, flags=["END_STREAM", "PADDED"])
        peer.peer.send(ended.serialize())
        peer.answer(peer.request())

    with serving(http2(script)) as server, over_http2(server) as connection:
        body = bytes(response(connection.exchange(http2_request(b"abc"))).body)
        assert body == b"".join(bytes((n % 251,)) * size for n, size in enumerate(sizes)) + b"z"
        again = connection.exchange(http2_request(b"abc"))
        assert (again.reused, again.ending) == (True, Ending.COMPLETE)


def test_a_connection_is_used_for_one_stream_after_the_other() -> None:
    with serving(http2(answers)) as server, over_http2(server) as connection:
        first, second = (connection.exchange(http2_request(b"abc")) for _ in range(2))
        assert (first.reused, second.reused) == (False, True)
        assert not connection.pending()
        third = connection.exchange(http2_request(b"abc"), fresh=True)
        assert not third.reused
        connection.open_ahead()
        fourth, fifth = (connection.exchange(http2_request(b"abc"), fresh=n > 0) for n in range(2))
        assert (fourth.reused, fifth.reused) == (True, False)
        assert len(server.peers) == 3


def test_an_early_answer_leaves_the_rest_unsent_and_the_connection_open() -> None:
    resets = []

    def script(peer: Http2Peer) -> None:
        peer.answer(peer.begun())
        while not peer.resets:
            peer.step()
        resets.extend(peer.resets)
        peer._asked.clear()
        peer.answer(peer.request())

    with serving(http2(script, opens_windows=False)) as server, over_http2(server) as connection:
        early = connection.exchange(http2_request(BODY * 8))
        assert early.ending is Ending.COMPLETE
        assert early.sent < len(early.request)
        assert early.open
        assert connection.exchange(http2_request(head=GET)).reused
    assert resets == [0]


def test_an_answer_and_a_reset_without_an_error_is_an_answer() -> None:
    def script(peer: Http2Peer) -> None:
        asked = peer.begun()
        peer.h2.send_headers(asked.stream, [*OK, ("content-length", "2")])
        peer.h2.send_data(asked.stream, b"{}", end_stream=True)
        peer.h2.reset_stream(asked.stream, 0)
        peer.flush()
        peer.until_closed()

    came = exchanged(script, http2_request(BODY), opens_windows=False)
    assert came.ending is Ending.COMPLETE
    assert bytes(response(came).body) == b"{}"


@pytest.mark.parametrize("code", [0, 2, 7, 99])
def test_a_reset_stream_is_an_ending_with_its_code(code: int) -> None:
    def script(peer: Http2Peer) -> None:
        asked = peer.request()
        peer.fields(asked, OK)
        peer.h2.reset_stream(asked.stream, code)
        peer.flush()
        peer.answer(peer.request())

    with serving(http2(script)) as server, over_http2(server) as connection:
        came = connection.exchange(http2_request(b"abc"))
        assert (came.ending, came.open) == (Ending.RESET, True)
        assert came.http2 is not None
        assert (came.http2.reset, came.http2.unprocessed) == (code, code == 7)
        assert came.response is None
        assert came.partial is not None
        assert connection.exchange(http2_request(b"abc")).reused


def goes_away(peer: Http2Peer, code: int, last: int) -> None:
    peer.peer.send(b"\0\0\x08\x07\0\0\0\0\0" + last.to_bytes(4, "big") + code.to_bytes(4, "big"))


def test_a_server_that_goes_away_gracefully_still_answers() -> None:
    def script(peer: Http2Peer) -> None:
        asked = peer.request()
        goes_away(peer, 0, asked.stream)
        peer.answer(asked)
        peer.until_closed()

    came = exchanged(script)
    assert (came.ending, came.open) == (Ending.COMPLETE, False)
    assert came.http2 is not None
    assert came.http2.goaway == 0


def test_a_server_that_goes_away_without_the_stream_has_done_nothing() -> None:
    def script(peer: Http2Peer) -> None:
        peer.request()
        goes_away(peer, 11, 0)
        peer.until_closed()

    came = exchanged(script)
    assert came.ending is Ending.CLOSED
    assert came.http2 is not None
    assert (came.http2.goaway, came.http2.unprocessed) == (11, True)
    assert "ENHANCE_YOUR_CALM (0xb)" in came.detail


def test_a_connection_that_the_server_ended_while_it_was_idle_is_not_open() -> None:
    def script(peer: Http2Peer) -> None:
        asked = peer.request()
        peer.answer(asked)
        goes_away(peer, 0, asked.stream)
        peer.peer.until_closed()

    with serving(http2(script), http2(answers)) as server, over_http2(server) as connection:
        connection.exchange(http2_request(b"abc"))
        while connection.open:  # until GOAWAY is there
            pass
        assert not connection.exchange(http2_request(b"abc")).reused


@pytest.mark.parametrize("how", [Parting.LEAVES, Parting.RESETS])
def test_a_client_that_leaves_has_not_ended_its_stream(how: Parting) -> None:
    came_to = []

    def script(peer: Http2Peer) -> None:
        try:
            peer.request()
        except OSError:
            came_to.append(bytes(peer.begun().body))
            raise

    request = http2_request(b"abc", parting=how, claims=1 << 40)
    came = exchanged(script, request)
    assert (came.ending, came.open) == (Ending.LEFT, False)
    assert came.sent == len(came.request)
    assert came_to in ([b"abc"], [])  # a reset can overtake what was sent


def test_no_server_is_a_connection_refused() -> None:
    connection = Http2Connection(SocketAddress("127.0.0.1", free_port()), PATIENT)
    came = connection.exchange(http2_request(b"abc"))
    assert (came.ending, came.sent) == (Ending.REFUSED, 0)
    assert came.http2 is not None


# TLS, and servers that speak something else.


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def contexts(authority: trustme.CA, *offered: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The server's, which offers these protocols, and the client's."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    if offered:
        server.set_alpn_protocols(list(offered))
    client = ssl.create_default_context()
    authority.configure_trust(client)
    offer_http2(client)
    return server, client


def test_over_tls_alpn_chooses_http2(authority: trustme.CA) -> None:
    server_tls, tls = contexts(authority, "http/1.1", "h2")
    with serving(http2(answers), tls=server_tls) as server, over_http2(server, tls=tls) as it:
        first, second = (it.exchange(http2_request(BODY)) for _ in range(2))
        assert first.ending is second.ending is Ending.COMPLETE
        assert second.reused


def test_server_without_http2_in_alpn_is_sent_nothing(authority: trustme.CA) -> None:
    server_tls, tls = contexts(authority)
    with serving(Peer.until_closed, tls=server_tls) as server, over_http2(server, tls=tls) as it:
        came = it.exchange(http2_request(b"abc"))
    assert (came.ending, came.sent) == (Ending.REFUSED, 0)
    assert came.obstacle is Obstacle.NO_HTTP2


@pytest.mark.parametrize(
    ("beginning", "obstacle"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", Obstacle.NO_HTTP2),
        (b"\x15\x03\x01\x00\x02\x02\x46\0\0\0\0", Obstacle.ONLY_TLS),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", None),
    ],
)
def test_other_protocol_is_told(beginning: bytes, obstacle: Obstacle | None) -> None:
    script = steps(Peer.some, beginning, Peer.until_closed)
    with serving(script) as server, over_http2(server) as connection:
        came = connection.exchange(http2_request(b"abc"))
    assert came.ending in (Ending.MALFORMED, Ending.TOO_LARGE)
    assert came.obstacle is obstacle
