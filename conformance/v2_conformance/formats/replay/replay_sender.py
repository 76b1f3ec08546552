"""Sends recorded requests byte for byte and prints what comes back. Needs nothing but Python."""

from __future__ import annotations

import contextlib
import http.client
import io
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

TIMEOUT_S = 30
MOST = 64 * 1024 * 1024
SHOWN = 4096


class Request:
    """A request; `cuts` are where one write ends and the next begins, from the body's start."""

    def __init__(
        self,
        head: bytes,
        body: bytes,
        cuts: tuple[int, ...] = (),
        pause_s: float = 0.0,
        reuse: bool = False,
        answers: int = 1,
    ) -> None:
        data = head + body
        ends = [0, *(len(head) + cut for cut in cuts), len(data)]
        self.writes = [data[ends[n] : ends[n + 1]] for n in range(len(ends) - 1)]
        self.pause_s = pause_s
        self.reuse = reuse
        self.answers = answers


class Keeping(io.RawIOBase):
    """Reads from a socket and keeps every byte."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.kept = bytearray()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if len(self.kept) >= MOST:
            raise ValueError(f"longer than {MOST} bytes")
        count = self.sock.recv_into(buffer)
        self.kept += buffer[:count]
        return count


def beside(name: str) -> bytes:
    return Path(__file__).with_name(name).read_bytes()


@contextlib.contextmanager
def within(sock: socket.socket, seconds: float) -> Iterator[None]:
    # A time-out of the socket is one of each read, and none of TLS that reads records without data.
    def end() -> None:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        yield
    finally:
        if not timer.is_alive():
            print(f"ended after {seconds:g} s")
        timer.cancel()


def connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    host = parts.hostname or ""
    sock = socket.create_connection((host, parts.port or (443 if secure else 80)), TIMEOUT_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not secure:
        return sock
    context = ssl.create_default_context()
    tls = context.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
    with within(tls, TIMEOUT_S):
        tls.do_handshake()
    return tls


def send(sock: socket.socket, request: Request) -> None:
    try:
        with within(sock, TIMEOUT_S + request.pause_s * len(request.writes)):
            for number, write in enumerate(request.writes):
                if number:
                    time.sleep(request.pause_s)
                sock.sendall(write)
    except OSError as error:
        print("the request could not be sent completely:", error)


def receive(sock: socket.socket) -> bytes:
    keeping = Keeping(sock)
    response = http.client.HTTPResponse(sock, method="POST")
    response.fp.close()
    response.fp = io.BufferedReader(keeping, 1)  # reads no byte of the next response
    try:
        with within(sock, TIMEOUT_S):
            response.begin()
            while response.read(65536):
                pass
        if response.length:
            print("incomplete response:", response.length, "bytes are missing")
    except (OSError, ValueError, http.client.HTTPException) as error:
        print("incomplete response:", ascii(error)[:200])
    return bytes(keeping.kept)


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
                print("no connection:", error)
                sys.exit(1)
        send(sock, request)
        size = sum(map(len, request.writes))
        print(f"request {number}: {size} bytes in {len(request.writes)} writes; the response:")
        for _ in range(request.answers):
            dump(receive(sock))
    if sock is not None:
        sock.close()
