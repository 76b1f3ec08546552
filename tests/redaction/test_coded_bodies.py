"""A body that is coded again is exactly as long as before, whatever its new text needs."""

from __future__ import annotations

import zlib

import pytest

from v2_conformance.redaction.coded_bodies import coded_again

TEXT = b'{"error": "a text of some length, with another text of some length in it"}'


@pytest.mark.parametrize("wbits", [15, 31, -15])
@pytest.mark.parametrize("more", [0, 5, 6, 7, 10, 11, 12, 25])
def test_a_body_is_coded_again_in_as_many_bytes(wbits: int, more: int) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    length = len(packer.compress(TEXT) + packer.flush()) + more
    made = coded_again(TEXT, wbits, length)
    assert made is not None
    assert len(made) == length
    assert zlib.decompress(made, wbits) == TEXT
