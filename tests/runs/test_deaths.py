"""Who is blamed when a server or a model dies, what is not run then, and how a run gets on."""

from __future__ import annotations

import base64
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from support.connections import instant_patience
from support.leaks import is_shown
from support.runs import chosen, engine_for, outcomes, restarting_on_request, results, target_of
from support.servers import Start, free_port
from v2_conformance.conversations.steps import Result
from v2_conformance.redaction import Mask
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Blobs, Request, Response
from v2_conformance.reference.request_reader import RequestInput
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.patience import Budget
from v2_conformance.runs.scheduling.deaths import Recovery, restart
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.suite.cases import Case
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.causes import DidNotSurvive, died
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_mutants.servers import MutantServer


def death(result: Result) -> DidNotSurvive:
    """What was wrong after a case that the server did not survive."""
    assert result.outcome is Outcome.FAIL
    assert isinstance(result.cause, DidNotSurvive)
    return result.cause


REJECTED = chosen("R3/survives-a-rejection")


def test_a_killed_model_is_the_killing_cases_failure_and_nobody_elses() -> None:
    with MutantServer(["overflowing-shape-kills-model"]) as server:
        found = results(target_of(server.url), chosen("S8/", "P2/"))
    failed = [result for result in found.values() if result.outcome is Outcome.FAIL]
    assert {result.case.requirement for result in failed} == {"S8"}
    assert all(died(result.cause) for result in failed)
    killers = {result.case.role: result.case.id for result in failed}
    assert len(killers) == len(failed)  # one for each model
    assert {"identity/INT32", "matrix/INT32", "matrix/BYTES"} <= set(killers)
    skipped = [result for result in found.values() if result.outcome is Outcome.NOT_RUN]
    assert "S8/matrix-product-overflows[wraps_to_4]" in {one.case.id for one in skipped}
    for one in skipped:
        assert one.cause == kinds.KilledBy(killers[one.case.role], one.case.role)
        assert not one.exchanges


class ReadsNoBlobsAfterAnError(Behavior):
    """A server that takes blobs for zeros once it has rejected a request, but reads JSON right."""

    spoiled = False

    def handle(self, request: Request) -> Response:
        response = super().handle(request)
        self.spoiled |= response.status >= 400
        return response

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        right = super().slice_blob(entry, blobs, offset, size)
        return memoryview(bytes(len(right))) if self.spoiled else right


def test_a_model_that_answers_json_right_is_wrong_but_not_dead(start: Start) -> None:
    server = start(ReadsNoBlobsAfterAnError)
    found = results(target_of(server.url), REJECTED)
    assert {type(death(result).fresh_connection) for result in found.values()} == {kinds.WrongValue}


def test_a_server_that_stops_listening_fails_one_case() -> None:
    with MutantServer(["rejection-stops-listening"]) as server:
        found = list(results(target_of(server.url), chosen("R3/survives", "P2/", "S12/")).values())
    passed = {result.outcome for result in found if not result.case.negative}
    assert passed == {Outcome.PASS}
    first, *rest = [result for result in found if result.case.negative]
    cause = death(first)
    assert isinstance(cause.case, kinds.Rejected)
    assert cause.case_passed
    assert isinstance(cause.fresh_connection, kinds.NoResponse)
    assert cause.fresh_connection.ending == "refused"
    for result in rest:
        assert result.outcome is Outcome.NOT_RUN
        assert result.cause == kinds.KilledBy(first.case.id, result.case.role)


def test_a_killer_is_not_sent_again_while_what_it_killed_is_dead() -> None:
    with MutantServer(["rejection-kills-model"]) as server, engine_for(server.url) as engine:
        first = engine.run(REJECTED[0])
        death(first)
        assert engine.run(REJECTED[0]) is first
        engine.deaths.killers.clear()
        assert engine.run(REJECTED[0]) is not first


def test_a_server_that_went_away_by_itself_is_no_cases_fault() -> None:
    server = ReferenceServer(port=free_port())
    server.start()
    target = target_of(server.url)
    engine = Engine(target, discover(target))
    first, second, third = REJECTED
    assert engine.run(first).outcome is Outcome.PASS
    server.stop()
    away = engine.run(second)
    assert away.outcome is Outcome.INCONCLUSIVE
    assert isinstance(away.cause, kinds.ConnectionRefused)
    unknown = engine.run(chosen("P2/blob-follows-json[UINT8]")[0])
    assert unknown.outcome is Outcome.INCONCLUSIVE
    server.start()
    assert engine.run(third).outcome is Outcome.PASS
    assert engine.run(unknown.case).outcome is Outcome.PASS
    engine.close()
    server.stop()


# Recovery.


@pytest.mark.parametrize(("comes_back", "wait"), [(True, 0.0), (True, 20.0), (False, 0.3)])
def test_a_restart_command_gets_the_run_on_if_it_brings_the_server_back(
    comes_back: bool, wait: float
) -> None:
    server = MutantServer(["rejection-stops-listening"], port=free_port())
    with server, restarting_on_request(server) as command:
        recovery = Recovery(command if comes_back else "exit 1", wait_s=wait)
        found = results(target_of(server.url), REJECTED, recovery=recovery)
    later = ["fail"] * 2 if comes_back else ["not_run"] * 2
    assert list(outcomes(found).values()) == ["fail", *later]
    assert all(died(one.cause) for one in found.values() if one.outcome is Outcome.FAIL)


