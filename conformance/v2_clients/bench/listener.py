"""A listening port of the bench, and a thread for each connection to it.

What a client sends is bounded: the bytes of a request, the number of requests and connections, and
all that is kept of a scenario.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time

from v2_clients.bench.connection import Connection
from v2_clients.bench.stage import ScenarioStage

BENCH = "http://127.0.0.1"
"""The stand-in for the address of the bench, whose ports differ from scenario to scenario."""
_MOST_CONNECTIONS = 64
_STOP_S = 2.0
_SETTLED_S = 0.5
_LOOK_S = 0.002


class Listener:
    """Listens on a free port for the requests of a scenario. A context manager."""

    def __init__(self, stage: ScenarioStage, *, host: str = "127.0.0.1") -> None:
        self._stage = stage
        self._host = host
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def __enter__(self) -> Listener:
        self._listener = socket.create_server((self._host, 0), backlog=_MOST_CONNECTIONS)
        self._listener.setblocking(False)
        waiting, self._waker = socket.socketpair()
        self._acceptor = threading.Thread(
            target=self._accept, args=(waiting,), name="bench-accept", daemon=True
        )
        self._acceptor.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.settle()
        self._waker.close()
        self._acceptor.join(_STOP_S)
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(_STOP_S)

    @property
    def url(self) -> str:
        """The base URL, without a trailing slash."""
        return f"http://{self._host}:{self._listener.getsockname()[1]}"

    def settle(self) -> None:
        """Wait until all that clients sent is read and what they closed is over, half a second at
        most: one that breaks off is done before its last bytes are read.
        """
        deadline = time.monotonic() + _SETTLED_S
        while self._has_unread() and time.monotonic() < deadline:
            time.sleep(_LOOK_S)

    def _has_unread(self) -> bool:
        with self._lock, selectors.DefaultSelector() as selector:
            for sock in (self._listener, *self._open):
                selector.register(sock, selectors.EVENT_READ)
            return bool(selector.select(0))

    def _accept(self, waiting: socket.socket) -> None:
        with self._listener, waiting, selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(waiting, selectors.EVENT_READ)
            while True:
                if waiting in {key.fileobj for key, _ in selector.select()}:
                    return
                with self._lock:
                    try:
                        sock, _ = self._listener.accept()
                    except OSError:
                        continue
                    room = len(self._open) < _MOST_CONNECTIONS
                    if room:
                        self._open.add(sock)
                if not room:
                    sock.close()
                    continue
                thread = threading.Thread(
                    target=self._serve, args=(sock,), name="bench-connection", daemon=True
                )
                self._threads = [t for t in self._threads if t.is_alive()] + [thread]
                thread.start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            with contextlib.suppress(OSError):
                sock.setblocking(True)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                Connection(sock, self._stage).serve()
        finally:
            with self._lock:
                self._open.discard(sock)
                sock.close()
