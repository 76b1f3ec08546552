"""HTTP/1.1 over a plain or TLS socket: a request's bytes are sent exactly as given.

No HTTP library stands between the caller and the request's bytes, and the response is read from the
raw bytes that the exchange keeps. What a server sends is bounded in time and in size.
"""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import struct
import time

import msgspec

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.exchange import Body, Exchange, milliseconds, unsent
from v2_conformance.wire.response import Ending, Limits
from v2_conformance.wire.response_reader import ResponseReader, asks_for_no_body
from v2_conformance.wire.sockets import SocketAddress, connected, hint_in, hint_of, ready, reason_of
from v2_conformance.wire.transport import Parting, Request, asks_to_close

_RECEIVE = 256 * 1024  # the most bytes that are read at once
_MOMENT_S = 1.0
_LONGER = 3  # times the usual limit, by which long messages may extend a deadline
_END_S = 1.5  # Envoy may take a second to close; Gunicorn closes what is idle for two
# Servers may send it unasked when they close an idle connection (RFC 9110, section 15.5.9).
_IDLE_TOO_LONG = re.compile(rb"HTTP/1\.[01] 408 ")
_NO_LINGER = struct.pack("ii", 1, 0)
_BLOCKED = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_READS_NOTHING = (Parting.LEAVES, Parting.RESETS)


class Http1Connection:
    """See transport.Connection."""

    def __init__(self, address: SocketAddress, limits: Limits) -> None:
        self._address = address
        self._limits = limits
        self._socket: socket.socket | None = None
        self._used = False  # for an exchange
        self._kept_at: float | None = None  # when it was left open, for either side to use again
        self._closed_before_s: float | None = None
        self._stray = 0  # bytes that came while it was left open

    @property
    def open(self) -> bool:
        """See transport.Connection."""
        return self._socket is not None and self._waiting() != b""

    def pending(self) -> bool:
        """See transport.Connection."""
        return self._socket is not None and bool(self._waiting())

    def connect(self) -> None:
        """See transport.Connection."""
        with contextlib.suppress(OSError, UnicodeError):
            self._connected(self._limits.connect_s)

    def close(self) -> None:
        """See transport.Connection."""
        if self._socket is not None:
            if self._kept_at is not None and not isinstance(self._socket, ssl.SSLSocket):
                waiting = self._waiting()
                if waiting == b"":
                    self._closed_before_s = time.perf_counter() - self._kept_at
                elif waiting and not _IDLE_TOO_LONG.match(waiting):
                    self._stray = len(waiting)
            self._socket.close()
            self._socket = self._kept_at = None

    def exchange(self, request: Request, *, fresh: bool = False) -> Exchange:
        """See transport.Connection. A pause between writes ends as soon as the server answers."""
        started = time.perf_counter()
        if fresh or not self.open:
            self.close()
        usual = self._limits.exchange_s
        limit = usual if request.limit_s is None else min(request.limit_s, usual)
        try:
            sock = self._connected(min(limit, self._limits.connect_s))
        except (OSError, UnicodeError) as error:  # a host name may be invalid in DNS
            shorter = limit if limit < self._limits.connect_s else None
            return _refused(request, error, started, shorter)
        reused, self._used = self._used, True
        kept_at, self._kept_at = self._kept_at, None
        closed_before_s, self._closed_before_s = self._closed_before_s, None
        stray, self._stray = self._stray, 0
        deadline = started + (limit if request.parting is None else min(limit, _MOMENT_S))
        data = request.data
        current = _SocketExchange(sock, self._limits, deadline, data, request)
        ending, detail = current.run(request)
        ended = time.perf_counter()
        reader, first = current.reader, current.first_byte
        whole = ending is Ending.COMPLETE and current.sent == request.size
        # After its half-close a client can send no other request, and after it asked the server to
        # close the connection it must not (RFC 9112, section 9.6).
        ends = asks_to_close(data)
        keep = whole and reader.reusable and not (ends or request.parting is Parting.HALF_CLOSES)
        waits = whole and ends and request.parting is None
        left_open = waits and not ready(sock, write=False, timeout=_END_S)[0]
        if request.parting is Parting.RESETS:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        if not keep:
            self.close()
        elif request.parting is None:
            self._kept_at = ended
        lost = ending in (Ending.CLOSED, Ending.RESET) and not reader.raw
        if kept_at is not None and lost:
            closed_before_s = started - kept_at
            self._closed_before_s = closed_before_s  # this one is not an answer, and may be dropped
        several = len(request.http1) > 1
        made = Exchange(
            purpose=Purpose.CASE,
            note="",
            request=Body(data),
            received=Body(bytes(reader.raw) if len(reader.raw) < _RECEIVE else reader.raw),
            ending=ending,
            detail=detail,
            sent=current.sent,
            reused=reused,
            open=keep or left_open,
            first_byte_ms=None if first is None else milliseconds(first - started),
            duration_ms=milliseconds(ended - started),
            pieces=tuple(map(len, request.http1)) if several else (),
            pause_ms=milliseconds(request.pause_s) if several else 0.0,
            closed_before_ms=milliseconds(closed_before_s),
            shortened_ms=milliseconds(limit) if limit < usual else None,
            stray_before=stray,
            answers=request.answers,
        )
        # They are here already; else they would be read again from the bytes.
        vars(made).update(partial=reader.response() if reader.in_body else None, hint=current.hint)
        return made

    def _connected(self, limit_s: float) -> socket.socket:
        if self._socket is None:
            self._socket = connected(self._address, limit_s)
            self._used = False
        return self._socket

    def _waiting(self) -> bytes | None:
        """Return what has come unasked, None for nothing, b"" once the server has closed.

        TLS cannot peek: any record counts as closed.
        """
        if self._socket is None:
            return None
        if isinstance(self._socket, ssl.SSLSocket):
            return b"" if ready(self._socket, write=False, timeout=0)[0] else None
        try:
            return self._socket.recv(_RECEIVE, socket.MSG_PEEK)
        except BlockingIOError:
            return None
        except OSError:
            return b""


