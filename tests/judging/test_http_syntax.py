"""The syntax of HTTP/1.1: what a response may look like, and each rule that it can break."""

from __future__ import annotations

import pytest

from support.responses import GOOD
from v2_conformance.judging.http_syntax import check_syntax
from v2_conformance.judging.verdict import Finding
from v2_conformance.suite.observations import InvalidHttp

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def ended(*lines: bytes) -> bytes:
    return OK + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


@pytest.mark.parametrize(
    "received",
    [
        GOOD,
        ended(b"Content-Length: 0"),
        ended(b"content-length:0", b"X:", b"Y: \t a b \xe9 \t"),
        b"HTTP/1.0 404 \r\n\r\n",
        b"HTTP/1.1 299 \xfcblich\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + ended(b"Content-Length: 0"),
        b"HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n\r\n" + ended(b"Content-Length: 0"),
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 204 \r\n\r\n",
        ended(b"Set-Cookie: a", b"Set-Cookie: b", b"Vary: a", b"Vary: b", b"Content-Length: 0"),
        CHUNKED + b"3\r\nabc\r\n0\r\n\r\n",
        CHUNKED + b'0A;name="value" ; x\r\n0123456789\r\n000\r\nTrailer: a\r\n\r\n',
        ended(b"Transfer-Encoding: gzip, chunked")[:-2] + b"\r\n0\r\n\r\n",
        ended(b"Content-Length: 1") + b"abc",
    ],
)
def test_legal_responses_keep_every_rule(received: bytes) -> None:
    assert check_syntax(received)


@pytest.mark.parametrize(
    ("received", "rule", "shown"),
    [
        (b"HTTP/1.1 200\r\n\r\n", "status_line", "HTTP/1.1 200"),
        (b"HTTP/1.1  200 OK\r\n\r\n", "status_line", "HTTP/1.1  200 OK"),
        (b"HTTP/1.1 20 OK\r\n\r\n", "status_line", "HTTP/1.1 20 OK"),
        (b"HTTP/2 200 OK\r\n\r\n", "status_line", "HTTP/2 200 OK"),
        (b"HTTP/1.1 200 OK\nContent-Length: 0\n\n", "line_end", "HTTP/1.1 200 OK"),
        (ended(b"A: b\nC: d"), "line_end", "A: b"),
        (ended(b"A: b", b" c"), "folded_line", " c"),
        (ended(b"A : b"), "space_before_colon", "A : b"),
        (ended(b"no colon"), "field_name", "no colon"),
        (ended(b"a/b: c"), "field_name", "a/b: c"),
        (ended(b"A: \x00"), "field_value", "A: \\x00"),
        (ended(b"A: b\rc"), "field_value", "A: b\\rc"),
        (ended(b"Content-Length: 1", b"content-length: 1"), "repeated_field",
         "content-length: 1 and 1"),
        (ended(b"Content-Type: a/b", b"Content-Type: a/b"), "repeated_field",
         "content-type: a/b and a/b"),
        (ended(b"Inference-Header-Content-Length: 1", b"inference-header-content-length: 2"),
         "repeated_field", "inference-header-content-length: 1 and 2"),
        (ended(b"Content-Length: +1"), "content_length", "+1"),
        (ended(b"Content-Length: 1, 1"), "content_length", "1, 1"),
        (ended(b"Content-Length: 1", b"Transfer-Encoding: chunked"), "content_length_not_allowed",
         "1"),
        (b"HTTP/1.1 204 \r\nContent-Length: 0\r\n\r\n", "content_length_not_allowed", "0"),
        (ended(b"Transfer-Encoding: chunked, gzip"), "transfer_coding", "chunked, gzip"),
        (CHUNKED + b"3 \r\nabc\r\n0\r\n\r\n", "chunk", "3 \\r\\nabc\\r\\n0\\r\\n\\r\\n"),
        (CHUNKED + b"3\nabc\r\n0\r\n\r\n", "chunk", "3\\nabc\\r\\n0\\r\\n\\r\\n"),
        (CHUNKED + b"3\r\nabc\n0\r\n\r\n", "chunk", "\\n0"),
        (CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n", "chunk", "0x3\\r\\nabc\\r\\n0\\r\\n\\r\\n"),
        (CHUNKED + b"0\r\nA: b\n\r\n", "line_end", "A: b\\n"),
        (CHUNKED + b"0\r\nA : b\r\n\r\n", "space_before_colon", "A : b"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_named_with_its_place(received: bytes, rule: str, shown: str) -> None:
    with pytest.raises(Finding) as raised:
        check_syntax(received)
    assert isinstance(raised.value.cause, InvalidHttp)
    assert (raised.value.cause.rule, raised.value.cause.shown) == (rule, shown)


@pytest.mark.parametrize("received", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", b"\x16\x03\x01"])
def test_without_a_whole_head_nothing_is_judged(received: bytes) -> None:
    assert not check_syntax(received)
