"""A request's parts as the bytes of HTTP/1.1."""

from __future__ import annotations

import pytest

from v2_conformance.wire.http1.request import asks_to_close, write_head
from v2_conformance.wire.transport import Head


def test_a_head_is_written_just_as_it_is() -> None:
    head = Head("POST", "/a b?c", (("Host", "h"), ("x-A", ""), ("X-A", "é"), ("x-A", " 2 ")))
    text = "POST /a b?c HTTP/1.1\r\nHost: h\r\nx-A: \r\nX-A: é\r\nx-A:  2 \r\n\r\n"
    assert write_head(head) == text.encode()
    assert write_head(Head("GET", "/")) == b"GET / HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize(
    ("fields", "closes"),
    [
        ("Connection: close", True),
        ("connection:keep-alive ,\tCLOSE", True),
        ("Connection: x\r\nHost: h\r\nConnection: close, te", True),
        ("Connection: x-close, not-closed", False),
        ("X-Connection: close", False),
    ],
)
def test_close_is_read_among_other_options(fields: str, closes: bool) -> None:
    assert asks_to_close(f"GET / HTTP/1.1\r\n{fields}\r\n\r\n".encode()) is closes