def _refused(
    request: Request, error: OSError | UnicodeError, started: float, shorter: float | None
) -> Exchange:
    ending = Ending.TIMEOUT if isinstance(error, TimeoutError) else Ending.REFUSED
    made = msgspec.structs.replace(
        unsent(request.data, ending, reason_of(error), request.answers),
        duration_ms=milliseconds(time.perf_counter() - started),
        shortened_ms=milliseconds(shorter) if ending is Ending.TIMEOUT else None,
    )
    vars(made)["hint"] = hint_of(error)
    return made


class _SocketExchange:
    """The state of one exchange on one socket."""

    def __init__(
        self, sock: socket.socket, limits: Limits, deadline: float, data: Buffer, request: Request
    ) -> None:
        self._sock = sock
        self._limits = limits
        self.reader = ResponseReader(limits, request.answers, bodiless=asks_for_no_body(data))
        self._deadline = deadline
        self._rate = request.rate
        self._room_s = _LONGER * limits.exchange_s
        self._limit = limits.response_to(len(data)) * request.answers
        self.sent = 0
        self.first_byte: float | None = None
        self._failed: OSError | None = None

    @property
    def hint(self) -> str | None:
        """What helps if TLS failed, or if the server speaks another protocol than HTTP/1.1."""
        if self._failed is not None:
            return hint_of(self._failed)
        return hint_in(bytes(self.reader.raw[:9]))

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
        if parting in _READS_NOTHING:  # any answer so far came by chance
            self.reader, self.first_byte = ResponseReader(self._limits), None
            return Ending.LEFT, detail
        if parting is Parting.HALF_CLOSES:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._sock, socket.SHUT_WR)  # TLS goes on the other way
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
        """Pause between two writes, at most until something comes. The pause does not count
        against the server's time.
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
            self._give_time(count)
            data = data[count:]
        return True

    def _receive(self) -> None:
        try:
            data = self._sock.recv(_RECEIVE)
        except _BLOCKED:
            return
        if data and self.first_byte is None:
            self.first_byte = time.perf_counter()
        self._give_time(len(data))
        self.reader.feed(data)

    def _give_time(self, carried: int) -> None:
        """Extend the deadline by the time that the path needs for these bytes, within bounds."""
        more = min(carried / self._rate, self._room_s)
        self._room_s -= more
        self._deadline += more

    def _wait(self, *, write: bool, at_most: float | None = None) -> tuple[bool, bool]:
        left = self._deadline - time.perf_counter()
        if at_most is not None:
            left = min(left, at_most)
        if left <= 0:
            return False, False
        return ready(self._sock, write=write, timeout=left)
