"""Faults of HTTP itself, for which the request is written by hand (K30, K33, K34, K36)."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from http.client import HTTPException, HTTPResponse
from urllib.parse import unquote, urlsplit

from requests.structures import CaseInsensitiveDict

from v2_conformance.reference.client.connection import Answer
from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.reference.client.task import Call, ClientError
from v2_mutants.registry import client_fault

Fields = list[tuple[str, str]]

_PIECE = 1 << 16
_INTERIM = b"HTTP/1.1 1"


class _ByHand(PlainClient):
    """A client that writes its requests and keeps its connection itself."""

    _socket: socket.socket | None = None

    def close(self) -> None:
        super().close()
        self.leave()

    def leave(self) -> None:
        """Close the connection, if there is one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def exchange(self, call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
        try:
            if self._socket is None:
                parts = urlsplit(self.url)
                place = (parts.hostname or "", parts.port or 80)
                self._socket = socket.create_connection(place, self.timeout_s)
            self.send_all(self._socket, self.head(call, fields, body) + self.framed(body))
            self.before_answer(self._socket)
            response = HTTPResponse(self._socket, method="POST")
            response.begin()
            received = response.read()
        except (OSError, HTTPException) as error:
            self.leave()
            raise ClientError(f"{type(error).__name__}: {error}") from error
        self.after(response)
        names: CaseInsensitiveDict[str] = CaseInsensitiveDict(response.getheaders())
        return Answer(response.status, names, self.decoded(call, names, received))

    def send_all(self, connection: socket.socket, data: bytes) -> None:
        """Send a whole request."""
        connection.sendall(data)

    def before_answer(self, connection: socket.socket) -> None:
        """What is done before the answer is read."""

    def after(self, response: HTTPResponse) -> None:
        """What becomes of the connection after a response."""
        if response.will_close:
            self.leave()

    def framed(self, body: bytes) -> bytes:
        """The body as it is sent."""
        return body

    def lengths(self, body: bytes) -> Fields:
        """What delimits the body."""
        return [("Content-Length", str(len(body)))]

    def hosts(self) -> Fields:
        """The Host of the request."""
        return [("Host", urlsplit(self.url).netloc)]

    def target(self, call: Call) -> str:
        """The request's target."""
        return urlsplit(self.url).path + self.path(call)

    def line(self, name: str, value: str) -> str:
        """A line of the head."""
        return f"{name}: {value}\r\n"

    def version(self) -> str:
        """The version of HTTP in the request line."""
        return "HTTP/1.1"

    def head(self, call: Call, fields: Mapping[str, str], body: bytes) -> bytes:
        """The head of the request."""
        first = f"POST {self.target(call)} {self.version()}\r\n"
        sent = [*self.hosts(), *fields.items(), *self.lengths(body)]
        lines = [self.line(name, value) for name, value in sent]
        return (first + "".join(lines) + "\r\n").encode("utf-8")


@client_fault.several("early-answer-lost", "K30")
class _EarlyAnswerLost(_ByHand):
    """If the server closes before it has read the body, its answer is not read."""

    def send_all(self, connection: socket.socket, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            connection.sendall(data[start : start + _PIECE])  # raises BrokenPipeError


@client_fault.several("host-missing", "K33")
class _HostMissing(_ByHand):
    """A request has no Host."""

    def hosts(self) -> Fields:
        return []


@client_fault.several("host-twice", "K33")
class _HostTwice(_ByHand):
    """A request has two Hosts."""

    def hosts(self) -> Fields:
        return [*super().hosts(), ("Host", "example.com")]


@client_fault.several("content-length-beside-chunks", "K33")
class _LengthBesideChunks(_ByHand):
    """A request in chunks has a Content-Length, too."""

    def lengths(self, body: bytes) -> Fields:
        return [*super().lengths(body), ("Transfer-Encoding", "chunked")]

    def framed(self, body: bytes) -> bytes:
        return b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


@client_fault.several("content-length-twice", "K33")
class _LengthTwice(_ByHand):
    """A request has two Content-Lengths."""

    def lengths(self, body: bytes) -> Fields:
        return super().lengths(body) * 2


@client_fault.several("content-length-signed", "K33")
class _LengthSigned(_ByHand):
    """Content-Length begins with a plus sign."""

    def lengths(self, body: bytes) -> Fields:
        return [("Content-Length", f"+{len(body)}")]


@client_fault.several("request-lines-end-with-lf", "K33")
class _BareLf(_ByHand):
    """The lines of a head end with LF alone."""

    def head(self, call: Call, fields: Mapping[str, str], body: bytes) -> bytes:
        return super().head(call, fields, body).replace(b"\r\n", b"\n")


@client_fault.several("request-space-before-colon", "K33")
class _SpaceBeforeColon(_ByHand):
    """A space stands between a field's name and its colon."""

    def line(self, name: str, value: str) -> str:
        return f"{name} : {value}\r\n"


@client_fault.several("target-not-encoded", "K33")
class _TargetNotEncoded(_ByHand):
    """A model's name is put into the target as it is."""

    def target(self, call: Call) -> str:
        return unquote(super().target(call))


@client_fault.several("version-in-lowercase", "K33")
class _VersionInLowercase(_ByHand):
    """The request line ends with http/1.1 in lowercase."""

    def version(self) -> str:
        return "http/1.1"


@client_fault.several("interim-response-is-the-answer", "K34")
class _InterimIsTheAnswer(_ByHand):
    """A response of 100 Continue is taken for the answer."""

    def before_answer(self, connection: socket.socket) -> None:
        start = connection.recv(len(_INTERIM), socket.MSG_PEEK | socket.MSG_WAITALL)
        if start == _INTERIM:
            raise ClientError("the server answered with an interim status")


@client_fault.several("closed-connection-used-again", "K36")
class _UsedAgain(_ByHand):
    """After a response with `Connection: close` the next request is sent on that connection."""

    def after(self, response: HTTPResponse) -> None:
        return None
