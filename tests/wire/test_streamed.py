"""A tensor that is compared while it comes, in whatever pieces, and never kept."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from v2_conformance.suite.values.offset_pattern import BLOCK, pattern_bytes
from v2_conformance.wire.streamed import Comparison, StreamDifference, StreamedTensor
from v2_conformance.wire.streamed_response import MOST_JSON, StreamedReader, beginning_of
from v2_conformance.wire.transcript import Ending, Limits

SIZE = 2 * BLOCK + 8 * 5
TENSOR = pattern_bytes(0, SIZE)


def pieces(data: bytes, most: int) -> Iterator[bytes]:
    source = random.Random(most)
    at = 0
    while at < len(data):
        end = at + source.randint(1, most)
        yield data[at:end]
        at = end


def compared(data: bytes, element: int = 8, most: int = 300_000) -> StreamDifference | None:
    comparison = Comparison(SIZE, element)
    for piece in pieces(data, most):
        comparison.take(piece)
    assert comparison.taken == len(data)
    return comparison.difference()


def with_byte(offset: int, *more: int) -> bytes:
    changed = bytearray(TENSOR)
    for at in {offset, *more}:
        changed[at] ^= 0xFF
    return bytes(changed)


@pytest.mark.parametrize("most", [9_000, 300_000, SIZE])
@pytest.mark.parametrize("element", [1, 2, 4, 8])
def test_the_right_bytes_are_right_in_any_pieces(most: int, element: int) -> None:
    assert compared(TENSOR, element, most) is None


@pytest.mark.parametrize("at", [0, 7, 100, BLOCK - 1, BLOCK, BLOCK + 9, SIZE - 1])
@pytest.mark.parametrize("most", [9_000, SIZE])
def test_the_first_differing_byte_is_found_with_what_is_around_it(at: int, most: int) -> None:
    found = compared(with_byte(at, SIZE - 1), most=most)
    assert found is not None
    assert found.offset == at
    assert found.differing == (1 if at // 8 == (SIZE - 1) // 8 else 2)
    assert found.start == max(0, at // 8 * 8 - 16)
    end = min(SIZE, found.start + 64)
    assert bytes.fromhex(found.got) == with_byte(at, SIZE - 1)[found.start : end]


@pytest.mark.parametrize(
    ("wrong", "first"),
    [
        (TENSOR[:BLOCK] + TENSOR[BLOCK + 8 :], BLOCK),  # a word is missing
        (TENSOR[:BLOCK] + TENSOR[:BLOCK] + TENSOR[2 * BLOCK :], BLOCK),  # it begins again
        (TENSOR[BLOCK : 2 * BLOCK] + TENSOR[:BLOCK] + TENSOR[2 * BLOCK :], 0),  # mixed up
        (TENSOR[: SIZE - 8] + bytes(8), SIZE - 8),
        (bytes(SIZE), 0),
    ],
)
def test_what_is_lost_repeated_or_mixed_up_differs(wrong: bytes, first: int) -> None:
    found = compared(wrong)
    assert found is not None
    assert first <= found.offset < first + 8


def test_a_tensor_that_ends_early_is_right_as_far_as_it_came() -> None:
    assert compared(TENSOR[:-3]) is None
    found = compared(with_byte(SIZE - 6)[:-3])
    assert found is not None
    assert (found.offset, found.differing) == (SIZE - 6, 1)


def test_what_follows_the_tensor_is_counted_and_not_compared() -> None:
    assert compared(TENSOR + b"more" * 100_000) is None


# The response

JSON = b'{"outputs":[]}'


def read(*parts: bytes, fields: bytes = b"", status: bytes = b"200 OK") -> StreamedReader:
    tensor = StreamedTensor("OUT", "INT64", (SIZE // 8,), 8, SIZE)
    reader = StreamedReader(Limits(), tensor)
    for part in (b"HTTP/1.1 " + status + b"\r\n" + fields + b"\r\n", *parts):
        for piece in pieces(part, 200_000):
            reader.feed(piece)
    return reader


def length(count: int) -> bytes:
    return b"Content-Length: %d\r\n" % count


HEADER = b"Inference-Header-Content-Length: %d\r\n" % len(JSON)


def test_only_the_beginning_of_a_response_is_kept() -> None:
    reader = read(JSON, TENSOR, fields=HEADER + length(len(JSON) + SIZE))
    assert reader.done
    assert reader.reusable
    found = reader.streamed(SIZE, "")
    assert (found.body, found.tensor, found.difference) == (len(JSON) + SIZE, SIZE, None)
    assert found.came > SIZE > 10 * len(reader.raw)
    response = beginning_of(reader.raw, found, Ending.COMPLETE)
    assert response is not None
    assert bytes(response.body).startswith(JSON + TENSOR[:1000])
    assert response.whole


@pytest.mark.parametrize("size", [1, 7, 1000, BLOCK])
def test_chunks_are_no_part_of_the_tensor(size: int) -> None:
    body = JSON + (TENSOR if size > 7 else TENSOR[:10_000])
    cut = [body[at : at + size] for at in range(0, len(body), size)]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in cut)
    reader = read(chunks, b"0\r\n\r\n", fields=HEADER + b"Transfer-Encoding: chunked\r\n")
    assert reader.done
    found = reader.streamed(SIZE, "")
    assert (found.tensor, found.difference) == (len(body) - len(JSON), None)
    assert reader.cost == len(reader.raw)  # whatever limit it is held to
    response = beginning_of(reader.raw, found, Ending.COMPLETE)
    assert response is not None
    assert bytes(response.body).startswith(JSON)


def test_a_response_that_does_not_end_is_cut_off() -> None:
    reader = read(JSON, TENSOR, TENSOR, fields=HEADER + b"Connection: close\r\n")
    assert reader.error_ending is Ending.TOO_LARGE
    assert "is longer than" in reader.error


@pytest.mark.parametrize(
    ("status", "fields"),
    [
        (b"413 Content Too Large", HEADER),
        (b"200 OK", b""),
        (b"200 OK", b"Inference-Header-Content-Length: x\r\n"),
        (b"200 OK", b"Inference-Header-Content-Length: %d\r\n" % (MOST_JSON + 1)),
        (b"200 OK", HEADER + b"Inference-Header-Content-Length: 1\r\n"),
    ],
)
def test_nothing_is_a_tensor_without_header_length(status: bytes, fields: bytes) -> None:
    reader = read(JSON, TENSOR, fields=fields + length(len(JSON) + SIZE), status=status)
    found = reader.streamed(SIZE, "")
    assert (found.body, found.tensor, found.difference) == (len(JSON) + SIZE, 0, None)
    assert len(reader.raw) < SIZE
