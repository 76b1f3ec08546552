"""Our reader of HTTP/1 and h11 agree on whatever h11 reads, however it comes in pieces."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from typing import Any

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.responses import http, parsed
from v2_conformance.wire.reader import MessageReader
from v2_conformance.wire.response import Ending, Limits
from v2_conformance.wire.response_reader import ResponseReader, read_again

FIELDS = [
    *(b"Content-Length: 5", b"content-length:5", b"CONTENT-LENGTH:\t 5 \t", b"Content-Length: 0"),
    *(b"Content-Length: 005", b"Content-Length: +5", b"Content-Length: 5, 5"),
    *(b"Content-Length: 5,6", b"Content-Length: " + b"9" * 16, b"Content-Length:"),
    *(b"Content-Length: " + b"0" * 30 + b"5", b"Content-Length : 5"),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: CHUNKED", b"Transfer-Encoding: gzip"),
    *(b"Connection: close", b"Connection: x, Close", b"Connection: keep-alive", b"Upgrade: h2c"),
    *(b"Host: a", b"Host: b", b"Expect: 100-continue", b"Content-Type: application/octet-stream"),
    *(b"X: a   b\tc", b"X: \xe9", b"X: \x01", b"X: \x7f", b"X: a\0b", b"X: a\rb", b"X: a\nY: b"),
    *(b"X: a\x0bb", b" folded", b"\t folded", b": no name", b"no colon", b"Name\xe9: 1"),
    *(b"Na me: 1", b"", b"X: " + b"x" * 5000),
]
STATUS_LINES = [
    *(b"HTTP/1.1 %d OK" % status for status in (200, 204, 304, 400, 500, 599, 600, 199, 101, 99)),
    *(b"HTTP/1.1 200", b"HTTP/1.1 200 ", b"HTTP/1.1  200 OK", b"HTTP/1.1 200 \xe9"),
    *(b"HTTP/1.1 200 a\tb", b"HTTP/1.0 200 OK", b"HTTP/2 200 OK", b"http/1.1 200 OK"),
    *(b"\r\nHTTP/1.1 200 OK", b"HTTP/1.1 103 E\r\nA: b\r\n\r\nHTTP/1.1 200 OK", b"SSH-2.0"),
]
CHUNKS = [
    *(b"1\r\n{\r\n", b"2\r\n\r\n\r\n", b"0a\r\n0123456789\r\n", b"0" * 19 + b"3\r\nabc\r\n"),
    *(b"1;name=value\r\na\r\n", b'1;q="a;b"\t\r\na\r\n', b"1" + b" " * 300 + b"\r\na\r\n"),
    *(b"1;" + b"e" * 300 + b"\r\na\r\n", b"1;\ra\r\na\r\n", b"1500\r\n" + b"x" * 0x1500 + b"\r\n"),
]
ODD_CHUNKS = [
    *(b"0" * 20 + b"3\r\nabc\r\n", b"1\r\nab\r\n", b"3\r\na\r\n", b"1\r\na\n", b"x\r\n", b"\r\n"),
    *(b"f" * 20 + b"\r\n", b"-1\r\n", b"0x1\r\na\r\n", b"0\r\n", b"1 ;a\r\na\r\n"),
    *(b"0;last\r\nTrailer: 1\r\n\r\n", b"0\r\nno colon\r\n\r\n"),
]
ENDS = st.sampled_from([b"\r\n"] * 12 + [b"\n", b"\r", b"\r\n\r\n"])
CUTS = st.lists(st.one_of(st.integers(0, 300), st.integers(0, 9000)), max_size=5)


@st.composite
def messages(draw: Any) -> bytes:
    """A message, mostly a plain one, often in chunks with an odd place, perhaps with more after."""
    first = draw(st.sampled_from(STATUS_LINES[:1] if draw(st.booleans()) else STATUS_LINES))
    fields = draw(st.lists(st.sampled_from(FIELDS), max_size=3))
    framing = draw(st.sampled_from([b"Content-Length: 5", b"Transfer-Encoding: chunked", b"A: b"]))
    head = b"".join(line + draw(ENDS) for line in [first, framing, *fields])
    body = draw(st.sampled_from([b"", b"1234", b"12345", b"123456"]))
    if draw(st.booleans()):
        chunks = draw(st.lists(st.sampled_from(CHUNKS), max_size=5))
        if draw(st.booleans()):
            chunks.insert(draw(st.integers(0, len(chunks))), draw(st.sampled_from(ODD_CHUNKS)))
        body = b"".join(chunks) + draw(st.sampled_from([b"0\r\n\r\n", b"0\r\nT: u\r\n\r\n", b"0"]))
    return bytes(head + draw(st.sampled_from([b"\r\n"] * 8 + [b"\n", b""])) + body)


def by_h11(raw: bytes, method: str = "POST") -> Any:
    """How h11 reads the response: head, body, whether whole, if the connection stays, what is left.
    None if it refuses it, and without the rest if it refuses that."""
    parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=Limits().head)
    parser.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
    parser.send(h11.EndOfMessage())
    parser.receive_data(raw)
    head, body = None, b""
    eof = False
    try:
        while True:
            event = parser.next_event()
            if isinstance(event, h11.Response):
                head = event
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                stays = parser.their_state is h11.DONE and not eof
                return head, body, True, stays, len(parser.trailing_data[0])
            elif event is h11.NEED_DATA and not eof:
                parser.receive_data(b"")
                eof = True
            elif not isinstance(event, h11.InformationalResponse):
                return head, body, False, False, 0
    except h11.RemoteProtocolError:
        return None if head is None else (head, body, False, False, 0)


def fed(reader: MessageReader, raw: bytes, cuts: list[int]) -> MessageReader:
    """The reader after the bytes came in these pieces, and then the end."""
    for start, stop in pairwise([0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]):
        if raw[start:stop] and not (reader.done or reader.error):
            reader.feed(raw[start:stop])
    if not (reader.done or reader.error):
        reader.feed(b"")
    reader.raw += raw[len(reader.raw) :]  # what came after the end
    return reader


def comparable(fields: Any) -> list[Any]:
    """Fields without those of framing, which h11 writes anew; white space counts once."""
    texts = [one if isinstance(one[0], str) else (one[0].decode(), one[1].decode("latin-1"))
             for one in fields]  # fmt: skip
    framing = {"content-length", "transfer-encoding"}
    return [(name, re.sub(r"[ \t]+", " ", v)) for name, v in texts if name not in framing]


@given(messages(), CUTS, st.sampled_from(["POST", "HEAD"]))
@settings(max_examples=400)
def test_what_h11_reads_of_a_response_is_read_alike(
    raw: bytes, cuts: list[int], method: str
) -> None:
    reader = ResponseReader(Limits(), bodiless=method == "HEAD")
    fed(reader, raw, cuts)
    expected = by_h11(raw, method)
    if expected is None:
        return
    head, body, whole, stays, excess = expected
    found = reader.response()
    assert (found.status, comparable(found.headers)) == (head.status_code, comparable(head.headers))
    assert bytes(found.body) == body
    if whole:
        assert (found.whole, found.excess, reader.reusable) == (True, excess, stays and not excess)
    assert whole or not found.whole or b"0\r\n" in raw  # a trailer section may be odd


@given(messages(), messages(), CUTS, st.integers(1, 3))
@settings(max_examples=300)
def test_the_pieces_in_which_responses_come_do_not_matter(
    one: bytes, other: bytes, cuts: list[int], answers: int
) -> None:
    def seen(cuts: list[int]) -> object:
        reader = ResponseReader(Limits(), answers)
        fed(reader, one + other, cuts)
        said = reader.done, reader.error_ending if reader.error else None, reader.reusable
        came = reader.response() if reader.in_body else None
        shown = []
        while came is not None:
            shown.append((came.status, came.headers, bytes(came.body), came.whole, came.excess))
            came = came.following
        return said, shown

    assert seen(cuts) == seen([])


# What h11 refuses, and we read.

OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: 3\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"


@pytest.mark.parametrize(
    "received",
    [
        b"HTTP/2 200 OK\r\n" + LENGTH + b"\r\nabc",
        b"HTTP/1.1  200\t\r\n" + LENGTH + b"\r\nabc",
        b"HTTP/1.1 200 O\0K\r\n" + LENGTH + b"\r\nabc",
        OK + b" folded\r\n" + LENGTH + b"\r\nabc",
        OK + b"Content-Length : 3\r\n\r\nabc",
        OK + b"X Y: z\r\n\xe9: z\r\n: z\r\nX: a\0\x01\rb\r\n \0\r\n" + LENGTH + b"\r\nabc",
        OK + b"Transfer-Encoding: chunked, chunked\r\n" + CHUNKED + b"\r\n",
        OK + b"Transfer-Encoding: identity\r\n" + CHUNKED + b"\r\n",
        OK + b"Transfer-Encoding: identity\r\n" + LENGTH + b"\r\nabc",
        OK + CHUNKED + b"T : u\r\nContent-Length: x\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 103 \0\r\n\r\n" + OK + b"X: \0\n" + LENGTH + b"\r\nabc",
    ],
)
def test_a_broken_line_that_h11_refuses_hides_no_response(received: bytes) -> None:
    read = by_h11(received)
    assert read is None or not read[2]
    both = read_again(received * 2, Ending.COMPLETE, answers=2)
    assert both is not None
    for response in (parsed(received), both, both.following):
        assert response is not None
        assert (response.status, bytes(response.body), response.excess) == (200, b"abc", 0)


# What neither reads: framing is not guessed.


@pytest.mark.parametrize(
    "received",
    [
        b"HTTP/1.1 20x OK\r\n\r\n",
        b"HTTP/1.1200OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade:x\r\n\r\n",
        OK + b"no colon\r\n\r\n",
        OK + b"Content-Length:+3\r\n\r\nabc",
        OK + b"Content-Length: 3, 4\r\n\r\nabc",
        OK + LENGTH + b"Content-Length: 4\r\n\r\nabc",
        OK + b"Transfer-Encoding: gzip\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n3 ;a\r\nabc\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n{}",
    ],
)
def test_what_can_be_read_in_two_ways_is_malformed(received: bytes) -> None:
    for size in (1, len(received)):
        reader = ResponseReader(Limits())
        for at in range(0, len(received), size):
            if not reader.error:
                reader.feed(received[at : at + size])
        assert reader.error
        assert reader.error_ending is Ending.MALFORMED


# Bounds.


@pytest.mark.parametrize(
    "raw",
    [
        OK + b"X: " + b"x" * 70_000 + b"\r\n\r\n",
        OK + b"X: y\r\n" * 20_000,
        OK + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 70_000 + b"\r\na\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 60,
    ],
    ids=["field", "fields", "size line", "trailers", "interim responses"],
)
@pytest.mark.parametrize("size", [1000, 1 << 20])
def test_a_head_that_is_too_long_is_too_large_however_it_comes(raw: bytes, size: int) -> None:
    reader = ResponseReader(Limits())
    for at in range(0, len(raw), size):
        if not (reader.error or reader.done):
            reader.feed(raw[at : at + size])
    assert reader.error_ending is Ending.TOO_LARGE
    assert reader.error


@pytest.mark.parametrize(
    ("raw", "size"),
    [
        (OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * (1 << 17), 5),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n400000\r\n" + bytes(1 << 22), 64),
        (OK + b"X: x\r\n y\r\n" * 5_000 + b"\r\n", 1),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"\r" * 65_000, 1),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 10_000, 1),
    ],
)
def test_the_time_grows_with_the_length_alone(raw: bytes, size: int) -> None:
    reader = ResponseReader(Limits())
    began = time.process_time()
    for at in range(0, len(raw), size):
        reader.feed(raw[at : at + size])
    assert not reader.error
    assert time.process_time() - began < 5


def test_each_element_of_a_long_tensor_may_be_a_chunk_but_not_each_byte() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    elements = 1_500_000  # those of C6/slow-readers
    for size, fits in ((4, True), (1, False)):
        limits = Limits()
        reader = ResponseReader(limits)
        reader.feed(head + b"%x\r\n%b\r\n" % (size, bytes(size)) * 1000)
        needed = (reader.cost - len(head)) * elements * 4 // size // 1000
        assert (needed < limits.response_to(4 * elements)) == fits


def test_a_response_may_be_as_long_as_its_limits_say() -> None:
    mib = 1 << 20
    assert Limits().response_to(0) == 4 * mib
    assert Limits().response_to(1000) == 32_000 + 4 * mib
    assert 8 * mib < Limits().response_to(mib) < 23 * mib  # an indented INT32 takes 33 bytes
    assert Limits().response_to(64 * mib) == Limits.response
    assert Limits(response=99).response_to(1000) == 99


# Recorded bytes.


@pytest.mark.parametrize(
    ("received", "ending", "status", "body"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\nto the end", Ending.COMPLETE, 200, b"to the end"),
        (http(b"abc")[:-1], Ending.COMPLETE, None, b""),
        (http(b"abc")[:-1], Ending.TIMEOUT, 200, b"ab"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", Ending.CLOSED, None, b""),
        (b"", Ending.REFUSED, None, b""),
    ],
)
def test_a_recorded_response_is_read_as_far_as_it_goes(
    received: bytes, ending: Ending, status: int | None, body: bytes
) -> None:
    response = read_again(received, ending)
    assert (None if response is None else response.status) == status
    assert response is None or bytes(response.body) == body


@pytest.mark.parametrize(("keeps", "follows"), [(b"Connection", True), (b"X-Connection", False)])
def test_an_answer_of_http_1_0_is_followed_if_it_keeps_the_connection(
    keeps: bytes, follows: bool
) -> None:
    first = b"HTTP/1.0 200 OK\r\n" + keeps + b": X, Keep-Alive\r\nContent-Length: 1\r\n\r\na"
    second = b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nb"
    both = read_again(first + second, Ending.COMPLETE, answers=2)
    assert both is not None
    assert (both.following is not None, both.excess) == (follows, 0 if follows else len(second))


@pytest.mark.parametrize("framing", [b"Content-Length: 7", b"Transfer-Encoding: chunked"])
@pytest.mark.parametrize("surplus", [b"", b"surplus"])
def test_the_answer_to_a_head_ends_with_its_head(framing: bytes, surplus: bytes) -> None:
    received = b"HTTP/1.1 404 Not Found\r\n" + framing + b"\r\n\r\n" + surplus
    found = read_again(received, Ending.COMPLETE, request=b"HEAD /v2 HTTP/1.1\r\nHost: x\r\n\r\n")
    assert found is not None
    assert (found.status, bytes(found.body), found.excess) == (404, b"", len(surplus))
