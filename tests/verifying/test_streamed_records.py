"""Records of streamed tensors that no exchange can have produced."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.values.offset_pattern import pattern_bytes
from v2_conformance.verifying.recorded.streamed import streamed_contradiction
from v2_conformance.wire.streamed import StreamDifference, Streamed
from v2_conformance.wire.transcript import Ending, Response, Transcript

SIZE, KEPT, AT = 64, 16, 8
JSON = b"{}"
DIFFERING = bytes(pattern_bytes(0, AT)) + b"\xee" + bytes(pattern_bytes(AT + 1, SIZE))
DIFFERENCE = StreamDifference(AT, AT, DIFFERING[AT:KEPT].hex(), 1)
BEGUN = Streamed(SIZE, "", came=4, body=0)
NO_HEAD = "the record has a tensor of a response without a head"


def record(difference: StreamDifference | None) -> Streamed:
    body = len(JSON) + SIZE
    return Streamed(SIZE, "", came=100 + body, body=body, tensor=SIZE, difference=difference)


def problem(found: Streamed) -> str | None:
    headers = ((HEADER_LENGTH.lower(), str(len(JSON))),)
    body = JSON + DIFFERING[:KEPT]
    partial = Response(200, headers, body, "chunked", 0)
    shown = Transcript(b"", SIZE, b"", Ending.COMPLETE, partial=partial, streamed=found)
    return streamed_contradiction(shown, found)


def test_a_difference_that_is_in_the_bytes_is_no_contradiction() -> None:
    assert problem(record(DIFFERENCE)) is None


@pytest.mark.parametrize(
    ("difference", "said"),
    [
        (None, "byte 8 of its tensor differs, but the record says no"),
        (StreamDifference(9, 9, "00", 1), "the first byte of its tensor that differs is 8"),
        (StreamDifference(AT, AT, DIFFERING[AT:].hex() + "00", 1), "is not there"),
        (StreamDifference(AT, AT, "", 1), "is not there"),
    ],
)
def test_a_difference_that_is_not_in_the_bytes_is_one(
    difference: StreamDifference | None, said: str
) -> None:
    assert said in (problem(record(difference)) or "")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (BEGUN, None),
        (replace(BEGUN, came=5), NO_HEAD),
        (replace(BEGUN, body=1), NO_HEAD),
        (replace(BEGUN, tensor=1), NO_HEAD),
        (replace(BEGUN, difference=DIFFERENCE), NO_HEAD),
    ],
)
def test_a_response_without_a_head_has_no_tensor(found: Streamed, said: str | None) -> None:
    shown = Transcript(b"", SIZE, b"HTTP", Ending.CLOSED, streamed=found)
    assert streamed_contradiction(shown, found) == said
