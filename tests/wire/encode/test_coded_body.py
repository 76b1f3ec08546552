"""Encoded request bodies: counted as HTTP counts them, and tampered with as a case says."""

from __future__ import annotations

import tracemalloc

import pytest

from support.cases import make_case, sent
from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.content_codings import CODINGS, CodingError, decode
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.wire.encode.coded_body import code_body

coding = pytest.mark.parametrize("coding", CODINGS)
LIMIT = 1 << 20


@coding
def test_an_encoded_request_counts_decoded_and_encoded_bytes(coding: str) -> None:
    plain_head, plain = sent(make_case())
    head, body = sent(make_case(encoding=coding, accept_encoding="gzip"))
    assert decode(coding, body, LIMIT) == plain
    fields = head.decode().split("\r\n")
    assert f"Content-Encoding: {coding}" in fields
    assert "Accept-Encoding: gzip" in fields
    assert f"Content-Length: {len(body)}" in fields
    length = next(f for f in plain_head.decode().split("\r\n") if f.startswith(HEADER_LENGTH))
    assert length in fields
    assert b"Encoding" not in plain_head


def test_an_encoded_body_is_tampered_with_as_told() -> None:
    whole = sent(make_case(encoding="gzip"))[1]
    plain = sent(make_case())[1]
    assert sent(make_case(encoding="gzip", encoded={"drop": 3}))[1] == whole[:-3]
    assert sent(make_case(encoding="gzip", encoded={"hex": "0102"}))[1] == b"\x01\x02"
    assert sent(make_case(encoding="gzip", encoded="plain"))[1] == plain
    assert sent(make_case(encoding="x-none"))[1] == plain
    flipped = sent(make_case(encoding="gzip", encoded={"flip": 6}))[1]
    assert [i for i, pair in enumerate(zip(whole, flipped, strict=True)) if pair[0] != pair[1]] == [
        len(whole) - 6
    ]
    chunked = sent(make_case(encoding="gzip", delivery={"chunks": "one"}))[1]
    assert chunked == b"%x\r\n%b\r\n0\r\n\r\n" % (len(whole), whole)
    with pytest.raises(CaseFileError, match=r"expected at most 1.., got 10000"):
        sent(make_case(encoding="gzip", encoded={"drop": 10_000}))


@coding
def test_a_bomb_is_made_and_refused_in_little_memory(coding: str) -> None:
    tracemalloc.start()
    try:
        bomb = code_body(coding, b"{}", {"bomb": 1 << 26})
        with pytest.raises(CodingError, match="more than"):
            decode(coding, bomb, LIMIT)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
    assert len(bomb) < 1 << 17
    assert decode(coding, code_body(coding, b"{}", {"bomb": 5}), 7) == b"{}\0\0\0\0\0"
