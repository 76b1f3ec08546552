"""Plain messages are read without h11: to the same end as with it, whatever comes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.servers import same
from v2_conformance.judging.messages.request import _read
from v2_conformance.wire.http1.plain_head import plain_request, plain_response
from v2_conformance.wire.http1.response import ResponseReader
from v2_conformance.wire.response import Limits

FIELDS = [
    b"Content-Length: 5",
    b"content-length:5",
    b"CONTENT-LENGTH:\t 5 \t",
    b"Content-Length: 0",
    b"Content-Length: 005",
    b"Content-Length: +5",
    b"Content-Length: 5, 5",
    b"Content-Length: 5,6",
    b"Content-Length: " + b"9" * 16,
    b"Content-Length: " + b"0" * 30 + b"5",
    b"Content-Length:",
    b"Content-Length : 5",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip",
    b"Connection: close",
    b"Connection: keep-alive",
    b"Upgrade: h2c",
    b"Host: a",
    b"Host: b",
    b"Expect: 100-continue",
    b"Content-Type: application/octet-stream",
    b"Inference-Header-Content-Length: 3",
    b"X: a   b\tc",
    b"X: \xe9",
    b"X: \x01",
    b"X: \x7f",
    b"X: a\0b",
    b"X: a\rb",
    b"X: a\nY: b",
    b"X: a\x0bb",
    b" folded",
    b": no name",
    b"no colon",
    b"Name\xe9: 1",
    b"Na me: 1",
    b"",
]
STATUS_LINES = [
    *(b"HTTP/1.1 %d OK" % status for status in (200, 204, 304, 400, 500, 599, 600, 199, 101, 99)),
    b"HTTP/1.1 200",
    b"HTTP/1.1 200 ",
    b"HTTP/1.1  200 OK",
    b"HTTP/1.1 200 \xe9",
    b"HTTP/1.1 200 a\tb",
    b"HTTP/1.0 200 OK",
    b"HTTP/2 200 OK",
    b"http/1.1 200 OK",
    b"\r\nHTTP/1.1 200 OK",
]
REQUEST_LINES = [
    b"GET /v2 HTTP/1.1",
    b"POST /v2/models/m/infer HTTP/1.1",
    b"POST /%2e HTTP/1.1",
    b"POST http://a/v2 HTTP/1.1",
    b"POST /\xe9 HTTP/1.1",
    b"POST / HTTP/1.0",
    b"POST / HTTP/2",
    b"POST  / HTTP/1.1",
    b"post / HTTP/1.1",
    b"HEAD / HTTP/1.1",
    b"CONNECT a:1 HTTP/1.1",
    b"POST /",
]
ENDS = st.sampled_from([b"\r\n"] * 12 + [b"\n", b"\r", b"\r\n\r\n"])


@st.composite
def heads(draw: Any, lines: list[bytes]) -> bytes:
    """A head, mostly a plain one."""
    plain = lines[:1] if draw(st.booleans()) else lines
    found = [draw(st.sampled_from(plain)), *draw(st.lists(st.sampled_from(FIELDS), max_size=5))]
    if draw(st.booleans()):
        found.append(FIELDS[0])
    written: bytes = b"".join(line + draw(ENDS) for line in found)
    end: bytes = draw(st.sampled_from([b"\r\n"] * 8 + [b"\n", b""]))
    return written + end


BODIES = st.sampled_from([b"", b"1234", b"12345", b"123456", b"5\r\n12345\r\n0\r\n\r\n"])


def read(raw: bytes, cuts: list[int]) -> Any:
    """All that anybody can see of a response that arrives in these pieces."""
    reader = ResponseReader(Limits())
    seen: list[object] = []
    for start, stop in pairwise([0, *sorted(cuts), len(raw), len(raw)]):
        if (raw[start:stop] or stop == len(raw) == start) and not (reader.done or reader.error):
            reader.feed(raw[start:stop])
        seen.append((reader.done, reader.error, reader.eof, reader.in_body, reader.reusable))
        seen.append((reader.error_ending, bytes(reader.raw), reader.answered_first))
    if not reader.in_body:
        return seen
    came = reader.response()
    return seen, same(came), came.whole, came.following


@given(heads(STATUS_LINES), BODIES, st.lists(st.integers(0, 150), max_size=3))
@settings(max_examples=200)
def test_a_response_is_read_as_h11_reads_it(head: bytes, body: bytes, cuts: list[int]) -> None:
    found = read(head + body, cuts)
    with patch("v2_conformance.wire.http1.response.plain_response", lambda data: None):
        assert found == read(head + body, cuts)


@given(heads(REQUEST_LINES), BODIES)
@settings(max_examples=200)
def test_a_request_is_read_as_h11_reads_it(head: bytes, body: bytes) -> None:
    found = _read(head + body)
    with patch("v2_conformance.judging.messages.request.plain_request", lambda data: None):
        assert found == _read(head + body)


@pytest.mark.parametrize("length", [7900, 8100, 70_000])
def test_a_long_head_is_read_as_h11_reads_it(length: int) -> None:
    raw = b"HTTP/1.1 200 OK\r\nX: %b\r\nContent-Length: 2\r\n\r\nab" % (b"x" * length)
    found = read(raw, [])
    with patch("v2_conformance.wire.http1.response.plain_response", lambda data: None):
        assert found == read(raw, [])


def test_ordinary_messages_are_plain() -> None:
    response = b"HTTP/1.1 200 OK\r\nContent-Type: a\r\nContent-Length: 2\r\n\r\nab"
    assert plain_response(response) is not None
    assert plain_request(b"POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\n\r\n") is not None
