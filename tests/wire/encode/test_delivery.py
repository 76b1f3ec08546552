"""A body goes out in the pieces that its case asks for, and they are the whole of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.cases import REJECT, lines, make_case, prepared, sent
from v2_conformance.judging.asking import describe_request
from v2_conformance.wire.encode.delivery import MOST_SLICES

CUTS: list[Any] = [7, "one", "seam", [{"blob": 1, "at": 1}, {"blob": 0, "at": 11}]]
DELIVERIES = [{kind: how} for kind in ("slices", "chunks") for how in CUTS]


def dechunked(data: bytes) -> bytes:
    body = b""
    while True:
        line, _, data = data.partition(b"\r\n")
        size = int(line, 16)
        piece, end, data = data[:size], data[size : size + 2], data[size + 2 :]
        assert end == b"\r\n"
        if not size:
            assert not data
            return body
        body += piece


def ends(how: Any, blobs: list[int], size: int) -> list[int]:
    """Where a body of this size is cut whose blobs begin there."""
    if isinstance(how, int):
        return list(range(how, size, how))
    if how == "seam":
        return blobs[:1]
    return sorted(blobs[cut["blob"]] + cut["at"] for cut in how) if how != "one" else []


@pytest.mark.parametrize("delivery", DELIVERIES, ids=str)
def test_the_pieces_of_a_delivery_join_to_the_same_body(delivery: dict[str, Any]) -> None:
    inputs = [
        {"tensor": 1, "shape": [1, 3], "values": [1, 2, 3]},
        {"tensor": 2, "shape": [3], "values": [True] * 3},
    ]
    whole = sent(make_case(REJECT, model="mixed", inputs=inputs))[1]
    made = prepared(make_case(REJECT, model="mixed", inputs=inputs, delivery=delivery))
    head, *pieces = [bytes(piece) for piece in made.request.http1]
    fields = lines(head.removesuffix(b"\r\n\r\n"))
    ((kind, how),) = delivery.items()
    if kind == "slices":
        assert b"".join(pieces) == whole
        assert fields["Content-Length"] == str(len(whole))
        lengths = [len(piece) for piece in pieces]
        assert made.request.pause_s > 0
    else:
        assert dechunked(b"".join(pieces)) == whole
        assert fields["Transfer-Encoding"] == "chunked"
        assert "Content-Length" not in fields
        lengths = [int(piece.partition(b"\r\n")[0], 16) for piece in pieces[:-1]]
    blobs = [part.start for part in made.parts if part.kind == "blob"]
    assert np.cumsum(lengths).tolist() == [*ends(how, blobs, len(whole)), len(whole)]


def test_very_many_chunks_share_writes_and_stay_chunks() -> None:
    request: dict[str, Any] = {"inputs": [{"shape": [4000]}]}
    whole = sent(make_case(REJECT, **request))[1]
    prepared_ = prepared(make_case(REJECT, **request, delivery={"chunks": 1}))
    pieces = [bytes(piece) for piece in prepared_.request.http1]
    assert len(pieces) < 100
    assert dechunked(b"".join(pieces[1:])) == whole
    assert b"".join(pieces[1:]).count(b"1\r\n") >= len(whole)


def test_a_large_body_comes_in_as_few_slices_as_a_small_one() -> None:
    large = make_case(inputs=[{"shape": [50_000]}], delivery={"slices": 7})
    request = prepared(large).request
    assert len(request.body) <= MOST_SLICES
    _, odd = describe_request(large, prepared(large))
    assert odd == f"in slices of {len(request.body[0])} bytes"
