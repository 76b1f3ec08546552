"""A connection of a client: reads its requests, answers as the scenario says, keeps all bytes."""

from __future__ import annotations

import contextlib
import socket
import struct
import time

from v2_clients.bench.requests import ClientRequest, UnreadableRequestError, read_client_request
from v2_clients.bench.stage import ScenarioStage, Turn
from v2_clients.bench.turns import CONTINUE
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.exchange import Body, Exchange, milliseconds
from v2_conformance.wire.response import Ending

_RECEIVE = 256 * 1024
_IDLE_S = 60.0
_LINGER_S = 1.0
_NO_LINGER = struct.pack("ii", 1, 0)


class Connection:
    """One connection of a client: one request after another, until either side ends it."""

    def __init__(self, sock: socket.socket, stage: ScenarioStage) -> None:
        self._sock = sock
        self._stage = stage
        self._data = b""
        self._reused = False

    def serve(self) -> None:
        """Serve until the connection ends. Raises OSError if the client is gone or idle."""
        self._sock.settimeout(_IDLE_S)
        while self._exchange():
            self._reused = True

    def _exchange(self) -> bool:
        """Handle one request and its answer; return whether another may follow."""
        began = time.monotonic()
        number: int | None = None
        turn: Turn | None = None
        given = b""
        request: ClientRequest | None = None
        data = bytearray(self._data)
        enough = 1
        try:
            while True:
                if len(data) >= enough:
                    self._data = bytes(data)
                    request = read_client_request(self._data)
                    enough = len(data) + 1 if request is None else request.needs
                if request is not None and number is None:
                    if request.whole or not self._stage.needs_all(request):
                        number, turn = self._stage.begin(request)
                    early = turn is not None and self._stage.script_when(turn) == "head"
                    if early:
                        break
                    if not given and not request.whole and _waits(request):
                        self._sock.sendall(CONTINUE)
                        given = CONTINUE
                if request is not None and request.whole:
                    break
                more = self._receive()
                if not data:
                    began = time.monotonic()  # until then the connection was idle
                data += more
        except UnreadableRequestError as error:
            self._refuse(number, str(error), began)
            return False
        except OSError as error:
            self._data = bytes(data)
            self._broken(number, turn, given, began, request, str(error))
            return False
        assert number is not None
        return self._respond(number, turn, request, given, began)

    def _receive(self) -> bytes:
        """Receive some bytes. Raises OSError if the client is gone or idle, or sends too much."""
        data = self._sock.recv(_RECEIVE)
        if not data:
            raise ConnectionAbortedError("the client closed the connection")
        self._stage.count(len(data))
        return data

    def _respond(
        self,
        number: int,
        turn: Turn | None,
        request: ClientRequest,
        given: bytes,
        began: float,
    ) -> bool:
        with self._stage.answering():
            answer = self._stage.answer(turn, request)
            sent = bytearray(given)
            ending, detail = Ending.COMPLETE, ""
            if answer.then == "leaves":
                self._cork()
            try:
                for place, data in enumerate(answer.writes):
                    if place and answer.pause_s:
                        time.sleep(answer.pause_s)
                    self._sock.sendall(data)
                    sent += data
            except OSError as error:
                ending, detail = Ending.RESET, str(error.strerror or error)
            received = self._data
            if ending is Ending.COMPLETE and not request.whole:
                request, received = self._rest(request, answer.then)
            exchange = self._recorded(received[: request.end], bytes(sent), began, ending, detail)
            self._stage.keep(number, turn, exchange, infers=request.method == "POST")
        self._data = received[request.end :]
        if ending is not Ending.COMPLETE:
            return False
        return self._part(answer.then) and request.whole and request.keeps_open

    def _rest(self, request: ClientRequest, then: str) -> tuple[ClientRequest, bytes]:
        """Read the rest of a request that was answered early, as far as it comes."""
        if then in ("closes", "resets"):
            return request, self._data
        with contextlib.suppress(OSError, UnreadableRequestError):
            while not request.whole:
                self._data += self._receive()
                request = read_client_request(self._data) or request
        return request, self._data

    def _part(self, then: str) -> bool:
        """End the connection as the answer says; return whether it stays open."""
        if then == "resets":
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        elif then == "closes":
            self._linger()
        elif then == "leaves":
            with contextlib.suppress(OSError):
                self._sock.shutdown(socket.SHUT_WR)
        elif then == "waits":
            self._stage.silent()
            with contextlib.suppress(OSError):
                while self._sock.recv(_RECEIVE):
                    pass
        return then == "keeps"

    def _cork(self) -> None:
        """Keep the end of what is sent until the connection is closed, so that a client that has
        read it can know of the end, too."""
        if hasattr(socket, "TCP_CORK"):
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)

    def _linger(self) -> None:
        """Close so that the sent bytes arrive: unread bytes would reset the connection."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)
            self._sock.settimeout(_LINGER_S)
            deadline = time.monotonic() + _LINGER_S
            while time.monotonic() < deadline and self._sock.recv(_RECEIVE):
                pass

    def _broken(
        self,
        number: int | None,
        turn: Turn | None,
        given: bytes,
        began: float,
        request: ClientRequest | None,
        why: str,
    ) -> None:
        """Keep a partial request, unless no byte of one came."""
        if not self._data.strip(b"\r\n"):
            return
        if number is None:
            with contextlib.suppress(OSError):
                number, turn = self._stage.begin(request)
        if number is not None:
            exchange = self._recorded(self._data, given, began, Ending.CLOSED, why)
            self._stage.keep(number, turn, exchange, infers=request is None)

    def _refuse(self, number: int | None, why: str, began: float) -> None:
        """Answer bytes that are not a request, and keep them."""
        if number is None:
            number, _ = self._stage.begin(None)
        body = b'{"error":"not a request of HTTP/1.1"}'
        head = b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n"
        head += b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
        with contextlib.suppress(OSError):
            self._sock.sendall(head + body)
        exchange = self._recorded(self._data, head + body, began, Ending.MALFORMED, why)
        self._stage.keep(number, None, exchange, infers=True)
        self._linger()

    def _recorded(
        self, received: bytes, given: bytes, began: float, ending: Ending, detail: str
    ) -> Exchange:
        return Exchange(
            purpose=Purpose.CASE,
            note="",
            request=Body(received),
            received=Body(given),
            ending=ending,
            detail=detail,
            sent=len(received),
            reused=self._reused,
            open=False,
            first_byte_ms=0.0 if given else None,
            duration_ms=milliseconds(time.monotonic() - began),
        )


def _waits(request: ClientRequest) -> bool:
    if request.version == "1.0":
        return False  # RFC 9110, section 10.1.1
    return any("100-continue" in value.lower() for value in request.values("expect"))
