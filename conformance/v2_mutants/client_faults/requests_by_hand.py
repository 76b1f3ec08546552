"""Faults of HTTP itself, for which the request is written by hand (K30, K33, K34, K36)."""

from __future__ import annotations

import re
import select
import socket
from collections.abc import Mapping
from http.client import HTTPException, HTTPResponse
from urllib.parse import urlsplit

from requests.structures import CaseInsensitiveDict

from v2_clients.plain.connection import Answer
from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.task import Call, ClientError
from v2_mutants.changes import fail
from v2_mutants.registry import Right, What, client_fault

_PIECE = 1 << 16
_INTERIM = b"HTTP/1.1 1"


class ByHand(PlainClient):
    """A client that writes its requests and keeps its connection itself."""

    _socket: socket.socket | None = None

    def close(self) -> None:
        super().close()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def exchange(self, call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
        try:
            if self._socket is not None and self.is_over(self._socket):
                self.close()
            if self._socket is None:
                parts = urlsplit(self.url)
                place = (parts.hostname or "", parts.port or 80)
                self._socket = socket.create_connection(place, self.timeout_s)
            self.send_all(self._socket, self.head(call, fields, body) + body)
            self.before_answer(self._socket)
            response = HTTPResponse(self._socket, method="POST")
            response.begin()
            received = response.read()
        except (OSError, HTTPException) as error:
            self.close()
            raise ClientError(f"{type(error).__name__}: {error}") from error
        self.after(response)
        names: CaseInsensitiveDict[str] = CaseInsensitiveDict(response.getheaders())
        return Answer(response.status, names, self.decoded(call, names, received))

    def head(self, call: Call, fields: Mapping[str, str], body: bytes) -> bytes:
        """The head of the request."""
        parts = urlsplit(self.url)
        sent = {"Host": parts.netloc, **fields, "Content-Length": len(body)}
        lines = [f"{name}: {value}\r\n" for name, value in sent.items()]
        first = f"POST {parts.path}{self.path(call)} HTTP/1.1\r\n"
        return "".join([first, *lines, "\r\n"]).encode()

    def is_over(self, connection: socket.socket) -> bool:
        """Return True if the server has closed a connection, or sent what nobody asked for."""
        return bool(select.select([connection], [], [], 0)[0])

    def send_all(self, connection: socket.socket, data: bytes) -> None:
        """Send a whole request."""
        connection.sendall(data)

    def before_answer(self, connection: socket.socket) -> None:
        """Do nothing before the answer is read."""

    def after(self, response: HTTPResponse) -> None:
        """Keep the connection after a response, or not."""
        if response.will_close:
            self.close()


def edited(pattern: bytes, new: bytes) -> What[bytes]:
    """Return what edits the head of a request."""
    return lambda right, call, fields, body: re.sub(pattern, new, right())


@client_fault("early-answer-lost", "K30", ByHand.send_all, base=ByHand)
def _(right: Right[None], connection: socket.socket, data: bytes) -> None:
    """If the server closes before it has read the body, its answer is not read."""
    for start in range(0, len(data), _PIECE):
        connection.sendall(data[start : start + _PIECE])  # raises BrokenPipeError


client_fault("host-missing", "K33", ByHand.head, base=ByHand)(
    "A request has no Host.",
    edited(rb"Host: .*\r\n", b""),
)
client_fault("content-length-twice", "K33", ByHand.head, base=ByHand)(
    "A request has two Content-Lengths.",
    edited(rb"(Content-Length: \d+\r\n)\r\n", rb"\1\1\r\n"),
)
client_fault("request-lines-end-with-lf", "K33", ByHand.head, base=ByHand)(
    "The lines of a head end with LF alone.",
    edited(rb"\r\n", b"\n"),
)
client_fault("percent-signs-as-they-are", "K33", PlainClient.path)(
    "A percent sign in a model's name is put into the target as it is.",
    lambda right, call: right().replace("%25", "%"),
)


@client_fault("interim-response-is-the-answer", "K34", ByHand.before_answer, base=ByHand)
def _(right: Right[None], connection: socket.socket) -> None:
    """A response of 100 Continue is taken for the answer."""
    start = connection.recv(len(_INTERIM), socket.MSG_PEEK | socket.MSG_WAITALL)
    if start == _INTERIM:
        fail("the server answered with an interim status")


@client_fault.several("closed-connection-used-again", "K36")
class _UsedAgain(ByHand):
    """After a response with `Connection: close` the next request is sent on that connection."""

    def after(self, response: HTTPResponse) -> None:
        return None

    def is_over(self, connection: socket.socket) -> bool:
        # Otherwise it would depend on who is faster if the server's close is seen.
        return False
