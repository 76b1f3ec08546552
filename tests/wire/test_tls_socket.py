"""TLS over a socket that never blocks."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import sys
import threading

import pytest
import trustme

from v2_conformance.wire.tls import TlsSocket

ANSWER = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.skipif(sys.platform != "linux", reason="others drop what came before a reset")
def test_what_a_server_sent_before_it_closed_is_read_though_nothing_can_be_sent() -> None:
    authority = trustme.CA()
    context = ssl.create_default_context()
    authority.configure_trust(context)
    listening = socket.create_server(("127.0.0.1", 0))
    client = TlsSocket(socket.create_connection(listening.getsockname()), context, "localhost")
    raw, _ = listening.accept()
    server = _handshaken(client, raw, authority)
    assert client.send(b"POST /v2/models/m/infer HTTP/1.1\r\n")
    assert client.send(b"Content-Length: 100000\r\n\r\n")
    server.recv(1)
    server.send(ANSWER)
    server.close()  # with a part of the request unread, which resets the connection
    listening.close()
    poll = select.poll()
    poll.register(client, select.POLLHUP)
    assert poll.poll(10_000)
    with contextlib.suppress(OSError):
        for _ in range(3):
            client.send(bytes(1000))
    assert client.recv(1000) == ANSWER
    client.close()


def test_a_long_greeting_leaves_once_there_is_room() -> None:
    authority = trustme.CA()
    context = ssl.create_default_context()
    authority.configure_trust(context)
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(served)
    ours, its = socket.socketpair()
    its.settimeout(10)
    ours.setblocking(False)
    before, full = 0, threading.Event()
    for size in (4096, 1):
        with contextlib.suppress(BlockingIOError):
            while True:
                before += ours.send(bytes(size))

    class Client(TlsSocket):
        def _flush(self) -> bool:
            done = super()._flush()
            if not done:
                full.set()
            return done

    client = Client(ours, context, "localhost")
    agreed: list[str | None] = []

    def serve() -> None:
        assert full.wait(10)
        left = before
        while left:
            left -= len(its.recv(left))
        with contextlib.suppress(OSError), served.wrap_socket(its, server_side=True) as server:
            agreed.append(server.version())

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        client.handshake(10)
    finally:
        client.close()
        thread.join()
        its.close()
    assert agreed == ["TLSv1.3"]


def _handshaken(client: TlsSocket, raw: socket.socket, authority: trustme.CA) -> ssl.SSLSocket:
    """Return the server's end, after both have agreed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    raw.setblocking(False)
    server = context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)
    for _ in range(100):
        with contextlib.suppress(ssl.SSLWantReadError, TimeoutError):
            client.handshake(0.05)
            server.do_handshake()
            break
        with contextlib.suppress(ssl.SSLWantReadError):
            server.do_handshake()
    server.setblocking(True)
    return server
