"""What several tests share: a scripted TCP server, HTTP replies, hand-made cases."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from v2_conformance.engine.target import Target
from v2_conformance.protocol.message import HEADER_LENGTH, dump_json
from v2_conformance.suite.cases import Case
from v2_conformance.wire.encode import Address, Binding, Prepared, prepare
from v2_conformance.wire.http1 import (
    COMPLETE,
    Connection,
    Endpoint,
    Limits,
    Response,
    ResponseReader,
    Transcript,
)

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
                while len(self._left) < end:
                    if not self._more():
                        raise ConnectionError
        else:
            end += int(fields.get(b"content-length", b"0"))
            while len(self._left) < end:
                if not self._more():
                    raise ConnectionError
        request = bytes(self._left[:end])
        del self._left[:end]
        self.requests.append(request)
        return request

    def exactly(self, count: int) -> bytes:
        """The next `count` bytes, whatever they are."""
        while len(self._left) < count:
            if not self._more():
                raise ConnectionError
        data = bytes(self._left[:count])
        del self._left[:count]
        return data

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
        """Send `piece` again and again until the client has gone."""
        while True:
            self._sock.sendall(piece)


Script = Callable[[Peer], None]


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

    def close(self) -> None:
        """Stop, and wait for every thread."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
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


def answering(*replies: bytes) -> Script:
    """A script: read a request, send a reply, for each reply; then wait for the client to go."""

    def script(peer: Peer) -> None:
        for reply in replies:
            peer.request()
            peer.send(reply)
        peer.until_closed()

    return script


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def http(body: bytes = b"", status: int = 200, *fields: tuple[str, object]) -> bytes:
    """A whole HTTP/1.1 response with Content-Length."""
    lines = [f"HTTP/1.1 {status} Any", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in fields]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def posting(body: bytes) -> bytes:
    """A request with a body."""
    return b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def v2(document: object, *blobs: bytes, status: int = 200, length: object = None) -> bytes:
    """A whole V2 response; the header length is sent when blobs are there, or `length` is."""
    head = document if isinstance(document, bytes) else dump_json(document)
    fields: list[tuple[str, object]] = [("Content-Type", "application/json")]
    if blobs or length is not None:
        fields = [("Content-Type", "application/octet-stream")]
        fields.append((HEADER_LENGTH, len(head) if length is None else length))
    return http(head + b"".join(blobs), status, *fields)


def transcript(received: bytes, ending: str = COMPLETE, detail: str = "") -> Transcript:
    """What an exchange that received these bytes leaves behind."""
    return Transcript(b"", 0, received, ending, detail)


def parsed(received: bytes) -> Response:
    """The response that these bytes are."""
    reader = ResponseReader(Limits())
    reader.feed(received)
    if not reader.done:
        reader.feed(b"")
    assert reader.done, reader.error
    return reader.response()


REQUEST = b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
PATIENT = Limits(connect_s=5, exchange_s=5)
SHORT = Limits(connect_s=5, exchange_s=0.1)
BIG = 16 * 1024 * 1024  # more than both sockets' buffers hold


@contextlib.contextmanager
def connected(
    server: Scripted, limits: Limits = PATIENT, tls: ssl.SSLContext | None = None
) -> Iterator[Connection]:
    connection = Connection(Endpoint("127.0.0.1", server.port, tls), limits)
    try:
        yield connection
    finally:
        connection.close()


def exchange(script: Script, limits: Limits = PATIENT, request: bytes = REQUEST) -> Transcript:
    """The transcript of one exchange; what was recorded of it must read the same way again."""
    with serving(script) as server, connected(server, limits) as connection:
        came = connection.exchange([request])
    assert bytes(came.request) == request
    read_again_is_the_same(came)
    return came


def read_again_is_the_same(came: Transcript) -> None:
    again = transcript(bytes(came.received), came.ending)
    assert (again.response is None) == (came.response is None)
    if came.response is not None:
        assert same(again.response) == same(came.response)


def same(response: Response | None) -> tuple[object, ...]:
    assert response is not None
    return (
        response.status,
        response.headers,
        bytes(response.body),
        response.framing,
        response.excess,
    )


def response(came: Transcript) -> Response:
    assert came.ending == COMPLETE, came.detail
    assert came.response is not None
    return came.response


ADDRESS = Address("host:1")


def make_case(
    expect: Mapping[str, Any] | None = None,
    *,
    model: str = "identity/INT32",
    requirement: str = "D1",
    level: str = "MUST",
    get: str = "",
    case_id: str = "",
    **request: Any,
) -> Case:
    """A case as the plan makes them; without `inputs` it sends the values 1, 2, 3 in binary."""
    request.setdefault("inputs", [{"shape": [3], "values": [1, 2, 3]}])
    return Case(
        id=case_id or f"{requirement}/made-by-hand",
        requirement=requirement,
        why="A case of the tests.",
        level=level,
        profile="binary",
        model="" if get else model,
        get=get,
        request={} if get else request,
        expect=expect or {"outcome": "success", "outputs": {"0": "binary"}},
        dangerous=False,
        canary="",
        together=1,
    )


def binding(role: str = "identity/INT32") -> Binding:
    """The contract's own names for `role`."""
    return Target("http://host:1").binding(role)


def prepared(case: Case, address: Address = ADDRESS) -> Prepared:
    """The request of `case`, for the contract's own names."""
    return prepare(case, address, binding(case.model) if case.model else None)


def sent(case: Case, address: Address = ADDRESS) -> tuple[bytes, bytes]:
    """Head and body of the request of `case`, as they go over the wire."""
    head, _, body = b"".join(prepared(case, address).pieces).partition(b"\r\n\r\n")
    return head, body
