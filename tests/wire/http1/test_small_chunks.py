"""Small chunks are joined before h11 reads them: to the same end, whatever comes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from support.servers import same
from v2_conformance.wire.http1.response import ResponseReader
from v2_conformance.wire.http1.small_chunks import SmallChunks
from v2_conformance.wire.response import Limits

HEADS = [
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400 Bad\nTransfer-Encoding: chunked\n\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
]
CHUNKS = [
    b"1\r\n{\r\n",
    b"2\r\n\r\n\r\n",
    b"0a\r\n0123456789\r\n",
    b"00000000000000000003\r\nabc\r\n",
    b"1;name=value\r\na\r\n",
    b'1 ; q="a;b"\t\r\na\r\n',
    b"1" + b" " * 300 + b"\r\na\r\n",
    b"1;" + b"e" * 300 + b"\r\na\r\n",
    b"1;\ra\r\na\r\n",
    b"1500\r\n" + b"x" * 0x1500 + b"\r\n",
]
ODD = [
    b"000000000000000000003\r\nabc\r\n",
    b"1\na\n",
    b"1\r\nab\r\n",
    b"3\r\na\r\n",
    b"1\r\na\n",
    b"x\r\n",
    b"\r\n",
    b"1\r",
    b"ffffffffffffffffffff\r\n",
    b"-1\r\n",
    b"0x1\r\na\r\n",
    b"0\r\n",
    b"0;last\r\nTrailer: 1\r\n\r\n",
]
LAST = b"0\r\n\r\n"
FOLLOWING = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"


@st.composite
def responses(draw: Any) -> bytes:
    """A response in chunks, often with one odd place, perhaps with another response behind it."""
    chunks = draw(st.lists(st.sampled_from(CHUNKS), max_size=8))
    if draw(st.booleans()):
        chunks.insert(draw(st.integers(0, len(chunks))), draw(st.sampled_from(ODD)))
    behind = draw(st.sampled_from([b"", LAST, LAST, LAST + FOLLOWING, LAST + b"x"]))
    if draw(st.integers(0, 3)) == 0:
        return bytes(draw(st.sampled_from(HEADS)) + b"".join(chunks) + LAST + HEADS[0] + behind)
    return bytes(draw(st.sampled_from(HEADS)) + b"".join(chunks) + behind)


def read(raw: bytes, cuts: list[int], answers: int) -> Any:
    """All that anybody can see of a response that arrives in these pieces."""
    reader = ResponseReader(Limits(), answers)
    for start, stop in pairwise([0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]):
        if raw[start:stop] and not (reader.done or reader.error):
            reader.feed(raw[start:stop])
    before = (reader.done, reader.error, reader.error_ending, reader.reusable)
    if not (reader.done or reader.error):
        reader.feed(b"")
    after = (reader.done, reader.error, reader.answered_first, reader.reusable)
    if not reader.in_body:
        return before, after
    came = reader.response()
    following = None if came.following is None else same(came.following)
    return before, after, same(came), came.whole, following


@given(
    responses(),
    st.lists(st.one_of(st.integers(0, 300), st.integers(0, 9000)), max_size=6),
    st.integers(1, 2),
)
@settings(max_examples=300)
def test_chunks_are_read_as_h11_reads_them(raw: bytes, cuts: list[int], answers: int) -> None:
    found = read(raw, cuts, answers)
    with patch.object(SmallChunks, "joined", lambda self, data: data):
        assert found == read(raw, cuts, answers)


def test_each_element_of_a_long_tensor_may_be_a_chunk_but_not_each_byte() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    elements = 1_500_000  # those of C6/slow-readers
    for size, fits in ((4, True), (1, False)):
        limits = Limits()
        reader = ResponseReader(limits)
        reader.feed(head + b"%x\r\n%b\r\n" % (size, bytes(size)) * 1000)
        needed = (reader.cost - len(head)) * elements * 4 // size // 1000
        assert (needed < limits.response_to(4 * elements)) == fits
