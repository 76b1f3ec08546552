"""What clients send to the bench is hostile: it stays bounded, and the next client is served."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.scenarios import scenario
from v2_clients.bench.connection import Connection
from v2_clients.bench.listener import Listener
from v2_clients.bench.requests import MOST_HEAD
from v2_clients.bench.stage import ScenarioStage
from v2_clients.bench.tasks import asked_of
from v2_clients.bench.turns import MOST_EXCHANGES
from v2_clients.scenarios import judged, run_scenario
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.client_lines import ClientResult, Line
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.selftest.clients import plain_client

POST = b"POST /v2/models/identity_int32/infer HTTP/1.1\r\nHost: x\r\n"
NO = ClientResult(lines=(Line(error="no"),), exit=0)


@pytest.fixture
def made(tmp_path: Path) -> ClientCase:
    """A scenario that asks for one request."""
    return scenario(tmp_path, expect={"request": ["json"]})


@contextlib.contextmanager
def listening(made: ClientCase) -> Iterator[tuple[ScenarioStage, tuple[str, int]]]:
    stage = ScenarioStage(made, asked_of(made))
    with Listener(stage) as listener:
        yield stage, address_of(listener)


def address_of(listener: Listener) -> tuple[str, int]:
    host, _, port = listener.url.removeprefix("http://").partition(":")
    return host, int(port)


def send(address: tuple[str, int], data: bytes) -> bytes:
    """What comes back for `data`."""
    received = b""
    with socket.create_connection(address, timeout=10) as sock, contextlib.suppress(OSError):
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        while piece := sock.recv(65536):
            received += piece
    return received


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x16\x03\x01\x02\x00" * 20,
        b"\x00" * 100_000,
        POST + b"Content-Length: 100\r\n\r\n{",
        POST + b"Content-Length: 99999999999999999999\r\n\r\n{}",
        POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 70_000,
        POST + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b",
        POST + b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000,
        POST + b"".join(b"X-%d: y\r\n" % n for n in range(100_000)) + b"\r\n",
        b"POST /v2/models/" + b"x" * 200_000,
        b"POST /" + b"%00" * 100 + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=lambda data: f"{len(data)}-{data[-24:-2]!r}",
)
def test_what_is_no_request_is_judged_and_holds_nobody_up(data: bytes, made: ClientCase) -> None:
    with listening(made) as (stage, address):
        started = time.monotonic()
        send(address, data)
        assert time.monotonic() - started < 8
        send(address, b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        exchanges = stage.exchanges()
    result = judged(made, exchanges, NO)
    assert result.outcome is Outcome.FAIL, result.message
    assert result.message.isprintable()
    assert result.seen() is not None
    assert sum(len(e.request) for e in exchanges) < 2 * MOST_HEAD + 1_000_000
    assert run_scenario(made, plain_client()).outcome is Outcome.PASS


def test_what_a_client_sent_before_it_left_is_kept_however_late_it_is_read(
    made: ClientCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = ScenarioStage(made, asked_of(made))
    serve = Connection.serve

    def late(connection: Connection) -> None:
        threading.Event().wait(0.05)
        serve(connection)

    monkeypatch.setattr(Connection, "serve", late)
    with Listener(stage) as listener:
        for number in (1, 2):
            with socket.create_connection(address_of(listener), timeout=10) as sock:
                sock.sendall(POST + b"Content-Length: 100\r\n\r\n{")
            if number == 1:
                listener.settle()
                assert len(stage.exchanges()) == 1
    assert len(stage.exchanges()) == 2


def test_requests_on_one_connection_are_recorded_and_bounded(made: ClientCase) -> None:
    get = b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n"
    with listening(made) as (stage, address):
        answers = send(address, get * (3 * MOST_EXCHANGES))
        reused = [one.reused for one in stage.exchanges()]
    assert reused == [False, *[True] * (MOST_EXCHANGES - 1)]
    assert answers.count(b"HTTP/1.1 200") == MOST_EXCHANGES


def test_all_connections_together_have_one_bound(
    made: ClientCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("v2_clients.bench.stage._ROOM", 100_000)
    with contextlib.ExitStack() as stack, listening(made) as (_, address):
        socks = [stack.enter_context(socket.create_connection(address)) for _ in range(3)]
        for sock in socks:
            sock.sendall(POST + b"Content-Length: 90000\r\n\r\n" + bytes(60_000))
        assert select.select(socks, [], [], 10)[0]  # the bench ends one of them


def test_many_connections_that_never_close_do_not_hold_up_the_end(made: ClientCase) -> None:
    with contextlib.ExitStack() as stack:
        with listening(made) as (_, address):
            for _n in range(100):
                with contextlib.suppress(OSError):
                    sock = stack.enter_context(socket.create_connection(address, timeout=5))
                    sock.sendall(POST)
            started = time.monotonic()
        assert time.monotonic() - started < 20


def test_a_client_that_waits_for_100_gets_it(made: ClientCase) -> None:
    with listening(made) as (_, address), socket.create_connection(address, timeout=10) as sock:
        sock.sendall(POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"{}")
        assert sock.recv(20).startswith(b"HTTP/1.1 200")
