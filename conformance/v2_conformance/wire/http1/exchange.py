"""One exchange on a connected socket: writes the request, reads the response.

See `http1`, which keeps the connection.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from functools import cached_property

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.wire.obstacle import Obstacle, obstacle_of, speaks_http2, speaks_tls
from v2_conformance.wire.response import Ending, Limits
from v2_conformance.wire.response_reader import ResponseReader, asks_for_no_body
from v2_conformance.wire.sockets import ready, reason_of
from v2_conformance.wire.tls import TlsSocket
from v2_conformance.wire.transport import Parting, Request

RECEIVE = 256 * 1024
"""The most bytes that are read at once."""
_BLOCKED = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_READS_NOTHING = (Parting.LEAVES, Parting.RESETS)


class SocketExchange:
    """The state of one exchange on one socket."""

    def __init__(
        self,
        sock: socket.socket,
        limits: Limits,
        deadline: float,
        request: Buffer,
        answers: int,
    ) -> None:
        self._sock = sock
        self._answers = answers
        self._bodiless = asks_for_no_body(request)
        self._limits = limits
        self._deadline = deadline
        self._limit = limits.response_to(len(request))
        self.sent = 0
        self.first_byte: float | None = None
        self._failed: OSError | None = None

    @property
    def obstacle(self) -> Obstacle | None:
        """The reason that TLS gives for a failed connection, or what the server speaks instead of
        HTTP/1.1.
        """
        if self._failed is not None:
            return obstacle_of(self._failed)
        start = bytes(self.reader.raw[:9])
        if speaks_http2(start):
            return Obstacle.ONLY_HTTP2
        plain = not isinstance(self._sock, TlsSocket)
        return Obstacle.ONLY_TLS if plain and speaks_tls(start) else None

    @cached_property
    def reader(self) -> ResponseReader:
        """The reader of the response. It is made after the request is sent, while the
        server works.
        """
        return ResponseReader(self._limits, self._answers, bodiless=self._bodiless)

    def forget(self) -> None:
        """Keep nothing that arrived: a client that leaves reads nothing, and it is a matter of
        chance what arrives while it still sends.
        """
        self.__dict__.pop("reader", None)
        self.first_byte = None

    def run(self, request: Request) -> tuple[Ending, str]:
        """Write the request and read the response; return how it ended, and more about
        that in words.
        """
        pieces, pause_s, parting = request.http1, request.pause_s, request.parting
        detail = ""
        try:
            for number, piece in enumerate(pieces):
                if number and pause_s and self._is_answered_within(pause_s):
                    self._receive()
                    if self._ended():
                        break
                if not self._send(memoryview(piece)):
                    break
        except TimeoutError:
            return Ending.TIMEOUT, "the server stopped reading the request"
        except OSError as error:
            self._failed = error
            detail = reason_of(error)  # a server may answer, close, and leave the rest unread
        if parting in _READS_NOTHING:
            return Ending.LEFT, detail
        if parting is Parting.HALF_CLOSES:
            with contextlib.suppress(OSError):
                self._sock.shutdown(socket.SHUT_WR)
        if request.unread_s:
            time.sleep(request.unread_s)
            self._deadline += request.unread_s
        try:
            while not self._ended():
                if not self._wait(write=False)[0]:
                    return Ending.TIMEOUT, "no complete response in time"
                self._receive()
        except OSError as error:
            if not self.reader.answered_first:
                self._failed = error
                return Ending.RESET, reason_of(error)
            self.reader.feed(b"")  # it answered one of two requests, which is all that it had to
        if self.reader.error:
            return self.reader.error_ending, self.reader.error
        if self.reader.done:
            return Ending.COMPLETE, ""
        if self.reader.cost > self._limit:
            return Ending.TOO_LARGE, (
                f"the response is longer than {self._limit} bytes, or comes in too many chunks"
            )
        # A reset that was met while sending is found here as an ordinary end.
        reset = self._failed is not None and self.reader.in_body
        ending = Ending.RESET if reset else Ending.CLOSED
        return ending, detail or "the server closed the connection"

    def _is_answered_within(self, pause_s: float) -> bool:
        """Pause between two writes, at most until something comes. The server gets that time back:
        nobody waited for it.
        """
        began = time.perf_counter()
        readable, _ = self._wait(write=False, at_most=pause_s)
        self._deadline += time.perf_counter() - began
        return readable

    def _ended(self) -> bool:
        reader = self.reader
        return reader.done or reader.eof or bool(reader.error) or reader.cost > self._limit

    def _send(self, data: memoryview) -> bool:
        """Send all of `data`; return False if the response ended first."""
        while data:
            try:
                count = self._sock.send(data)
            except _BLOCKED:
                readable, writable = self._wait(write=True)
                if not (readable or writable):
                    raise TimeoutError from None
                if readable:
                    self._receive()
                    if self._ended():
                        return False
                continue
            self.sent += count
            data = data[count:]
        return True

    def _receive(self) -> None:
        """Take what has arrived, if anything has."""
        try:
            data = self._sock.recv(RECEIVE)
        except _BLOCKED:
            return
        if data and self.first_byte is None:
            self.first_byte = time.perf_counter()
        self.reader.feed(data)

    def _wait(self, *, write: bool, at_most: float | None = None) -> tuple[bool, bool]:
        left = self._deadline - time.perf_counter()
        if at_most is not None:
            left = min(left, at_most)
        if left <= 0:
            return False, False
        return ready(self._sock, write=write, timeout=left)
