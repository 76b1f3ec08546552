"""Masks: secrets are hidden wherever they stand, byte for byte, and nothing else is."""

from __future__ import annotations

import re
from collections.abc import Callable
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from v2_conformance.redaction import Mask


@pytest.mark.parametrize(
    ("head", "hidden"),
    [
        (b"HTTP/1.1 200 OK\r\nSet-Cookie: id=abc\r\nA: b", b"id=abc"),
        (b"HTTP/1.1 200 OK\r\nset-COOKIE:id=abc; Path=/", b"id=abc; Path=/"),
        (b"HTTP/1.1 200 OK\nSet-Cookie: id=abc\nA: b", b"id=abc"),
        (b"GET / HTTP/1.1\r\nCookie: \tid=abc", b"id=abc"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nSet-Cookie: id=abc", b"id=abc"),
        (b"HTTP/1.1 200 OK\r\nSet-Cookie: id=\r\n abc", b"id=\r\n abc"),
        (b"HTTP/1.1 200 OK\r\nSet-Cookie: id=abc\r\nSet-Cookie: id=abc", b"id=abc"),
    ],
)
def test_values_of_cookies_are_masked_byte_for_byte(head: bytes, hidden: bytes) -> None:
    body = b"\r\n\r\nCookie: in the body\r\nSet-Cookie: stays"
    masked = Mask().data(head + body)
    assert masked == head.replace(hidden, b"*" * len(hidden)) + body


def test_masking_nothing_changes_nothing() -> None:
    data = bytes(range(256)) * 40
    assert Mask(("absent",)).data(memoryview(data)) == data
    assert Mask(("absent",)).text("text") == "text"


PIECES = st.sampled_from(
    [
        *(b"HTTP/1.1 200 OK", b"HTTP/1.1 100 Continue", b"POST /x HTTP/1.1", b"GET / HTTP/1.1"),
        *(b"\r\n", b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"\n\n", b"Cookie: a", b"SET-cookie:b"),
        *(b"cookie", b"COOKIE:", b"X-Key: c", b"x-key:d", b"Content-Length: 3", b"abc", b" ", b"3"),
        *(b"0", b"Transfer-Encoding: chunked", b"Content-Encoding: gzip", b"hide-me"),
    ]
)


@settings(max_examples=500)
@given(
    st.lists(PIECES, max_size=12).map(b"".join),
    st.sampled_from([Mask(), Mask(fields=("X-Key",)), Mask(("hide-me",), ("X-Key",))]),
)
def test_harmless_bytes_are_those_that_stay(data: bytes, mask: Mask) -> None:
    masked = mask.data(data), mask.sent(data)
    with mock.patch.object(Mask, "_shows_nothing", return_value=False):
        assert masked == (mask.data(data), mask.sent(data))


def test_a_secret_is_masked_also_where_a_message_quotes_it_as_ascii() -> None:
    mask = Mask(("pä\\ssword",))
    assert "ss" not in mask.text(ascii("echo pä\\ssword"))
    assert mask.data("x pä\\ssword".encode()) == b"x **********"


def test_a_secret_that_a_message_cuts_off_is_masked_as_far_as_it_goes() -> None:
    assert Mask(("a-long-secret",)).text("got a-long-sec…") == "got **********…"
    assert Mask(("a-long-secret",)).text("got b'a-long-sec'…") == "got b'**********'…"


def test_a_short_secret_is_masked_in_its_own_field_and_leaves_the_rest_readable() -> None:
    mask = Mask(("200",), ("X-Partition-Key",))
    head = b"POST / HTTP/1.1\r\nx-partition-key: 200\r\n\r\nbody 200"
    assert mask.data(head) == b"POST / HTTP/1.1\r\nx-partition-key: ***\r\n\r\nbody 200"
    assert mask.data(b"HTTP/1.1 200 OK\r\n\r\n") == b"HTTP/1.1 200 OK\r\n\r\n"


def test_the_head_of_a_pipelined_request_is_masked_and_bodies_are_not() -> None:
    one = b"POST /v2 HTTP/1.1\r\nX-Key: abc\r\nContent-Length: 12\r\n\r\n\r\nX-Key: abc\r"
    masked = one.replace(b"X-Key: abc", b"X-Key: ***", 1)
    assert Mask(fields=("X-Key",)).sent(one + one) == masked + masked


SECRET = "tok-Zq7rX2mWc9Lp4Vn8sKd3hB"
HIDDEN = re.compile(rb"[*-]+")


@pytest.mark.parametrize("shown", [SECRET[:24], SECRET[2:], SECRET[:14], SECRET[-14:]])
@pytest.mark.parametrize(
    "coded", [str, lambda text: text.encode().hex(), lambda text: text.upper()]
)
def test_part_of_a_long_secret_is_masked(shown: str, coded: Callable[[str], str]) -> None:
    body = b'{"error": "1 ' + coded(shown).encode() + b' 1"}'
    head = b"HTTP/1.1 400 Bad\r\nContent-Length: %d\r\n\r\n" % len(body)
    masked = Mask((SECRET,)).data(head + body)
    assert len(masked) == len(head + body)
    start = masked.index(b'"1 ') + 3
    assert HIDDEN.fullmatch(masked[start : masked.index(b' 1"')])


@pytest.mark.parametrize("shown", [SECRET[2:], SECRET[:14], SECRET[-14:]])
def test_part_of_a_long_secret_is_masked_in_a_message_that_cuts_nothing_off(shown: str) -> None:
    assert HIDDEN.fullmatch(Mask((SECRET,)).text(f"1 {shown} 1").encode()[2:-2])


def test_a_smaller_part_of_a_secret_is_left_as_chance_may_have_it() -> None:
    data = b"HTTP/1.1 400 Bad\r\n\r\ntok-Zq7rX2 and sKd3hB"
    assert Mask((SECRET,)).data(data) == data
    known = "identity_int32-with-a-suffix"  # a half of it stands in every report
    assert Mask((known,)).data(b"model identity_int32-w") == b"model identity_int32-w"
