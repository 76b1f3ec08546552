"""Encoded request bodies: counted as HTTP counts them, and tampered with as a case says."""

from __future__ import annotations

import tracemalloc

import pytest

from v2_conformance.protocol.content_codings import CODINGS, CodingError, decode
from v2_conformance.wire.encode.coded_body import code_body

coding = pytest.mark.parametrize("coding", CODINGS)
LIMIT = 1 << 20


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
