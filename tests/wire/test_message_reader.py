"""The reader of messages: every byte in one piece, whatever came; sizes of any number of digits."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from v2_conformance.wire.messages import read_chunks, read_head, read_messages

PIECES = st.sampled_from(
    [
        *(b"HTTP/1.1 200 OK", b"POST /x HTTP/1.1", b"A: b", b" folded", b"name :x", b":", b"\t"),
        *(b"\r\n", b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"\n\n", b"3", b"0", b"0000", b"aF", b"x"),
        *(b"3\r\nabc\r\n", b"1\na\n", b"0\r\n", b";x=y", b" ", b"f" * 40, b"\0", b"\xff"),
    ]
)
ANY = st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=20).map(b"".join))


@settings(max_examples=200)
@given(ANY, st.integers(0, 20))
def test_chunks_cover_any_bytes_once_and_in_order(data: bytes, at: int) -> None:
    at = min(at, len(data))
    chunks = list(read_chunks(data, at))
    assert len(chunks) <= len(data) + 2
    assert (chunks[0].start, chunks[-1].after) == (at, max(at, chunks[-1].after))
    assert all(one.after == other.start for one, other in pairwise(chunks))
    for chunk in chunks:
        assert chunk.start <= chunk.data <= chunk.end <= chunk.after <= len(data)
        assert chunk.whole or chunk.after == chunk.end
    assert [bool(chunk.size) for chunk in chunks] == [True] * (len(chunks) - 1) + [False]
    if chunks[-1].size is None:
        assert chunks[-1].after == len(data)


@settings(max_examples=200)
@given(ANY)
def test_messages_are_in_order_and_reach_the_end(data: bytes) -> None:
    at = 0
    for message in read_messages(data):
        spans = sorted((*message.heads, *message.body))
        assert spans[0][0] == at
        assert all(before[1] <= after[0] for before, after in pairwise(spans))
        at = max(end for _, end in spans)
    assert at == len(data)


def test_fields_are_read_as_tolerant_recipients_read_them() -> None:
    head = read_head(
        b"\r\n\nPOST / HTTP/1.1\r\nA : 1\nb:2,\r\n ,3\r\n\t4 \r\nno colon\r\nB: ,Five\r\n\r\nbody"
    )
    assert (head.first, head.start, head.whole) == (b"POST / HTTP/1.1", 3, True)
    assert [(one.name, one.value) for one in head.fields] == [
        (b"a", b"1"), (b"b", b"2, ,3 4"), (b"no colon", b""), (b"b", b",Five"),
    ]  # fmt: skip
    assert head.listed("b") == ["2", "3 4", "five"]


@pytest.mark.parametrize(
    "data",
    [
        *(b"f" * (1 << 18), b" " * (1 << 18), b"\r" * (1 << 18), b"f;" * (1 << 18)),
        *(b"1\r\na\r\n" * 50_000, b"0\r\n" + b"a\r\n" * 100_000, b"\n" + b" \n" * (1 << 18)),
        b"A" + b"\n " * (1 << 18) + b"\n\n",
    ],
)
def test_the_time_grows_with_the_length_alone(data: bytes) -> None:
    began = time.process_time()
    head = read_head(data)
    assert head.values("a") is not None
    assert sum(chunk.after - chunk.start for chunk in read_chunks(data)) <= len(data)
    assert time.process_time() - began < 5
