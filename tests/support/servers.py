"""Servers that do what a test says, connections to them, and the reference server by hand."""

from __future__ import annotations

import contextlib
import http.client
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator

from support.responses import exchange_of
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Request as ReceivedRequest
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.wire.connection import Http1Connection
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending, Limits, Response
from v2_conformance.wire.sockets import SocketAddress
from v2_conformance.wire.transport import Head, Request

PATIENCE_S = 5.0  # how long a script waits for its client before the test fails


class Peer:
    """The server's end of one connection, as a script sees it."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._left = bytearray()
        self.requests: list[bytes] = []
        self.ended = threading.Event()

    def _more(self) -> bool:
        data = self._sock.recv(65536)
        self._left += data
        return bool(data)

    def _at_least(self, count: int) -> None:
        while len(self._left) < count:
            if not self._more():
                raise ConnectionError

    def _until(self, seam: bytes, start: int = 0) -> int:
        while seam not in self._left[start:]:
            if not self._more():
                raise ConnectionError
        return self._left.index(seam, start) + len(seam)

    def request(self) -> bytes:
        """The next whole request: its head and its body, chunked or counted."""
        end = self._until(b"\r\n\r\n")
        lines = bytes(self._left[: end - 4]).lower().split(b"\r\n")[1:]
        fields = {name: value for name, _, value in (line.partition(b":") for line in lines)}
        if b"transfer-encoding" in fields:
            size = -1
            while size:
                line = self._until(b"\r\n", end)
                size = int(self._left[end : line - 2], 16)
                end = line + size + 2
                self._at_least(end)
        else:
            end += int(fields.get(b"content-length", b"0"))
        request = self.exactly(end)
        self.requests.append(request)
        return request

    def exactly(self, count: int) -> bytes:
        """The next `count` bytes, whatever they are."""
        self._at_least(count)
        data = bytes(self._left[:count])
        del self._left[:count]
        return data

    def some(self) -> bytes:
        """What comes next, at least one byte."""
        self._at_least(1)
        return self.exactly(len(self._left))

    def head(self) -> None:
        """Read no further than to the end of the request's head."""
        self._until(b"\r\n\r\n")

    def send(self, data: bytes) -> None:
        """Send all of `data`."""
        self._sock.sendall(data)

    def end(self) -> None:
        """Say that nothing more comes."""
        self._sock.shutdown(socket.SHUT_WR)
        self.ended.set()

    def reset(self) -> None:
        """End the connection with a TCP reset, so that what was sent may be lost."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._sock.close()

    def until_closed(self) -> None:
        """Read until the client closes."""
        while self._more():
            self._left.clear()

    def until_closed_unread(self) -> None:
        """Wait until the client closes, and read nothing."""
        poll = select.poll()
        poll.register(self._sock, getattr(select, "POLLRDHUP", 0) | select.POLLHUP)
        poll.poll(PATIENCE_S * 1000)

    def left(self, within_s: float) -> bool:
        """Whether the client closes, or sends more, within so many seconds."""
        return bool(select.select([self._sock], [], [], within_s)[0])

    def forever(self, piece: bytes) -> None:
        """Send `piece` again and again until the client has gone, however slowly it reads."""
        self._sock.settimeout(None)
        while True:
            self._sock.sendall(piece)


Script = Callable[[Peer], object]


class Scripted:
    """A server on a free port: each connection follows the next script, the last one repeats."""

    def __init__(self, scripts: tuple[Script, ...], tls: ssl.SSLContext | None) -> None:
        self._scripts = scripts
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"
        self.peers: list[Peer] = []
        self.mistakes: list[BaseException] = []
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def requests(self) -> list[bytes]:
        """Every whole request that scripts have read, in the order of connections."""
        return [request for peer in self.peers for request in peer.requests]

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(sock)
            script = self._scripts[min(len(self._sockets), len(self._scripts)) - 1]
            thread = threading.Thread(target=self._serve, args=(sock, script))
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket, script: Script) -> None:
        try:
            sock.settimeout(PATIENCE_S)
            with self._tls.wrap_socket(sock, server_side=True) if self._tls else sock as inner:
                peer = Peer(inner)
                self.peers.append(peer)
                script(peer)
        except OSError:
            pass  # the client went away, which many of these tests are about
        except BaseException as error:
            self.mistakes.append(error)

    def die(self) -> None:
        """Be gone at once, like a process that is killed: the port and every connection."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Stop, and wait for every thread."""
        self.die()
        for thread in self._threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
        for sock in self._sockets:
            sock.close()


