"""Responses are read from raw bytes, whatever they are and however they arrive, and read again."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.responses import http
from v2_conformance.wire.response import Ending, Limits
from v2_conformance.wire.response_reader import ResponseReader, read_again


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=4))
@settings(max_examples=100)
def test_no_bytes_and_no_segmentation_can_raise(tail: bytes, cuts: list[int]) -> None:
    for raw in (tail, b"HTTP/1.1 " + tail, b"HTTP/1.1 200 OK\r\n" + tail):
        reader = ResponseReader(Limits())
        edges = [0, *sorted(cuts), len(raw)]
        for start, stop in pairwise(edges):
            if raw[start:stop] and not (reader.done or reader.error):
                reader.feed(raw[start:stop])
        if not (reader.done or reader.error):
            reader.feed(b"")
        if reader.in_body:
            reader.response()


@pytest.mark.parametrize(
    ("received", "ending", "status", "body"),
    [
        (http(b"abc"), Ending.COMPLETE, 200, b"abc"),
        (b"HTTP/1.1 200 OK\r\n\r\nto the end", Ending.COMPLETE, 200, b"to the end"),
        (http(b"abc")[:-1], Ending.COMPLETE, None, b""),
        (http(b"abc")[:-1], Ending.CLOSED, 200, b"ab"),
        (http(b"abc")[:-1], Ending.TIMEOUT, 200, b"ab"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", Ending.CLOSED, None, b""),
        (b"HTTP/1.1 100 Continue\r\n\r\n", Ending.CLOSED, None, b""),
        (b"", Ending.REFUSED, None, b""),
        (b"SSH-2.0\r\n\r\n", Ending.MALFORMED, None, b""),
    ],
)
def test_a_recorded_response_is_read_as_far_as_it_goes(
    received: bytes, ending: Ending, status: int | None, body: bytes
) -> None:
    response = read_again(received, ending)
    assert (None if response is None else response.status) == status
    assert response is None or bytes(response.body) == body


def test_two_answers_of_http_1_0_are_read_if_the_first_keeps_the_connection() -> None:
    first = b"HTTP/1.0 200 OK\r\nConnection: X, Keep-Alive\r\nContent-Length: 1\r\n\r\na"
    second = b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nb"
    both = read_again(first + second, Ending.COMPLETE, answers=2)
    assert both is not None
    assert both.excess == 0
    assert both.following is not None
    assert bytes(both.following.body) == b"b"
    closing = first.replace(b"Connection", b"X-Connection") + second
    alone = read_again(closing, Ending.COMPLETE, answers=2)
    assert alone is not None
    assert (alone.following, alone.excess) == (None, len(second))


HEAD = b"HEAD /v2 HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("framing", [b"Content-Length: 7", b"Transfer-Encoding: chunked"])
def test_the_answer_to_a_head_ends_with_its_head(framing: bytes) -> None:
    head = b"HTTP/1.1 404 Not Found\r\n" + framing + b"\r\n\r\n"
    alone = read_again(head, Ending.COMPLETE, request=HEAD)
    assert alone is not None
    assert (alone.status, bytes(alone.body), alone.excess, alone.whole) == (404, b"", 0, True)
    longer = read_again(head + b"surplus", Ending.COMPLETE, request=HEAD)
    assert longer is not None
    assert (bytes(longer.body), longer.excess) == (b"", 7)
