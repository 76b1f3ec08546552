"""A request's parts as the bytes of HTTP/1.1."""

from __future__ import annotations

from v2_conformance.wire.http1_request import write_head
from v2_conformance.wire.transport import Head


def test_a_head_is_written_just_as_it_is() -> None:
    head = Head("POST", "/a b?c", (("Host", "h"), ("x-A", ""), ("X-A", "é"), ("x-A", " 2 ")))
    text = "POST /a b?c HTTP/1.1\r\nHost: h\r\nx-A: \r\nX-A: é\r\nx-A:  2 \r\n\r\n"
    assert write_head(head) == text.encode()
    assert write_head(Head("GET", "/")) == b"GET / HTTP/1.1\r\n\r\n"
