"""A request's parts as the bytes of HTTP/1.1."""

from __future__ import annotations

from v2_conformance.wire.http1_request import write_chunks, write_head
from v2_conformance.wire.transport import Head


def test_a_head_is_written_just_as_it_is() -> None:
    head = Head("POST", "/a b?c", (("Host", "h"), ("x-A", ""), ("X-A", "é"), ("x-A", " 2 ")))
    text = "POST /a b?c HTTP/1.1\r\nHost: h\r\nx-A: \r\nX-A: é\r\nx-A:  2 \r\n\r\n"
    assert write_head(head) == text.encode()
    assert write_head(Head("GET", "/")) == b"GET / HTTP/1.1\r\n\r\n"


def test_each_piece_is_a_chunk_and_an_empty_one_ends_the_body() -> None:
    assert write_chunks([b"a" * 26, memoryview(b"xyz")[1:]]) == (
        b"1a\r\n" + b"a" * 26 + b"\r\n",
        b"2\r\nyz\r\n",
        b"0\r\n\r\n",
    )
    assert write_chunks([]) == (b"0\r\n\r\n",)
