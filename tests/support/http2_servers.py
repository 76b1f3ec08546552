"""Servers that speak HTTP/2: scripts over h2, for what a test says, and the reference server's
behaviour behind one."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded, StreamReset, WindowUpdated

from support.servers import PATIENT, Peer, Script, Scripted, serving
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request as ReceivedRequest
from v2_conformance.wire.http2.connection import Http2Connection
from v2_conformance.wire.http2.notation import write_request_head
from v2_conformance.wire.sockets import SocketAddress
from v2_conformance.wire.transcript import Limits, Transcript
from v2_conformance.wire.transport import Head, Parting, Request

Pairs = list[tuple[str, str]]
OK: Pairs = [(":status", "200"), ("content-type", "application/json")]
GET = Head("GET", "/x", (("Host", "h"),))


@dataclass
class Asked:
    """A request as it comes; `frames` are the lengths of its DATA frames."""

    stream: int
    fields: Pairs
    frames: list[int] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    whole: bool = False


class Http2Peer:
    """The server's end of one connection. What it sends is sent at once."""

    def __init__(self, peer: Peer, *, opens_windows: bool = True) -> None:
        self.peer = peer
        self.h2 = H2Connection(
            H2Configuration(
                client_side=False,
                header_encoding=None,
                validate_inbound_headers=True,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
            )
        )
        self._opens_windows = opens_windows
        self._asked: dict[int, Asked] = {}
        self.resets: list[int] = []
        self.h2.initiate_connection()
        self.flush()

    def flush(self) -> None:
        self.peer.send(self.h2.data_to_send())

    def step(self) -> None:
        """Take what comes next."""
        for event in self.h2.receive_data(self.peer.some()):
            if isinstance(event, RequestReceived):
                self._asked[event.stream_id] = Asked(
                    event.stream_id, [(n.decode(), v.decode()) for n, v in event.headers]
                )
            elif isinstance(event, DataReceived):
                asked = self._asked[event.stream_id]
                asked.body += event.data
                asked.frames.append(len(event.data))
                if self._opens_windows:
                    size = event.flow_controlled_length
                    self.h2.acknowledge_received_data(size, event.stream_id)
            elif isinstance(event, StreamEnded):
                self._asked[event.stream_id].whole = True
            elif isinstance(event, StreamReset):
                self.resets.append(int(event.error_code))
            else:
                assert not isinstance(event, WindowUpdated) or event.delta
        self.flush()

    def begun(self) -> Asked:
        """The next request as soon as its fields are there."""
        while not self._asked:
            self.step()
        return next(iter(self._asked.values()))

    def request(self) -> Asked:
        """The next whole request."""
        while not self.begun().whole:
            self.step()
        return self._asked.pop(self.begun().stream)

    def fields(self, asked: Asked, fields: Pairs, *, end: bool = False) -> None:
        self.h2.send_headers(asked.stream, fields, end_stream=end)
        self.flush()

    def data(self, asked: Asked, data: bytes, *, end: bool = False) -> None:
        """Send `data` as the client's windows allow."""
        view = memoryview(data)
        while True:
            window = self.h2.local_flow_control_window(asked.stream)
            size = min(window, self.h2.max_outbound_frame_size, len(view))
            if not size and len(view):
                self.step()
                continue
            part, view = view[:size], view[size:]
            self.h2.send_data(asked.stream, bytes(part), end_stream=end and not len(view))
            self.flush()
            if not len(view):
                return

    def answer(self, asked: Asked, body: bytes = b"{}", fields: Pairs | None = None) -> None:
        """A whole response with its length."""
        self.fields(asked, [*(fields or OK), ("content-length", str(len(body)))], end=not body)
        if body:
            self.data(asked, body, end=True)

    def until_closed(self) -> None:
        """Take what comes until the client goes."""
        with contextlib.suppress(ConnectionError):
            while True:
                self.step()


Http2Script = Callable[[Http2Peer], None]


def http2(script: Http2Script, *, opens_windows: bool = True) -> Script:
    """A script for `serving` whose connections speak HTTP/2."""
    return lambda peer: script(Http2Peer(peer, opens_windows=opens_windows))


@contextlib.contextmanager
def over_http2(
    server: Scripted, limits: Limits = PATIENT, tls: ssl.SSLContext | None = None
) -> Iterator[Http2Connection]:
    connection = Http2Connection(SocketAddress("127.0.0.1", server.port, tls), limits)
    try:
        yield connection
    finally:
        connection.close()


def http2_request(
    *pieces: bytes,
    head: Head | None = None,
    pause_s: float = 0.0,
    parting: Parting | None = None,
    claims: int | None = None,
) -> Request:
    """A request whose body leaves in these writes, the first of them with the head."""
    size = sum(map(len, pieces)) if claims is None else claims
    given = head or Head("POST", "/x", (("Host", "h"), ("Content-Length", str(size))))
    first, *rest = pieces or (b"",)
    writes = (write_request_head(given) + first, *rest)
    return Request(given, pieces, writes, pause_s, parting=parting)


def exchanged(
    script: Http2Script,
    request: Request | None = None,
    limits: Limits = PATIENT,
    *,
    opens_windows: bool = True,
) -> Transcript:
    """The transcript of one exchange with a server that follows the script."""
    with (
        serving(http2(script, opens_windows=opens_windows)) as server,
        over_http2(server, limits) as connection,
    ):
        return connection.exchange(request or http2_request(b"abc"))


def behaving(behaviour: Behaviour) -> Http2Script:
    """A script that answers every request as the reference server does."""

    def script(peer: Http2Peer) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                asked = peer.request()
                response = behaviour.handle(received(asked.fields, bytes(asked.body)))
                fields = [(":status", str(response.status))]
                fields += [(name.lower(), value) for name, value in response.headers]
                peer.answer(asked, b"".join(map(bytes, response.body)), fields)

    return script


def received(fields: Pairs, body: bytes) -> ReceivedRequest:
    """A request over HTTP/2 as the reference server reads one."""
    pseudo = {name: value for name, value in fields if name[0] == ":"}
    plain = tuple((name, value) for name, value in fields if name[0] != ":")
    method, target = pseudo[":method"], pseudo[":path"]
    return ReceivedRequest(method, target, "2", plain, b"", memoryview(body))
