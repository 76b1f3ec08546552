"""Content codings: exact both ways, and bounded."""

from __future__ import annotations

import contextlib
import gzip
import random
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from v2_conformance.protocol.content_codings import (
    CODINGS,
    CodingError,
    acceptable,
    decode,
    encode,
    looks_like,
)

coding = pytest.mark.parametrize("coding", CODINGS)
LIBRARY: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.decompress, "deflate": zlib.decompress}


@coding
@given(data=st.binary(max_size=4000), cut=st.integers(1, 8))
def test_what_is_encoded_decodes_to_the_same_unless_it_is_cut(
    coding: str, data: bytes, cut: int
) -> None:
    encoded = encode(coding, data)
    assert decode(coding, encoded, len(data)) == LIBRARY[coding](encoded) == data
    assert encode(coding, data) == encoded
    with pytest.raises(CodingError, match="ends early"):
        decode(coding, encoded[:-cut], 4000)


@coding
@given(data=st.binary(max_size=500))
def test_any_bytes_decode_or_are_refused(coding: str, data: bytes) -> None:
    with contextlib.suppress(CodingError):
        assert len(decode(coding, data, 100)) <= 100


def test_a_thousand_members_of_gzip_are_one_body_and_noise_is_none() -> None:
    member = encode("gzip", b"")
    assert (
        decode("gzip", member * 998 + encode("gzip", b"ab") + encode("gzip", b"cd"), 4) == b"abcd"
    )
    with pytest.raises(CodingError, match="more than 1000 members"):
        decode("gzip", member * 100_000, 2)
    for name in CODINGS:
        with pytest.raises(CodingError, match="3 bytes follow"):
            decode(name, encode(name, b"ab") + b"xyz", 100)


@coding
def test_long_streams_are_decoded_in_blocks_up_to_a_limit(coding: str) -> None:
    noise = random.Random(1).randbytes(300_000)
    encoded = encode(coding, noise)
    assert decode(coding, encoded, len(noise)) == noise
    assert decode(coding, encode(coding, bytes(5_000_000)), 5_000_000) == bytes(5_000_000)
    with pytest.raises(CodingError, match="more than 299999 bytes"):
        decode(coding, encoded, 299_999)


@pytest.mark.parametrize(
    ("field", "wanted"),
    [
        ("", set()),
        ("identity", set()),
        ("GZIP , deflate;q=0.5", {"gzip", "deflate"}),
        ("gzip;q=0, deflate", {"deflate"}),
        ("*", {"gzip", "deflate"}),
        ("*, gzip; q=0.0", {"deflate"}),
    ],
)
def test_accept_encoding_names_what_may_come(field: str, wanted: set[str]) -> None:
    assert acceptable(field) == wanted


@pytest.mark.parametrize("field", ["gzip;q=x", "*;q=-1", "gzip;level=9", "br, gzip;q=1e3"])
def test_a_weight_that_is_none_is_refused(field: str) -> None:
    with pytest.raises(CodingError, match="expected a weight from q=0 to q=1, got '"):
        acceptable(field)


@coding
@pytest.mark.parametrize("size", [0, 30, 3 << 20])
def test_a_coding_is_known_by_its_bytes(coding: str, size: int) -> None:
    assert looks_like(encode(coding, random.Random(size).randbytes(size))) == coding


@pytest.mark.parametrize("second", [n for n in range(256) if (0x7800 + n) % 31 == 0])
def test_text_that_begins_like_deflate_is_text(second: int) -> None:
    """As "x has another shape" does: an error that begins with the name of an input."""
    for text in (b"", b"has the shape [-1, 4]", b"2 is expected" * 99, b"\n"):
        assert looks_like(b"x" + bytes([second]) + text) is None
