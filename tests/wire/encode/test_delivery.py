"""A body goes out in the pieces that its case asks for, whole or as far as a client sends it."""

from __future__ import annotations

import ssl
import threading
from typing import Any

import numpy as np
import pytest
import trustme

from support.cases import REJECT, lines, make_case, prepared, sent
from support.servers import PATIENCE_S, PATIENT, Peer, connected, serving, steps
from v2_conformance.judging.request_words import describe_request
from v2_conformance.suite.cases import RequestCase
from v2_conformance.wire.encode.delivery import MOST_SLICES
from v2_conformance.wire.response import Ending
from v2_conformance.wire.transport import Parting

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


WHOLE = b"".join(prepared(make_case()).request.http1)
HEAD = WHOLE.index(b"\r\n\r\n") + 4


def breaking_off(client: dict[str, Any], **request: Any) -> RequestCase:
    return make_case({"outcome": "survives"}, client=client, **request)


def wire(client: dict[str, Any], **request: Any) -> bytes:
    return b"".join(prepared(breaking_off(client, **request)).request.http1)


@pytest.mark.parametrize(
    ("sends", "length"), [(0, HEAD), (5, HEAD + 5), (-7, HEAD - 7), ("all", len(WHOLE)), (-HEAD, 0)]
)
def test_client_sends_so_many_bytes_and_no_more(sends: object, length: int) -> None:
    assert wire({"sends": sends}) == WHOLE[:length]


@pytest.mark.parametrize(("then", "error"), [("leaves", None), ("resets", ConnectionResetError)])
def test_a_client_that_leaves_reads_nothing_and_closes(
    then: str, error: type[OSError] | None
) -> None:
    came: list[object] = []
    ended = threading.Event()

    def script(peer: Peer) -> None:
        came.append(peer.exactly(HEAD))
        try:
            peer.until_closed()
        except OSError as met:
            came.append(type(met))
        ended.set()

    request = prepared(breaking_off({"sends": 0, "then": then})).request
    assert request.parting is Parting(then)
    with serving(script) as server, connected(server, PATIENT) as connection:
        left = connection.exchange(request)
        assert not connection.open
        assert ended.wait(PATIENCE_S)
    assert (left.ending, left.sent, bytes(left.received)) == (Ending.LEFT, HEAD, b"")
    assert came == [WHOLE[:HEAD], *([error] if error else [])]


@pytest.mark.parametrize("tls", [False, True])
def test_a_client_that_half_closes_reads_the_answer(tls: bool) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    script = steps(Peer.request, answer, Peer.until_closed)
    context = trusting = None
    if tls:
        authority = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        trusting = ssl.create_default_context()
        authority.configure_trust(trusting)
    else:
        script = steps(Peer.until_closed, answer)  # it has heard the end
    request = prepared(breaking_off({"then": "half_closes"})).request
    with serving(script, tls=context) as server, connected(server, PATIENT, trusting) as connection:
        answered = connection.exchange(request)
    assert answered.response is not None, answered.detail
    assert bytes(answered.response.body) == b"ok"
