"""Cases beside each other come to what they come to one by one, and nobody is blamed wrongly."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.cases import make_case
from support.long_tests import sample
from support.responses import exchange_of, http
from support.runs import chosen, made, outcomes, restarting_on_request, results, said, target_of
from support.servers import Peer, Start, free_port, served, serving
from v2_conformance.certifying.servers import usual_workers
from v2_conformance.conversations.steps import Result
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.files import load_report
from v2_conformance.runs.scheduling.deaths import Recovery
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.cases import Case
from v2_conformance.suite.causes.causes import DidNotSurvive
from v2_conformance.suite.causes.kinds import KilledBy
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.faults import FAULTS
from v2_mutants.faults.shared import CrashingModels, CrashingServer
from v2_mutants.servers import MutantServer

Outcomes = Mapping[str, Outcome]

# What leaves something behind in a connection, a model or the server.
_MODULES = ("state", "transport", "framing")
_COMPANY = ("C6/unlike", "C7/", "P2/blob", "R1/", "R3/survives-a-rejection", "H4/")
_MOST_RUNS = 5  # of a server whose answers depend on the moment, or on all that came before
_SLOW = frozenset({"J7", "Z5", "L1"})  # their faults are tried with `--whole-runs` alone


def _may_hurt_others(name: str) -> bool:
    cls = FAULTS[name].cls
    module = cls.__module__.rpartition(".")[2]
    hurts = module in _MODULES or issubclass(cls, CrashingModels | CrashingServer)
    return hurts and FAULTS[name].requirement not in _SLOW


def run_of(
    url: str,
    cases: Sequence[Case],
    workers: int = 8,
    timeout: float = 5.0,
    command: str | None = None,
) -> dict[str, Result]:
    target = make_target(url, profiles=SERVER_PROFILES, timeout=timeout)
    return results(target, cases, workers=workers, recovery=Recovery(command))


def _cases(fault: str) -> list[Case]:
    """The cases of a fault's requirement, and others that it may hurt."""
    own = FAULTS[fault].requirement
    return [c for c in suite_cases() if c.requirement == own or c.id.startswith(_COMPANY)]


def _outcomes(fault: str, cases: Sequence[Case], workers: int) -> Outcomes:
    with MutantServer([fault]) as server:
        return outcomes(run_of(server.url, cases, workers))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every fault, or else some of those that may hurt other requests."""
    if "any_fault" in metafunc.fixturenames:
        every = metafunc.config.getoption("--whole-runs")
        some = sample(filter(_may_hurt_others, FAULTS), 20)
        metafunc.parametrize("any_fault", FAULTS if every else some)


@pytest.mark.long
def test_a_fault_comes_to_the_same_with_eight_workers_as_with_one(any_fault: str) -> None:
    """What differs is tried again, one by one backwards, too: a server may answer by the moment at
    which a request comes, or by all that it was asked before."""
    cases = _cases(any_fault)
    alone: list[Outcomes] = []
    beside: list[Outcomes] = []
    differing = {case.id for case in cases}
    for number in range(_MOST_RUNS):
        alone.append(_outcomes(any_fault, cases[:: -1 if number % 2 else 1], 1))
        beside.append(_outcomes(any_fault, cases, 8))
        differing = {
            name
            for name in differing
            if not {found[name] for found in alone} & {found[name] for found in beside}
        }
        if not differing:
            return
    assert FAULTS[any_fault].requirement == "C6", differing


class DiesOfAnId(CrashingServer):
    """Stops listening once a request has the id of D1/deadly."""

    def handle(self, request: Request) -> Response:
        if b'"deadly"' not in bytes(request.body):
            return super().handle(request)
        self.crashed = True
        return self.error(500, "dying")


def _deadly() -> list[Case]:
    good = [case for case in chosen("P2/") if not case.alone]
    killer = make_case(id="deadly", case_id="D1/deadly")
    return [*good[:5], killer, *good[5:], *chosen("R3/survives-a-rejection")]


def test_what_kills_a_server_that_comes_back_is_found_out() -> None:
    server = ReferenceServer(DiesOfAnId, port=free_port())
    with server, restarting_on_request(server) as command:
        found = run_of(server.url, _deadly(), command=command)
    failed = {r.case.id: r.cause for r in found.values() if r.outcome is not Outcome.PASS}
    assert list(failed) == ["D1/deadly"]
    cause = failed["D1/deadly"]
    assert isinstance(cause, DidNotSurvive)
    assert cause.beside == ()


def test_when_a_server_stays_dead_one_case_is_blamed_and_the_others_named(
    start: Start, tmp_path: Path
) -> None:
    cases = _deadly()
    path = made(tmp_path, target_of(start(DiesOfAnId).url), cases, workers=8)
    found = load_report(path).cases
    assert {one.id for one in found} == {case.id for case in cases}
    (blamed,) = [one for one in found if one.outcome is Outcome.FAIL]
    assert isinstance(blamed.cause, DidNotSurvive)
    assert "D1/deadly" in (blamed.id, *blamed.cause.beside)
    rest = [one for one in found if one.outcome not in (Outcome.FAIL, Outcome.PASS)]
    assert {one.outcome for one in rest} == {Outcome.NOT_RUN}
    assert all(isinstance(one.cause, KilledBy) and one.cause.case == blamed.id for one in rest)
    verification, words = said(path)
    odd = [case.id for case in verification.cases if case.problem]
    assert not {*odd} - {"D1/deadly"}, words  # which is no case of the suite


@pytest.mark.parametrize(
    "fault", ["rejection-kills-model", "decoder-stuck-after-error", "concurrent-ids-mixed"]
)
def test_a_report_of_eight_workers_verifies(fault: str, tmp_path: Path) -> None:
    with MutantServer([fault]) as server:
        path = made(tmp_path, target_of(server.url), _cases(fault), workers=8)
    verification, words = said(path)
    assert not [one.id for one in verification.cases if one.problem or one.other_cause], words


@pytest.mark.parametrize(
    ("round_trip_ms", "workers"), [(0.5, 1), (15, 1), (24, 2), (50, 5), (3000, 8)]
)
def test_the_usual_number_of_workers_is_as_many_as_the_distance_makes_useful(
    round_trip_ms: float, workers: int
) -> None:
    slower = exchange_of(duration_ms=round_trip_ms + 100, reused=True)
    kept = exchange_of(duration_ms=round_trip_ms, reused=True)
    assert usual_workers([exchange_of(duration_ms=0.1), slower, kept]) == workers


BUSY = http(b"", 503, ("Retry-After", "0"), ("Connection", "close"))


@contextmanager
def few_seats(seats: int, *, waiting: bool) -> Iterator[str]:
    """The URL of a server of so many connections at a time; others wait, or are turned away.
    Python's HTTPServer has one, and servers with a thread for each connection have few."""
    free = threading.Semaphore(seats)

    def talk(peer: Peer) -> None:
        if not free.acquire(blocking=waiting):
            peer.request()
            peer.send(BUSY)
            return
        try:
            while True:
                peer.send(served(peer.request()))
        finally:
            free.release()

    with serving(talk) as server:
        yield server.url


@pytest.mark.parametrize(("seats", "waiting"), [(1, True), (3, True), (8, True), (3, False)])
def test_a_far_server_with_few_connections_is_neither_shared_nor_blamed(
    seats: int, waiting: bool
) -> None:
    with few_seats(seats, waiting=waiting) as url:
        cases = chosen("H4/", "P2/blob", "R3/survives-a" if waiting else "C6/one-is")
        found = run_of(url, cases, timeout=1.0)
    assert {result.outcome for result in found.values()} == {Outcome.PASS}
