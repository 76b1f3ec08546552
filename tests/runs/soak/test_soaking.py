"""A soak on real sockets: what it counts, what it keeps, and how it ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence

import pytest

from support.runs import chosen, results, target_of
from support.servers import free_port
from v2_conformance.judging.growth import trends
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.result import Result
from v2_conformance.runs.soak.soaking import MOST_KEPT, Load, Soakable, Soaked, soak, soakable
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.causes.output_findings import WrongValue
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.faults import FAULTS_UNDER_LOAD
from v2_mutants.servers import MutantServer

PICKED = ("P2/", "D1/", "Z1/compressed-request", "Z6/truncated", "C8/", "H6/", "J1/", "S3/", "P1/")
PROFILES = ("binary", "compression")


def soakables(found: Mapping[str, Result]) -> list[Soakable]:
    return [one for result in found.values() if (one := soakable(result)) is not None]


def soaked(
    faults: Sequence[str] = (), *, seconds: float = 1.0, connections: int = 8, **more: object
) -> Soaked:
    """A soak of a server with `faults`, by cases that pass on one without."""
    with ReferenceServer() as right:
        found = results(target_of(right.url, *PROFILES), chosen(*PICKED))
    with MutantServer(faults) as server:
        target = target_of(server.url, *PROFILES)
        load = Load(seconds, connections)
        return soak(target, discover(target), soakables(found), load, lambda words: None)


def test_a_right_server_gives_right_answers_under_load() -> None:
    found = soaked()
    assert (found.ended, found.survived, found.wrong) == ("time", True, ())
    assert found.samples[-1].requests == sum(one.requests for one in found.kinds) > 100
    kinds = {one.kind: one for one in found.kinds}
    assert {"known_good", "known_good_compressed", "compressed_failing", "broken_off"} <= set(kinds)
    assert all(one.requests for one in found.kinds)
    assert found.duration_s < 10
    assert [phase.name for phase in found.phases] == ["mixed"]


def test_answers_that_are_wrong_only_under_load_are_counted_and_some_are_kept() -> None:
    found = soaked(["values-change-when-busy"])
    count = sum(number for _, number in found.wrong)
    assert count > 10
    assert 0 < len(found.kept) <= MOST_KEPT
    kept = found.kept[0]
    assert isinstance(kept.verdict.cause, WrongValue)
    assert kept.exchange.transcript.request
    assert kept.exchange.transcript.received
    assert found.survived  # a single request is answered right


@pytest.mark.long
def test_a_server_that_dies_under_load_ends_the_soak() -> None:
    found = soaked(["dies-after-many-requests"], seconds=60)
    assert (found.ended, found.survived) == ("died", False)
    assert found.duration_s < 40


def test_a_server_that_was_gone_before_is_not_said_to_have_died_under_load() -> None:
    with ReferenceServer() as server:
        target = target_of(server.url, *PROFILES)
        found, there = results(target, chosen(*PICKED)), discover(target)
    nothing = soak(target, there, soakables(found), Load(5), lambda words: None)
    assert (nothing.ended, nothing.survived) == ("nothing_to_send", None)


def test_cases_that_do_not_fit_are_left_out() -> None:
    with MutantServer(["request-blobs-off-by-one"]) as server:
        found = results(target_of(server.url), chosen("C6/", "J7/", "P2/", "P1/"))
    left = {one.case.id for one in soakables(found)}
    assert left
    assert "P1/" in str(left)  # no blob, so it passed
    for case in (found[name].case for name in left):
        assert not case.dangerous
        assert not (isinstance(case, RequestCase) and case.together > 1)
        assert found[case.id].outcome in (Outcome.PASS, Outcome.FAIL)


# --- the server's processes ------------------------------------------------------------------


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[tuple[Target, int]]:
    """The reference server with a fault as a process of its own."""
    port = free_port()
    command = [sys.executable, "-m", "v2_conformance", "serve", "--port", str(port)]
    with subprocess.Popen([*command, *request.param], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "serving" in process.stdout.readline()
        try:
            yield target_of(f"http://127.0.0.1:{port}", *PROFILES), process.pid
        finally:
            process.kill()


FILES = ("--fault", "files-leak-if-client-breaks-off")


@pytest.mark.parametrize("served", [FILES], indirect=True)
def test_open_files_that_leak_are_found_with_the_kind_that_leaks_them(
    served: tuple[Target, int],
) -> None:
    target, pid = served
    found = results(target, chosen("P2/blob", "D1/", "C8/"))
    load = Load(3, 8, pid)
    seen = soak(target, discover(target), soakables(found), load, lambda words: None)
    (files,) = [one for one in trends(seen.samples, seen.phases) if one.quantity == "files"]
    assert files.movement == "grows"  # so short a soak calls nothing a leak
    assert {one.kind for one in files.kinds} <= {"broken_off"}  # a busy machine shows none
    assert [phase.name for phase in seen.phases][-1] == "rest"
    assert len(seen.samples) <= 1000


def test_the_faults_under_load_are_in_no_list_of_cases() -> None:
    assert all(fault.requirement == "soak" for fault in FAULTS_UNDER_LOAD.values())
