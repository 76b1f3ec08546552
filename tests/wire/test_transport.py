"""Transports: what the engine counts on, that HTTP/1.1 is one, and that another one is enough."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from support.cases import binding, make_case, prepared
from support.connections import FakeConnection
from support.responses import exchange_of, http
from support.servers import PATIENT, answering, serving
from v2_conformance.protocol.message import dump_json
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.runs.discovery import Server
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.connection import Http1Transport
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending, Response
from v2_conformance.wire.sockets import SocketAddress
from v2_conformance.wire.transport import Request, Transport

REJECT = {"outcome": "reject"}


def test_http1_opens_nothing_before_the_first_exchange() -> None:
    with serving(answering(http(), http())) as server:
        transport: Transport = Http1Transport(SocketAddress("127.0.0.1", server.port), PATIENT)
        first, second = transport.connection(), transport.connection()
        assert not first.open
        assert not first.pending()
        assert server.peers == []
        request = prepared(make_case(REJECT)).request
        assert first.exchange(request).ending is Ending.COMPLETE
        assert first.open
        assert not second.open
        first.close()
        assert not first.open
        assert not first.exchange(request).reused
        first.close()


@pytest.mark.parametrize("delivery", ["whole", {"slices": 100_000}])
def test_the_body_of_a_request_is_held_once(delivery: str | dict[str, Any]) -> None:
    case = make_case(inputs=[{"shape": [250_000]}], delivery=delivery)
    request = prepared(case).request
    wire = [np.frombuffer(piece, "u1") for piece in request.http1]
    for piece in request.body:
        body = np.frombuffer(piece, "u1")
        assert any(np.shares_memory(body, written) for written in wire)


def echo(request: Request) -> Exchange:
    """The answer of an identity model, made from a request's parts."""
    body = b"".join(request.body)
    fields = {name.lower(): value for name, value in request.head.fields}
    length = int(fields.get(HEADER_LENGTH.lower(), len(body)))
    inputs = json.loads(body[:length])["inputs"]
    outputs = [{**entry, "name": entry["name"].replace("IN", "OUT")} for entry in inputs]
    document = dump_json({"model_name": "echo", "outputs": outputs})
    headers = ((HEADER_LENGTH.lower(), str(len(document))),)
    answer = Response(200, headers, document + body[length:], "content-length", 0)
    return exchange_of(request=body, response=answer, open=True)


def test_the_engine_needs_nothing_but_a_transport() -> None:
    transport = FakeConnection(echo, repeats=True)
    role = "identity/INT32"
    server = Server("echo", "1", ("binary_tensor_data",), {role: binding(role)})
    engine = Engine(Target("http://nowhere.invalid"), server, transport=transport)
    case = make_case(delivery={"slices": "seam"})
    result = engine.run(replace(case, canary="binary"))
    assert (result.outcome, result.message) == (Outcome.PASS, "")
    assert len(result.exchanges) == 3  # its own, and a canary on this and on a fresh connection
    assert engine.run(replace(case, id="D1/together", together=4)).outcome == Outcome.PASS
    engine.close()
    assert transport.made == 1 + 4  # the engine's, and one for each request at once
    assert {request.head.method for request in transport.requests} == {"POST"}