def test_what_a_restart_command_prints_is_shown_without_secrets(
    capfd: pytest.CaptureFixture[str],
) -> None:
    secret = "Zk9-pQ7w_vX2"
    say = f"echo restarting with {secret}; echo {base64.b64encode(secret.encode()).decode()}"
    restart(say, Mask((secret,)), 60)
    captured = capfd.readouterr()
    assert "restarting with ************\n" in captured.err
    assert is_shown((captured.out + captured.err).encode(), secret.encode()) is None
    restart(say, Mask(), 60)
    assert secret in capfd.readouterr().out


@pytest.mark.parametrize(("wait_s", "max_time_s"), [(0.3, 600.0), (600.0, 0.5)])
def test_a_restart_command_that_does_not_return_is_ended_with_its_group(
    wait_s: float, max_time_s: float, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    command = f"exec >{shlex.quote(str(held))}; echo started; sleep 1000 & wait"
    with MutantServer(["rejection-stops-listening"]) as server:
        target = target_of(server.url)
        recovery, budget = Recovery(command, wait_s), Budget(max_time_s)
        engine = Engine(target, discover(target), recovery=recovery, budget=budget)
        death(engine.run(REJECTED[0]))
        engine.close()
    with open(reader, "rb") as output:
        # The end comes once no process has it open any more.
        assert output.read() == b"started\n"
    assert "the restart command did not return in" in capfd.readouterr().err


# Behind a gateway.

GOOD = chosen("P2/blob-follows-json[INT32]")


class Gateway(Behavior):
    """A server behind a gateway, which has no answer to `lost` requests after a rejection."""

    lost: ClassVar[int] = 0
    about_all: ClassVar[bool] = False
    left = 0

    def handle(self, request: Request) -> Response:
        infers = request.target.endswith("/infer")
        if self.left and (infers or self.about_all):
            self.left -= 1
            return Response(502, (("Content-Type", "text/html"),), (b"<h1>Bad Gateway</h1>",))
        response = super().handle(request)
        if infers and response.status >= 400:
            self.left = self.lost
        return response


def ran(server: ReferenceServer, cases: Sequence[Case] = REJECTED) -> list[Result]:
    """The results of the run, whose pauses take no time."""
    target = target_of(server.url)
    engine = Engine(target, discover(target), patience=instant_patience(5.0)[0])
    return [event.result for event in run(engine, cases)]


@pytest.mark.parametrize("lost", [2, 6])  # connections; or a model on a living server is away
def test_what_a_gateway_loses_for_a_while_is_no_death(start: Start, lost: int) -> None:
    found = ran(start(type("Loses", (Gateway,), {"lost": lost})))
    assert [result.outcome for result in found] == [Outcome.PASS] * len(REJECTED)


def test_a_server_that_was_down_and_came_back_has_not_survived(start: Start) -> None:
    restarts = type("Restarts", (Gateway,), {"lost": 10, "about_all": True})
    (result,) = ran(start(restarts), REJECTED[:1])
    assert death(result).fresh_connection == kinds.WasDown("status 502")
    purposes = [exchange.purpose for exchange in result.exchanges]
    assert purposes[-2:] == [Purpose.LIVENESS, Purpose.CANARY_FRESH]


def test_a_server_that_stays_away_is_dead_as_a_whole(start: Start) -> None:
    dies = type("Dies", (Gateway,), {"lost": 10**6, "about_all": True})
    first, *rest = ran(start(dies), [*REJECTED, *chosen("R1/unknown-model")])
    assert isinstance(death(first).fresh_connection, kinds.WrongStatus)
    for result in rest:
        assert result.cause == kinds.KilledBy(first.case.id, result.case.role)


NEVER = "Fri, 31 Dec 2999 23:59:59 GMT"


@pytest.mark.parametrize("keeps_its_word", [True, False])
def test_a_server_that_asks_to_wait_is_neither_wrong_nor_dead(
    start: Start, keeps_its_word: bool
) -> None:
    class Limits(Behavior):
        served = 0

        def handle(self, request: Request) -> Response:
            self.served += request.target.endswith("/infer")
            busy = self.served % 3 == 0 if keeps_its_word else self.served > 2
            if not request.target.endswith("/infer") or not busy:
                return super().handle(request)
            after = "1" if keeps_its_word else NEVER
            return Response(429 if keeps_its_word else 503, (("Retry-After", after),), (b"busy",))

    first, *rest = ran(start(Limits), [*GOOD, *REJECTED])
    assert first.outcome is Outcome.PASS
    purposes = {e.purpose for result in rest for e in result.exchanges}
    if keeps_its_word:
        assert {result.outcome for result in rest} == {Outcome.PASS}
        assert Purpose.RETRIED in purposes
    else:
        assert {result.outcome for result in rest} == {Outcome.INCONCLUSIVE}
        assert {result.cause for result in rest} == {kinds.Unavailable(503, NEVER, "busy")}
