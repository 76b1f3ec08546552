"""HTTP of a request, written in other ways."""

from __future__ import annotations

from v2_conformance.wire.http_spelling import HttpSpelling, Place

PLAIN = HttpSpelling([], Place("http://host:1", "identity_int32", "1"))


def test_each_piece_is_a_chunk_and_an_empty_one_ends_the_body() -> None:
    assert PLAIN.write_chunks([b"a" * 26, memoryview(b"xyz")[1:]]) == (
        b"1a\r\n" + b"a" * 26 + b"\r\n",
        b"2\r\nyz\r\n",
        b"0\r\n\r\n",
    )
    assert PLAIN.write_chunks([]) == (b"0\r\n\r\n",)
