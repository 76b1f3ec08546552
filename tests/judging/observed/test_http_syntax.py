"""The syntax of HTTP/1.1: what a response may look like, and each rule that it can break."""

from __future__ import annotations

import pytest

from support.responses import GOOD
from v2_conformance.judging.observed.http_syntax import Syntax
from v2_conformance.suite.causes.kinds import HttpRule, InvalidHttp

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def ended(*lines: bytes) -> bytes:
    return OK + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


@pytest.mark.parametrize(
    "received",
    [
        GOOD,
        ended(b"content-length:0", b"X:", b"Y: \t a b \xe9 \t"),
        b"HTTP/1.1 299 \xfcblich\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + b"HTTP/1.1 102 \r\n\r\n" + ended(b"X: y"),
        b"HTTP/1.1 304 \r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 204 \r\n\r\n",
        ended(b"Set-Cookie: a", b"Set-Cookie: b", b"Vary: a", b"Vary: b", b"Content-Length: 0"),
        CHUNKED + b'0A;name="value" ; x\r\n0123456789\r\n000\r\nTrailer: a\r\n\r\n',
        ended(b"Transfer-Encoding: Chunked") + b"0\r\n\r\n",
        ended(b"Transfer-Encoding:", b"Transfer-Encoding: chunked,") + b"0\r\n\r\n",
        ended(b"Content-Length: 007"),
        ended(b"Content-Length: 1") + b"abc",
    ],
)
def test_legal_responses_keep_every_rule(received: bytes) -> None:
    found = Syntax(received)
    assert (found.broken, found.judged) == ((), True)


@pytest.mark.parametrize(
    ("received", "rule", "shown"),
    [
        (b"HTTP/2.0 200 OK\r\n\r\n", "status_line", "HTTP/2.0 200 OK"),
        (b"HTTP/1.2 200 OK\r\n\r\n", "status_line", "HTTP/1.2 200 OK"),
        (b"HTTP/1.1 600 OK\r\n\r\n", "status_line", "HTTP/1.1 600 OK"),
        (b"HTTP/1.1 200 O\x08K\r\n\r\n", "status_line", "HTTP/1.1 200 O\\x08K"),
        (b"HTTP/1.1 200 OK\nContent-Length: 0\n\n", "line_end", "HTTP/1.1 200 OK"),
        (ended(b"A: b\nC: d"), "line_end", "A: b"),
        (ended(b"A: b", b" c"), "folded_line", " c"),
        (ended(b"A : b"), "space_before_colon", "A : b"),
        (ended(b"no colon"), "field_name", "no colon"),
        (ended(b"A: \x00"), "field_value", "A: \\x00"),
        (ended(b"A\0: b"), "field_name", "A\\x00: b"),
        (ended(b"Content-Length: 1", b"content-length: 1"), "content_length",
         "1 and 1"),
        (ended(b"Content-Length: -1"), "content_length", "-1"),
        (ended(b"Content-Type: a/b", b"Content-Type: a/b"), "repeated_field",
         "content-type: a/b and a/b"),
        (ended(b"Inference-Header-Content-Length: 1", b"inference-header-content-length: 2"),
         "repeated_field", "inference-header-content-length: 1 and 2"),
        (ended(b"Content-Length: +1"), "content_length", "+1"),
        (ended(b"Content-Length: 1", b"Transfer-Encoding: chunked"), "content_length_not_allowed",
         "1"),
        (b"HTTP/1.1 204 \r\nContent-Length: 0\r\n\r\n", "content_length_not_allowed", "0"),
        (ended(b"Transfer-Encoding: chunked, gzip"), "transfer_coding", "chunked, gzip"),
        (ended(b"Transfer-Encoding: gzip, chunked"), "transfer_coding", "gzip, chunked"),
        (b"HTTP/1.1 204 \r\nTransfer-Encoding: chunked\r\n\r\n", "transfer_coding", "chunked"),
        (b"HTTP/1.0 200 \r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "transfer_coding",
         "chunked"),
        (b"HTTP/1.1 101 \r\nUpgrade: h2c\r\n\r\n\0\0", "interim_response", "HTTP/1.1 101 "),
        (b"HTTP/1.1 103 \r\nContent-Length: 7\r\n\r\n" + ended(), "interim_response",
         "content-length: 7"),
        (b"HTTP/1.1 100 \r\n\r\nbody" + ended(), "interim_response",
         "bodyHTTP/1.1 200 OK\\r\\n\\r\\n"),
        (CHUNKED + b"3 \r\nabc\r\n0\r\n\r\n", "chunk", "3 \\r\\nabc\\r\\n0\\r\\n\\r\\n"),
        (CHUNKED + b"3\r\nabc\n0\r\n\r\n", "chunk", "\\n0"),
        (CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n", "chunk", "d\\r"),
        (CHUNKED + b"3;a=\x01\r\nabc\r\n0\r\n\r\n", "chunk",
         "3;a=\\x01\\r\\nabc\\r\\n0\\r\\n\\r\\n"),
        (CHUNKED + b"0\r\n", "chunk", "0\\r\\n"),
        (CHUNKED + b"0\r\nContent-Length: 3\r\n\r\n", "content_length_not_allowed",
         "content-length: 3"),
        (CHUNKED + b"0\r\nA : b\r\n\r\n", "space_before_colon", "A : b"),
    ],
)  # fmt: skip
def test_the_broken_rule_alone_is_named(received: bytes, rule: HttpRule, shown: str) -> None:
    assert Syntax(received).broken == (InvalidHttp(rule, shown),)


@pytest.mark.parametrize(
    "received",
    [
        b"", b"HTTP/1.1 200 OK\r\nContent-Le", b"HT", CHUNKED + b"3\r\nab",
        CHUNKED + b"3\r\nabc\r", CHUNKED + b"1f", CHUNKED + b"0\r\nTrai",
        b"HTTP/1.1 100 \r\n\r\nHTT",
    ],
)  # fmt: skip
def test_what_breaks_off_breaks_no_rule(received: bytes) -> None:
    assert Syntax(received).broken == ()


def test_every_defect_of_a_response_is_found() -> None:
    received = b"HTTP/2.0 200 OK\nContent-Length : 0, 0\r\n b\r\nTransfer-Encoding: x\0\r\n\r\n"
    assert {one.rule for one in Syntax(received).broken} == {
        "status_line", "line_end", "space_before_colon", "folded_line", "field_value",
        "content_length", "content_length_not_allowed", "transfer_coding",
    }  # fmt: skip


def test_a_client_gets_what_it_offers_and_an_old_one_no_interim_response() -> None:
    received = ended(b"Transfer-Encoding: gzip;q=1, chunked") + b"0\r\n\r\n"
    assert Syntax(received, offered={b"gzip"}).broken == ()
    hint = b"HTTP/1.1 103 \r\n\r\n" + ended()
    assert Syntax(hint).broken == ()
    shown = InvalidHttp("interim_response", "HTTP/1.1 103 ")
    assert Syntax(hint, old_client=True).broken == (shown,)
    (coding,) = Syntax(CHUNKED + b"zz", old_client=True).broken
    shown = InvalidHttp("transfer_coding", "chunked in the answer to an HTTP/1.0 request")
    assert coding == shown


def test_after_the_head_of_an_answer_to_a_head_there_are_no_chunks() -> None:
    assert Syntax(CHUNKED + b"zz", bodiless=True).broken == ()
    assert Syntax(CHUNKED + b"zz").broken != ()