@contextlib.contextmanager
def serving(*scripts: Script, tls: ssl.SSLContext | None = None) -> Iterator[Scripted]:
    """A scripted server while the block runs; a script's own mistake fails the test."""
    server = Scripted(scripts, tls)
    try:
        yield server
    finally:
        server.close()
    assert not server.mistakes, server.mistakes


Step = bytes | threading.Event | Callable[[Peer], object]
"""Send these bytes, set this event, or do this with the peer (such as `Peer.request`)."""


GREET_AGAIN = b"\x16\x03\x03\x00\x04" + bytes(4)
"""A record of TLS without data, which a client reads past."""


def flooding(piece: bytes, times: int) -> Script:
    """A script: send `piece` so often, again and again, from the client's greeting on."""

    def script(peer: Peer) -> None:
        peer.some()
        peer.forever(piece * times)

    return script


def steps(*done: Step) -> Script:
    """A script: these steps, one after the other, and then the server closes the connection."""

    def script(peer: Peer) -> None:
        for step in done:
            if isinstance(step, bytes):
                peer.send(step)
            elif isinstance(step, threading.Event):
                step.set()
            else:
                step(peer)

    return script


def answering(*replies: bytes) -> Script:
    """A script: read a request, send a reply, for each reply; then wait for the client to go."""
    exchanges: list[Step] = [step for reply in replies for step in (Peer.request, reply)]
    return steps(*exchanges, Peer.until_closed)


def always(answer: bytes | Callable[[bytes], bytes | Script]) -> Script:
    """A script: answer every request, or follow the script that `answer` gives for one."""

    def script(peer: Peer) -> None:
        while True:
            request = peer.request()
            reply = answer(request) if callable(answer) else answer
            if not isinstance(reply, bytes):
                reply(peer)
                return
            peer.send(reply)

    return script


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


REQUEST = b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
PATIENT = Limits(connect_s=5, exchange_s=5)
SHORT = Limits(connect_s=5, exchange_s=0.1)
BIG = 16 * 1024 * 1024  # more than both sockets' buffers hold


@contextlib.contextmanager
def connected(
    server: Scripted, limits: Limits = PATIENT, tls: ssl.SSLContext | None = None
) -> Iterator[Http1Connection]:
    connection = Http1Connection(SocketAddress("127.0.0.1", server.port, tls), limits)
    try:
        yield connection
    finally:
        connection.close()


def request_of(*pieces: Buffer, pause_s: float = 0.0) -> Request:
    """A request of exactly these writes."""
    return Request(Head("POST", "/x"), (), pieces, pause_s)


def exchange(script: Script, limits: Limits = PATIENT, request: bytes = REQUEST) -> Exchange:
    """The exchange of one exchange; what was recorded of it must read the same way again."""
    with serving(script) as server, connected(server, limits) as connection:
        came = connection.exchange(request_of(request))
    assert bytes(came.request) == request
    assert exchange_of(bytes(came.received), came.ending).response == came.response
    return came


def response(came: Exchange) -> Response:
    assert came.ending == Ending.COMPLETE, came.detail
    assert came.response is not None
    return came.response


# The reference server, and its behavior without sockets


Start = Callable[[type[Behavior]], ReferenceServer]
"""The fixture `start`: a reference server with this behavior."""

Answer = tuple[int, dict[str, str], bytes]
"""Status, header fields with names in lower case, body."""


def read_answer(sock: socket.socket) -> Answer:
    response = http.client.HTTPResponse(sock)
    response.begin()
    body = response.read()
    headers = {name.lower(): value for name, value in response.getheaders()}
    response.close()
    return response.status, headers, body


def call(url: str, method: str, path: str) -> Answer:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
    finally:
        connection.close()


def served(raw: bytes) -> bytes:
    """The reference behavior's answer to a request with Content-Length."""
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    fields = [line.split(":", 1) for line in lines[1:]]
    request = ReceivedRequest(
        method=lines[0].split()[0],
        target=lines[0].split()[1],
        version="1.1",
        headers=tuple((name.lower(), value.strip()) for name, value in fields),
        head=head,
        body=memoryview(body),
    )
    behavior = Behavior()
    return b"".join(behavior.serialize(behavior.handle(request), keep_open=True))
