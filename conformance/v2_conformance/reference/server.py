"""The embedded reference server: a real HTTP/1.1 server on threads, in this process.

Requests are parsed by h11; bodies with a Content-Length are then received straight into place, so
that a large one is not copied again. Responses are written by hand, so that a fault can break them.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import h11
import numpy as np

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.behavior import IDLE_SECONDS, Behavior
from v2_conformance.reference.http_messages import Breach, Rejected, Request, Response

MAX_BODY = 2**33

_HOST = "127.0.0.1"
_MAX_HEAD = 2**16
_RECEIVE = 2**16
_LINGER_BYTES = 2**20
_LINGER_SECONDS = 1.0
_NO_LINGER = struct.pack("ii", 1, 0)
_STOP_SECONDS = 2.0


class ReferenceServer:
    """Serves the models of the contract over HTTP/1.1 until stopped. Also a context manager.

    `behavior` makes what it does, given the profiles. Port 0 picks a free port. Every start()
    begins with fresh state.
    """

    def __init__(
        self,
        behavior: Callable[[Collection[str]], Behavior] = Behavior,
        *,
        port: int = 0,
        profiles: Collection[str] = SERVER_PROFILES,
    ) -> None:
        self._make = behavior
        self.profiles = tuple(profiles)
        self._requested_port = port
        self.port = port  # any free one for 0, once the server is started
        self._behavior = self._make(self.profiles)
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._open: dict[socket.socket, threading.Thread] = {}
        self._acceptor: threading.Thread | None = None
        self._waker: socket.socket | None = None

    @property
    def url(self) -> str:
        """The server's base URL without a trailing slash. Valid once the server is started."""
        return f"http://{_HOST}:{self.port}"

    def __enter__(self) -> ReferenceServer:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen, and serve on threads. Once this returns, clients can connect. Raises OSError."""
        if self._acceptor is not None:
            raise RuntimeError("the reference server is already running")
        self._behavior = self._make(self.profiles)
        listener = socket.create_server((_HOST, self._requested_port), backlog=128)
        self.port = listener.getsockname()[1]
        waiting, self._waker = socket.socketpair()
        self._acceptor = threading.Thread(
            target=self._accept, args=(listener, waiting), daemon=True
        )
        self._acceptor.start()

    def stop(self) -> None:
        """Stop listening and close every open connection. Does nothing if not running."""
        if self._acceptor is None:
            return
        self._stop_listening()
        with self._lock:
            connections = list(self._open.items())
            for sock, _ in connections:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        for _, thread in connections:
            thread.join(_STOP_SECONDS)
        self._acceptor = None

    def wait(self) -> None:
        """Block until the server no longer accepts connections."""
        if self._acceptor is not None:
            self._acceptor.join()

    def _stop_listening(self) -> None:
        with self._lock:
            waker, self._waker = self._waker, None
        if waker is not None:
            waker.close()
        if self._acceptor is not None:
            self._acceptor.join(_STOP_SECONDS)

    def _accept(self, listener: socket.socket, waiting: socket.socket) -> None:
        # Another thread cannot end a blocked accept() portably. So this waits for the listener and
        # for one end of a socket pair, and closing the other end wakes it.
        with listener, waiting, selectors.DefaultSelector() as selector:
            listener.setblocking(False)
            selector.register(listener, selectors.EVENT_READ)
            selector.register(waiting, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select()}
                if waiting in ready:
                    return
                try:
                    sock, _ = listener.accept()
                except OSError:  # the client is already gone, or no descriptors are left
                    continue
                thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
                with self._lock:
                    self._open[sock] = thread
                thread.start()

    def _serve(self, sock: socket.socket) -> None:
        turn = self._turn if self._behavior.serves_one_at_a_time() else contextlib.nullcontext()
        try:
            with sock, contextlib.suppress(OSError), turn:
                sock.setblocking(True)
                sock.settimeout(IDLE_SECONDS)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                ServedConnection(sock, self._behavior, self._stop_listening).serve()
        finally:
            with self._lock:
                self._open.pop(sock, None)


class ServedConnection:
    """One accepted connection: one request after another, until either side closes it."""

    def __init__(
        self, sock: socket.socket, behavior: Behavior, stop_listening: Callable[[], None]
    ) -> None:
        self._sock = sock
        self._behavior = behavior
        self._stop_listening = stop_listening
        self._left: Breach | None = None  # where the client said that nothing more comes
        self._pending = b""  # received after the request that is being served
        self._served = False

    def serve(self) -> None:
        """Serve until the connection ends. Raises OSError if the client is gone or idle."""
        try:
            while self._serve_one():
                pass
        except TimeoutError:
            raise
        except OSError:
            self._broken_off(Breach.RESET)
            raise

    def _broken_off(self, breach: Breach) -> None:
        self._behavior.broken_off(breach)
        if not self._behavior.listening():
            self._stop_listening()

    def _serve_one(self) -> bool:
        behavior = self._behavior
        try:
            request = self._receive()
        except h11.RemoteProtocolError as error:
            self._broken_off(self._left or Breach.FRAMING)
            rejection = Rejected(f"not HTTP/1.1: {error}", error.error_status_hint)
            return self._refuse(behavior.http_error(rejection))
        except Rejected as rejection:
            return self._refuse(behavior.rejection_response(rejection))
        if request is None:
            return False
        response = behavior.finish(request, behavior.handle(request))
        keep_open = behavior.keeps_open(request, response)
        with_body = behavior.answers_with_body(request, response)
        listening = behavior.listening()
        if not listening:
            self._stop_listening()  # first: a client that has the response finds the port closed
        interim = behavior.interim_responses(request)
        pieces = behavior.serialize(response, keep_open=keep_open, with_body=with_body)
        self._send([interim, *pieces] if interim else pieces)
        self._served = True
        self._pending = behavior.left_on_connection(request, response) + self._pending
        return keep_open and listening

    def _refuse(self, response: Response) -> bool:
        self._send(self._behavior.serialize(response, keep_open=False))
        if not self._behavior.closes_in_stages():
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            return False
        # Closing with unread bytes resets the connection, and the client may lose the response.
        self._sock.shutdown(socket.SHUT_WR)
        self._sock.settimeout(_LINGER_SECONDS)
        left = _LINGER_BYTES
        while left > 0 and (data := self._sock.recv(_RECEIVE)):
            left -= len(data)
        return False

    def _send(self, pieces: Sequence[Buffer]) -> None:
        for data in self._behavior.writes(pieces):
            self._sock.sendall(data)

    def _receive(self) -> Request | None:
        """The next whole request, or None if the client closed the connection instead. Raises
        h11.RemoteProtocolError, Rejected (too large) and OSError."""
        # A parser for each request: the body need not pass through it.
        parser = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD)
        received, reads = bytearray(), []
        data, self._pending = self._pending, b""
        event: h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED] = h11.NEED_DATA
        while event is h11.NEED_DATA:
            data = data or (self._receive_some() if received else self._first_bytes())
            self._left = None if data else Breach.LEFT_IN_HEAD
            reads.append(len(data))
            begun = received.strip(b"\r\n")
            received += data
            # Empty lines before a request are ignored (RFC 9112, section 2.2).
            new = data if begun else data.lstrip(b"\r\n")
            if new or not data:
                parser.receive_data(new)
            event, data = parser.next_event(), b""
        if not isinstance(event, h11.Request):
            return None
        rest = parser.trailing_data[0]
        head = bytes(received[: len(received) - len(rest)])
        if len(head) > _MAX_HEAD:  # h11 only limits heads that are not complete yet
            raise Rejected(f"the head is longer than {_MAX_HEAD} bytes", 431)
        request = Request(
            method=event.method.decode(),
            target=event.target.decode("latin-1"),
            version=event.http_version.decode(),
            headers=tuple((n.decode(), v.decode("latin-1")) for n, v in event.headers),
            head=head,
            body=memoryview(b""),
        )
        self._behavior.check_head(request)
        chunked = any(name == b"transfer-encoding" for name, _ in event.headers)
        length = int(dict(event.headers).get(b"content-length", b"0"))
        if length > MAX_BODY and not chunked:
            self._broken_off(Breach.TOO_LONG)
            raise Rejected(f"the body is longer than {MAX_BODY} bytes", 413)
        if parser.they_are_waiting_for_100_continue and not rest:
            self._sock.sendall(self._behavior.before_expected_body(request))
        asked = time.monotonic()
        if not rest and (chunked or length):
            rest = self._receive_some()
            if not rest:
                self._left = Breach.LEFT_IN_BODY
                raise h11.RemoteProtocolError("the body does not come")
            parser.receive_data(rest)
        waited = time.monotonic() - asked
        chunk_cuts: list[int] = []
        segment_cuts: list[int] = []
        if chunked:
            body, framing = self._chunked_body(parser, rest, chunk_cuts)
        else:
            body, framing = self._plain_body(rest, length, segment_cuts), b""
        self._pending = self._behavior.read_ahead(self._pending)
        return replace(
            request,
            body=body,
            chunk_cuts=tuple(chunk_cuts),
            segment_cuts=tuple(segment_cuts),
            framing=framing,
            head_reads=tuple(reads),
            waited_s=waited,
            followed=bool(self._pending),
        )

    def _first_bytes(self) -> bytes:
        self._sock.settimeout(self._behavior.idle_seconds() if self._served else IDLE_SECONDS)
        try:
            return self._receive_some()
        except TimeoutError:
            self._sock.sendall(self._behavior.farewell())
            raise
        finally:
            self._sock.settimeout(IDLE_SECONDS)

    def _plain_body(self, rest: bytes, length: int, cuts: list[int]) -> memoryview:
        if len(rest) >= length:
            self._pending = rest[length:]
            return memoryview(rest)[:length]
        # Untouched memory is not allocated: a client that only claims a length costs nothing.
        body = np.empty(length, np.uint8).data
        body[: len(rest)] = rest
        filled = len(rest)
        while filled < length:
            if filled:
                cuts.append(filled)
            read = self._sock.recv_into(body[filled:])
            if not read:
                self._left = Breach.LEFT_IN_BODY
                raise h11.RemoteProtocolError("the body ends before its Content-Length")
            filled += read
        return body

    def _receive_some(self) -> bytes:
        return self._behavior.received(self._sock.recv(_RECEIVE))

    def _chunked_body(
        self, parser: h11.Connection, rest: bytes, cuts: list[int]
    ) -> tuple[memoryview, bytes]:
        """The body, and all bytes that brought it, `rest` first."""
        pieces: list[bytes] = []
        framing = bytearray(rest)
        size = 0
        while True:
            event = parser.next_event()
            if event is h11.NEED_DATA:
                data = self._receive_some()
                self._left = None if data else Breach.LEFT_IN_CHUNKS
                framing += data
                parser.receive_data(data)
            elif isinstance(event, h11.Data):
                pieces.append(event.data)
                size += len(event.data)
                if size > MAX_BODY:
                    raise Rejected(f"the body is longer than {MAX_BODY} bytes", 413)
                if event.chunk_end:
                    cuts.append(size)
                    most = self._behavior.most_chunks()
                    if len(cuts) > most:
                        raise Rejected(f"the body has more than {most} chunks")
            else:
                self._pending = parser.trailing_data[0]
                whole = bytes(framing[: len(framing) - len(self._pending)])
                return memoryview(b"".join(pieces)), whole
