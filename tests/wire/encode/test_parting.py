"""Clients that break off: exactly which bytes they send, and what they do then."""

from __future__ import annotations

import ssl
import threading
from typing import Any

import pytest
import trustme

from support.cases import make_case, prepared
from support.servers import PATIENCE_S, PATIENT, Peer, connected, serving, steps
from v2_conformance.suite.cases import RequestCase
from v2_conformance.wire.response import Ending
from v2_conformance.wire.transport import Parting

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
