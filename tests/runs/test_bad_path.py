"""Behind a proxy that loses answers a right server fails nothing, and a wrong one what it fails."""

from __future__ import annotations

import random
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from support.runs import chosen, made, results, target_of
from v2_conformance.report.document import Report
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.runs.discovery import MetadataClient
from v2_conformance.suite.causes.causes import FailedAtFirst
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.verification import verify
from v2_mutants.servers import MutantServer

_GATEWAY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Proxy:
    """Forwards connections to a URL, but refuses some, and cuts, resets or stalls at some pieces of
    answers or sends a gateway's 503 in place of them: each with the probability `lost`."""

    ways: tuple[str, ...] = ("cut", "reset", "stall", "503")
    _backlog, _slow_s = 128, 0.0

    def __init__(self, url: str, seed: int, lost: float) -> None:
        self._port, self._lost = int(url.rpartition(":")[2]), lost
        self._random, self._lock = random.Random(seed), threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=self._backlog)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.errors = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _is_lost(self) -> bool:
        with self._lock:
            lost = self._random.random() < self._lost
            self.errors += lost
        return lost

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._forward, args=(client,), daemon=True).start()
                time.sleep(self._slow_s)

    def _forward(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            if self._is_lost():
                _reset(client)
                return
            with socket.create_connection(("127.0.0.1", self._port)) as server:
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                reading = [client, server]
                while server in reading:
                    for one in select.select(reading, [], [])[0]:
                        if not self._moved(one, client, server):
                            reading.remove(one)

    def _moved(self, one: socket.socket, client: socket.socket, server: socket.socket) -> bool:
        """Forward what came from `one`; False if it is the last."""
        data = one.recv(1 << 16)
        if one is client:
            server.sendall(data)
            if not data:
                server.shutdown(socket.SHUT_WR)
            return bool(data)
        if data and self._is_lost():
            way = self._random.choice(self.ways)
            is_first = data.startswith(b"HTTP/1.1")  # a gateway says nothing within an answer
            client.sendall(_GATEWAY if way == "503" and is_first else data[: len(data) // 2])
            if way == "reset":
                _reset(client)
            elif way == "stall":
                client.recv(1)  # until the client has gone
            return False
        client.sendall(data)
        return bool(data)


def _reset(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@contextmanager
def run(
    folder: Path, seed: int, lost: float, cases: tuple[str, ...], *faults: str, workers: int = 1
) -> Iterator[tuple[Report, Proxy]]:
    """The report of a run over a bad path, and the proxy that made it one."""
    with MutantServer(list(faults)) as server, closing(Proxy(server.url, seed, lost)) as proxy:
        target = target_of(proxy.url)
        path = made(folder, target, chosen(*cases), workers=workers)
        yield load_report(path), proxy


# Mostly correct requests, as in a whole run.
_CASES = ("P", "H6/", "S2/size", "D", "B", "M1/", "M2/", "M3/", "O", "C1/", "R3/survives")


def wrong(report: Report) -> list[str]:
    settled = (Outcome.PASS, Outcome.DISPUTED, Outcome.UNSUPPORTED)
    return [
        case.id for case in report.cases if case.level == "MUST" and case.outcome not in settled
    ]


@pytest.mark.parametrize(("seed", "workers"), [(0, 1), (1, 1), (2, 1), (3, 8), (4, 8)])
def test_a_right_server_fails_nothing(seed: int, workers: int, tmp_path: Path) -> None:
    with run(tmp_path, seed, 0.02, _CASES, workers=workers) as (report, proxy):
        assert proxy.errors
    assert wrong(report) == []
    assert [one for one in report.verdict.reasons if "MUST" in one] == []
    assert any("the path to the server lost answers" in one for one in report.verdict.warnings)
    assert verify(tmp_path / REPORT, suite_cases()).exit_code == 0


@pytest.mark.parametrize(
    ("fault", "case"),
    [("rejection-without-response", "H6/"), ("response-header-length-short", "P5/")],
)
def test_what_a_wrong_server_fails_it_fails_on_a_bad_path(
    fault: str, case: str, tmp_path: Path
) -> None:
    with run(tmp_path, 1, 0.01, _CASES, fault) as (report, _):
        failed = [one.id for one in report.cases if one.outcome is Outcome.FAIL]
    assert any(name.startswith(case) for name in failed)


class Chosen(Proxy):
    """Loses the connections and pieces with the given numbers, these in one way."""

    def __init__(self, url: str, way: str, *numbers: int) -> None:
        super().__init__(url, 0, 0)
        self.ways, self._numbers = (way,), numbers

    def _is_lost(self) -> bool:
        self.errors += 1
        return self.errors in self._numbers


def test_one_answer_that_came_late_makes_flaky(tmp_path: Path) -> None:
    """Only correct requests of several requirements blame the path."""

    def ran(number: int) -> tuple[Report, int]:
        with MutantServer([]) as server, closing(Chosen(server.url, "cut", number)) as proxy:
            path = made(tmp_path, target_of(proxy.url), chosen("P2/"))
            return load_report(path), proxy.errors

    report, _ = ran(ran(0)[1])
    (flaky,) = (one for one in report.cases if one.outcome is Outcome.FLAKY)
    assert isinstance(flaky.cause, FailedAtFirst)
    assert "MUST (blocks conformant) P2 was flaky (1 case)" in report.verdict.reasons
    assert verify(tmp_path / REPORT, suite_cases()).exit_code == 0


class Limited(Proxy):
    """Resets a connection if four others are open (RFC 9112, section 9.4)."""

    def __init__(self, url: str) -> None:
        self._places = threading.Semaphore(4)
        super().__init__(url, 0, 0)

    def _forward(self, client: socket.socket) -> None:
        if not self._places.acquire(blocking=False):
            _reset(client)
            client.close()
            return
        super()._forward(client)
        self._places.release()


class OfAShortQueue(Proxy):
    """Has a place for one connection that it has not taken yet, as ThreadingHTTPServer has five."""

    _backlog, _slow_s = 0, 0.002

    def __init__(self, url: str) -> None:
        super().__init__(url, 0, 0)


@pytest.mark.parametrize("kind", [Limited, pytest.param(OfAShortQueue, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("fault", "outcome"), [([], Outcome.PASS), (["concurrent-requests-mixed"], Outcome.FAIL)]
)
def test_a_server_gets_no_more_connections_than_it_keeps(
    fault: list[str], outcome: Outcome, kind: type[Limited | OfAShortQueue]
) -> None:
    with MutantServer(fault) as server, closing(kind(server.url)) as proxy:
        cases = chosen("C6/concurrent-requests[", "C6/unlike-ids")
        found = results(target_of(proxy.url, timeout=10), cases)
    assert {result.outcome for result in found.values()} == {outcome}


def test_a_server_is_found_after_a_stall_and_connections_that_were_reset() -> None:
    with (
        MutantServer([]) as server,
        closing(Chosen(server.url, "stall", 2, 3, 4)) as proxy,
        closing(MetadataClient(target_of(proxy.url))) as client,
    ):
        assert client.get("/v2/health/live").status == 200
