"""Gateways that do what a test says: a forwarding script, and ways to spoil what it forwards."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from support.servers import PATIENCE_S, Peer, Script, serving
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.wire.http1.response import ResponseReader
from v2_conformance.wire.transcript import Limits

_LENGTH = re.compile(rf"\r\n{HEADER_LENGTH}: *([0-9]+)".encode(), re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """What goes back to the client; with `last` the connection ends."""

    status: int
    fields: tuple[tuple[str, str], ...]
    body: bytes
    last: bool = False

    @property
    def wire(self) -> bytes:
        """Its bytes, with a Content-Length of its body."""
        own = ("content-length", "transfer-encoding", "connection")
        fields = [field for field in self.fields if field[0].lower() not in own]
        fields.append(("Content-Length", str(len(self.body))))
        fields += [("Connection", "close")] if self.last else []
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
        return f"HTTP/1.1 {self.status} Said\r\n{lines}\r\n".encode("latin-1") + self.body

    def without(self, name: str) -> Answer:
        return replace(self, fields=tuple(f for f in self.fields if f[0].lower() != name.lower()))

    def with_field(self, name: str, value: str) -> Answer:
        return replace(self, fields=(*self.without(name).fields, (name, value)))

    def field(self, name: str) -> str | None:
        return next((value for key, value in self.fields if key.lower() == name.lower()), None)


Spoil = Callable[[bytes, Answer], Answer]
"""From a request and its answer to what the client gets."""


def faithful(request: bytes, answer: Answer) -> Answer:
    return answer


def header_dropped(request: bytes, answer: Answer) -> Answer:
    return answer.without(HEADER_LENGTH)


def length_changed(request: bytes, answer: Answer) -> Answer:
    length = answer.field(HEADER_LENGTH)
    return answer if length is None else answer.with_field(HEADER_LENGTH, str(int(length) + 1))


def recoded(request: bytes, answer: Answer) -> Answer:
    if answer.status != 200 or b"accept-encoding" not in request.lower():
        return answer
    packed = replace(answer, body=gzip.compress(answer.body))
    return packed.with_field("Content-Encoding", "gzip")


def limited(request: bytes, answer: Answer) -> Answer:
    return page(413) if len(request) > 65536 else answer


def errors_in_html(request: bytes, answer: Answer) -> Answer:
    return page(answer.status) if answer.status >= 400 else answer


def errors_with_200(request: bytes, answer: Answer) -> Answer:
    return replace(answer, status=200) if answer.status >= 400 else answer


def closing(request: bytes, answer: Answer) -> Answer:
    return replace(answer, last=True)


def unavailable(request: bytes, answer: Answer) -> Answer:
    return page(502) if b"/infer " in request else answer


def page(status: int) -> Answer:
    return Answer(status, (("Content-Type", "text/html"), ("Server", "nginx")), b"<html>no</html>")


def request_header_dropped(request: bytes) -> bytes:
    return _LENGTH.sub(b"", request, count=1)


def request_length_changed(request: bytes) -> bytes:
    return _LENGTH.sub(
        lambda found: f"\r\n{HEADER_LENGTH}: {int(found[1]) - 1}".encode(), request, count=1
    )


def unchunked(request: bytes) -> bytes:
    """What nginx and HAProxy make of chunks: a counted body."""
    head, _, rest = request.partition(b"\r\n\r\n")
    if b"\r\ntransfer-encoding: chunked" not in head.lower():
        return request
    body = b""
    while size := int(rest.split(b"\r\n", 1)[0].split(b";")[0], 16):
        rest = rest.split(b"\r\n", 1)[1]
        body += rest[:size]
        rest = rest[size + 2 :]
    counted = b"Content-Length: %d" % len(body)
    head = re.sub(b"transfer-encoding: chunked", counted, head, flags=re.IGNORECASE)
    return head + b"\r\n\r\n" + body


@contextlib.contextmanager
def gateway(
    server_url: str, spoil: Spoil = faithful, change: Callable[[bytes], bytes] = bytes
) -> Iterator[str]:
    """The URL of a gateway to a server: `change` is done to requests, `spoil` to answers."""
    with serving(_forwarding(server_url, spoil, change)) as running:
        yield running.url


def _forwarding(server_url: str, spoil: Spoil, change: Callable[[bytes], bytes]) -> Script:
    def script(peer: Peer) -> None:
        while True:
            request = peer.request()
            answer = spoil(request, _asked(server_url, change(request)))
            peer.send(answer.wire)
            if answer.last:
                return

    return script


def _asked(server_url: str, request: bytes) -> Answer:
    parts = urlsplit(server_url)
    reader = ResponseReader(Limits())
    with socket.create_connection((parts.hostname or "", parts.port or 80), PATIENCE_S) as sock:
        sock.sendall(request)
        while not reader.done and not reader.eof:
            reader.feed(sock.recv(65536))
    if not reader.done:
        raise ConnectionError
    found = reader.response()
    return Answer(found.status, found.headers, bytes(found.body))


@contextlib.contextmanager
def rejecting_early(server_url: str) -> Iterator[str]:
    """The URL of a server that answers a request for a model that it lacks after its head."""

    def script(peer: Peer) -> None:
        while True:
            if b"/v2_conformance_no_such_model/infer " in peer.head_of_next():
                error = json.dumps({"error": "no such model"}).encode()
                peer.send(Answer(404, (("Content-Type", "application/json"),), error, True).wire)
                peer.end()
                peer.until_closed()
                return
            peer.send(_asked(server_url, peer.request()).wire)

    with serving(script) as running:
        yield running.url
