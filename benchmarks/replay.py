"""A bare socket: what a run sent is sent again, with as little work as finding ends takes."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

from v2_conformance.report.document import Report
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending


def answered_requests(report: Report) -> list[bytes]:
    """The requests of a report that were sent whole, and answered on a connection left open."""
    exchanges = [*report.discovery]
    exchanges += [one for found in report.calibration for one in found.exchanges]
    exchanges += [one for case in report.cases for one in case.exchanges]
    return [bytes(one.request) for one in exchanges if _is_plain(one)]


def _is_plain(exchange: Exchange) -> bool:
    return (
        exchange.ending is Ending.COMPLETE
        and exchange.open
        and exchange.answers == 1
        and exchange.sent == len(exchange.request)
        and exchange.received.start(10) != b"HTTP/1.1 1"
    )


def timed_replay(url: str, requests: Sequence[bytes]) -> float:
    """Seconds to send `requests` and read their responses on one connection."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port or 80)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        started = time.perf_counter()
        for request in requests:
            sock.sendall(request)
            _read_response(sock, request)
        return time.perf_counter() - started


def _read_response(sock: socket.socket, request: bytes) -> None:
    data = bytearray()
    while (end := data.find(b"\r\n\r\n")) < 0:
        data += _receive(sock)
    head = bytes(data[:end]).lower()
    status = head.split(None, 2)[1]
    if request.startswith(b"HEAD ") or status in (b"204", b"304"):
        return  # whatever length the response declares, it has no body
    if b"\r\ntransfer-encoding:" in head:
        while not data.endswith(b"\r\n0\r\n\r\n"):
            data += _receive(sock)
        return
    length = int(head.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0])
    missing = end + 4 + length - len(data)
    while missing > 0:
        missing -= len(_receive(sock))


def _receive(sock: socket.socket) -> bytes:
    data = sock.recv(256 * 1024)
    if not data:
        raise ConnectionError("the server closed the connection")
    return data
