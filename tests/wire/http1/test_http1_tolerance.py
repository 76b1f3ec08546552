"""Heads that break HTTP/1.1 are read as tolerant clients read them, and only those."""

from __future__ import annotations

import pytest

from support.responses import parsed
from v2_conformance.wire.http1.response import ResponseReader
from v2_conformance.wire.http1.tolerance import tolerated
from v2_conformance.wire.response import Limits

OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: 3\r\n"
CHUNKED = b"\r\n3\r\nabc\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "received",
    [
        b"HTTP/2 200 OK\r\n" + LENGTH + b"\r\nabc",
        b"HTTP/9.9 200 OK\r\n" + LENGTH + b"\r\nabc",
        b"HTTP/1.1  200\t\r\n" + LENGTH + b"\r\nabc",
        b"HTTP/1.1 200 O\0K\r\n" + LENGTH + b"\r\nabc",
        OK + b"Content-Length : 3\r\n\r\nabc",
        OK + b"X Y: z\r\n\xe9: z\r\n: z\r\n" + LENGTH + b"\r\nabc",
        OK + b"X: a\0\x01\rb\r\n " + b"\0\r\n" + LENGTH + b"\r\nabc",
        OK + b"Transfer-Encoding: chunked, chunked\r\n" + CHUNKED,
        OK + b"Transfer-Encoding: identity\r\nTransfer-Encoding: CHUNKED\r\n" + CHUNKED,
        OK + b"Transfer-Encoding: identity\r\n" + LENGTH + b"\r\nabc",
        b"HTTP/1.1 103 \0\r\n\r\n" + OK + b"X: \0\n" + LENGTH + b"\r\nabc",
    ],
)
def test_one_broken_line_hides_no_response(received: bytes) -> None:
    response = parsed(received)
    assert response.status == 200
    assert bytes(response.body) == b"abc"
    assert response.excess == 0


def test_a_broken_line_that_comes_byte_by_byte_hides_no_response() -> None:
    received = OK + b"Content-Length : 3\r\nX\t: y\r\n\r\na:b"
    reader = ResponseReader(Limits())
    for at in range(len(received)):
        reader.feed(received[at : at + 1])
    assert reader.done
    assert bytes(reader.response().body) == b"a:b"


@pytest.mark.parametrize(
    "received",
    [
        OK + LENGTH,
        b"HTTP/1.1 20x OK\r\n\r\n",
        OK.replace(b" ", b"") + b"\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade:x\r\n\r\n",
        OK + b"no colon\r\n\r\n",
        OK + b"Content-Length:+3\r\n\r\nabc",
    ],
)
def test_nothing_is_made_up(received: bytes) -> None:
    assert tolerated(received) is None
