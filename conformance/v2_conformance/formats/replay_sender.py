"""Sends recorded requests byte for byte and prints what comes back. Needs nothing but Python.

A response is whatever comes until the server closes, or says nothing for QUIET_S.
"""

from __future__ import annotations

import socket
import ssl
import sys
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

TIMEOUT_S = 30
QUIET_S = 0.5
MOST = 64 * 1024 * 1024
SHOWN = 4096


class Request(NamedTuple):
    """A request; `cuts` are where one write ends and the next begins, from the body's start."""

    head: bytes
    body: bytes
    cuts: tuple[int, ...] = ()
    pause_s: float = 0.0
    reuse: bool = False

    @property
    def writes(self) -> list[bytes]:
        data = self.head + self.body
        ends = [0, *(len(self.head) + cut for cut in self.cuts), len(data)]
        return [data[ends[n] : ends[n + 1]] for n in range(len(ends) - 1)]


def file(name: str) -> bytes:
    return Path(__file__).with_name(name).read_bytes()


def connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    host, secure = parts.hostname or "", parts.scheme == "https"
    sock = socket.create_connection((host, parts.port or (443 if secure else 80)), TIMEOUT_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not secure:
        return sock
    return ssl.create_default_context().wrap_socket(sock, server_hostname=host)


def send(sock: socket.socket, request: Request) -> None:
    try:
        for number, write in enumerate(request.writes):
            if number:
                time.sleep(request.pause_s)
            sock.sendall(write)
    except OSError as error:
        print("the request could not be sent completely:", error)


def receive(sock: socket.socket) -> bytes:
    data = b""
    sock.settimeout(TIMEOUT_S)
    try:
        while len(data) < MOST and (piece := sock.recv(65536)):
            data += piece
            sock.settimeout(QUIET_S)
    except OSError as error:
        if not data:
            print("no response:", error)
    sock.settimeout(TIMEOUT_S)
    return data


def dump(data: bytes) -> None:
    for at in range(0, min(len(data), SHOWN), 16):
        row = data[at : at + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        print(f"{at:06x}  {row.hex(' '):<47}  {text}")
    if len(data) > SHOWN:
        print(f"and {len(data) - SHOWN} more bytes")


def replay(url: str, requests: list[Request]) -> None:
    url = sys.argv[1] if len(sys.argv) > 1 else url
    sock = None
    for number, request in enumerate(requests, 1):
        if sock is None or not request.reuse:
            if sock is not None:
                sock.close()
            try:
                sock = connect(url)
            except OSError as error:
                sys.exit(f"no connection: {error}")
        send(sock, request)
        size = sum(map(len, request.writes))
        print(f"request {number}: {size} bytes in {len(request.writes)} writes; the response:")
        dump(receive(sock))
    if sock is not None:
        sock.close()
