"""Bytes that follow from their offset alone, however long the tensor is."""

from __future__ import annotations

import hashlib

import pytest

from v2_conformance.errors import CaseFileError
from v2_conformance.suite.choosing.shrunk import shrunk
from v2_conformance.suite.choosing.sizes import huge_sizes
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.values.offset_pattern import (
    BLOCK,
    pattern_block,
    pattern_blocks,
    pattern_bytes,
    pattern_digest,
)
from v2_conformance.suite.values.patterns import value_pattern


def word(number: int) -> bytes:
    return ((number + 1) * 0x9E3779B97F4A7C15 % 2**64).to_bytes(8, "little")


@pytest.mark.parametrize("offset", [0, 8, BLOCK, 2**31, 2**32, 2**32 + 8, 2**40])
def test_a_word_follows_from_its_offset(offset: int) -> None:
    assert pattern_bytes(offset, offset + 8) == word(offset // 8)
    assert bytes(pattern_block(offset // BLOCK)[offset % BLOCK :][:8]) == word(offset // 8)


def test_pieces_are_those_of_the_whole() -> None:
    size = 2 * BLOCK + 13
    whole = b"".join(pattern_blocks(size))
    assert len(whole) == size
    for start, end in ((0, 0), (0, 1), (BLOCK - 3, BLOCK + 3), (5, size), (size, size)):
        assert pattern_bytes(start, end) == whole[start:end]
    assert pattern_digest(size) == hashlib.sha256(whole).hexdigest()
    assert pattern_digest(0) == hashlib.sha256().hexdigest()


def test_it_is_a_value_pattern_of_integers() -> None:
    assert value_pattern("offsets", "INT64", 3) == pattern_bytes(0, 24)
    assert value_pattern("offsets", "UINT8", 3, skip=2) == pattern_bytes(2, 5)
    with pytest.raises(CaseFileError, match="only for integers, not for FP32"):
        value_pattern("offsets", "FP32", 3)


def test_huge_cases_are_beyond_what_signed_and_unsigned_words_of_32_bits_hold() -> None:
    cases = [case for case in suite_cases(huge=True) if case.huge]
    sizes = sorted(huge_sizes(cases))
    assert 2**31 < sizes[0] <= sizes[1] < 2**31 + 2**20
    assert 2**32 < sizes[2] < 2**32 + 2**20
    smaller = sorted(huge_sizes(shrunk(cases, 14)))
    assert [size - 2**17 for size in smaller[:2]] == [size - 2**31 for size in sizes[:2]]
    assert smaller[2] - 2**18 == sizes[2] - 2**32


def test_a_case_that_would_have_nothing_left_is_not_shrunk() -> None:
    with pytest.raises(CaseFileError, match="cannot have 25 bits fewer"):
        shrunk(suite_cases(huge=True), 25)
