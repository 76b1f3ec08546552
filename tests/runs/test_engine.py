"""The engine runs all kinds of cases: what it sends, what it keeps of it, and what it makes of it.

Who is blamed for a death is in test_deaths, the order of a run in scheduling/test_running, and
generated requests are in test_drawn_requests.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace
from pathlib import Path
from unittest.mock import ANY

import pytest

from support.cases import make_case
from support.reports import case_of
from support.responses import GOOD
from support.runs import changed, chosen, engine_for, of_faulty, outcomes, results, said, target_of
from support.servers import Peer, Start, Step, always, served, serving, steps
from v2_conformance.conversations import case as conversations
from v2_conformance.conversations.discovery import Server
from v2_conformance.conversations.steps import Result
from v2_conformance.judging.metadata import ServerInfo
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Headers, Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.causes.causes import DidNotSurvive, SeveralWrong
from v2_conformance.suite.causes.kinds import RoleAbsent, SuiteError, WrongStatus
from v2_conformance.suite.models import ModelContract
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_mutants.servers import MutantServer

ONE_MODEL = "identity/INT32"


REQUEST = make_case(outputs=[{"tensor": 0, "binary_data": True}], id="mine")


def purposes(result: Result) -> list[Purpose]:
    return [exchange.purpose for exchange in result.exchanges]


def test_the_first_wrong_answer_of_several_counts_and_the_number_is_told(start: Start) -> None:
    class WrongTwice(Behavior):
        numbers = itertools.count(1)

        def handle(self, request: Request) -> Response:
            mine = b'"id":"mine"' in bytes(request.body)
            if mine and next(self.numbers) in (2, 3):
                return self.error(500, "busy")
            return super().handle(request)

    with engine_for(start(WrongTwice).url) as engine:
        result = engine.run(replace(REQUEST, together=2))
    assert result.outcome is Outcome.FAIL
    wrong = WrongStatus("200", 500, '{"error":"busy"}')
    assert result.cause == SeveralWrong(2, 6, wrong)
    assert purposes(result) == [Purpose.SAMPLE, Purpose.CANARY_FRESH]
    assert result.exchanges[0].note == "one of 6, 2 at a time"


# Connections.


def test_a_stale_kept_connection_is_repeated_and_no_failure() -> None:
    def one_answer_each(peer: Peer) -> None:
        peer.send(served(peer.request()))
        peer.request()  # and closes without an answer, as an idle server may

    with serving(one_answer_each) as server, engine_for(server.url) as engine:
        found = [engine.run(case) for case in chosen("P2/blob-follows-json", "R3/survives")]
    assert {result.outcome for result in found} == {Outcome.PASS}
    assert any(purposes(result)[0] is Purpose.REPEATED for result in found)


def test_bytes_that_nobody_asked_for_are_not_the_next_cases() -> None:
    answered, sent = threading.Event(), threading.Event()
    answers = always(served)
    first_answer: list[Step] = [lambda peer: peer.send(served(peer.request()))]
    more_than_asked = steps(
        *first_answer, lambda _: answered.wait(5), GOOD, sent, Peer.until_closed
    )
    # The calibration closes its connection; the first case has the next.
    with serving(answers, more_than_asked, answers) as server:
        present = {ONE_MODEL: Target(server.url).binding(ONE_MODEL)}
        with engine_for(server.url, server=Server(ServerInfo("s", "1", ()), present)) as engine:
            first = engine.run(REQUEST)
            answered.set()
            sent.wait(5)
            second = engine.run(REQUEST)
    assert first.outcome is second.outcome is Outcome.PASS
    assert not second.exchanges[0].reused


def test_known_good_requests_in_vain_are_not_repeated_for_each_case(start: Start) -> None:
    asked: list[Request] = []

    class Broken(Behavior):
        def handle(self, request: Request) -> Response:
            if not request.target.endswith("/infer"):
                return super().handle(request)
            asked.append(request)
            return Response(500, body=(b"{}",))

    counts: list[int] = []
    for workers in (1, 3):
        results(target_of(start(Broken).url), chosen("S2/", "H1/", "O"), workers=workers)
        counts.append(len(asked) - sum(counts))
    assert counts[1] <= 2.2 * counts[0], counts


@pytest.mark.parametrize("broken", ["judge", "prepare"])
def test_a_mistake_of_the_suite_is_an_error_and_ends_no_run(
    broken: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise KeyError("at the wrong moment")  # as a mistake of an author may look

    monkeypatch.setattr(conversations, broken, fails)
    found = results(target_of(url), chosen("R3/survives"))
    assert set(outcomes(found).values()) == {Outcome.ERROR}
    for result in found.values():
        assert isinstance(result.cause, SuiteError)
        assert result.cause.error == "KeyError('at the wrong moment')"
        assert result.cause.where.startswith("test_engine.py:")


# Several requests: one before another on the same connection, and unlike ones at once.

PAIR = chosen("C7/id-does-not-stick")[0]
UNLIKE = chosen("C6/unlike-ids")[0]
LEAVES = chosen("C8/client-leaves[in_blob]")[0]


def test_the_first_request_is_repeated_and_the_last_try_recorded() -> None:
    (case,) = chosen("R3/refusals-in-a-row[five,input]")
    counted: list[int] = []

    class Counts(Behavior):
        def error(self, status: int, message: str, headers: Headers = ()) -> Response:
            counted.append(status)
            return super().error(status, message, headers)

    with ReferenceServer(Counts) as server, engine_for(server.url) as engine:
        result = engine.run(case)
    assert result.outcome is Outcome.PASS
    purposes = [exchange.purpose for exchange in result.exchanges]
    assert purposes == [Purpose.BEFORE, Purpose.CASE, Purpose.CANARY_SAME, Purpose.CANARY_FRESH]
    assert counted == [400] * 6


def test_a_case_of_many_rounds_has_fewer_on_a_slow_server(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (case,) = chosen("C7/many-requests-on-a-connection")
    notes = []
    for limit_s in (600.0, 0.0):
        monkeypatch.setattr("v2_conformance.runs.live._LONG_S", limit_s)
        with engine_for(url) as engine:
            result = engine.run(case)
        notes.append(result.exchanges[0].note)
        assert result.outcome is Outcome.PASS
    assert notes == ["one of 520, 2 at a time", "one of 6, 2 at a time"]


def test_a_case_that_needs_a_model_that_is_absent_is_not_run(url: str) -> None:
    (case,) = chosen("C7/model-does-not-stick[BYTES]")
    found = discover(target_of(url))
    present = {role: b for role, b in found.present.items() if role != "identity/BYTES"}
    lacking = replace(found, present=present, absent={"identity/BYTES": "no such model"})
    with engine_for(url, server=lacking) as engine:
        result = engine.run(case)
    assert result.outcome is Outcome.NOT_RUN
    assert result.cause == RoleAbsent("identity/BYTES", "no such model")


def test_a_report_of_such_cases_is_judged_again_and_needs_the_first_request(tmp_path: Path) -> None:
    faults = ("id-sticks", "concurrent-ids-mixed", "broken-chunk-kills-server")
    cases = [PAIR, UNLIKE, LEAVES, *chosen("C8/broken-chunk[end", "C8/half-closed", "C7/size")]
    path = of_faulty(tmp_path / "run", *faults, cases=cases)
    found, text = said(path)
    assert not any(case.problem for case in found.cases), text
    _, text = changed(path, tmp_path, lambda report: case_of(report, PAIR.id)["exchanges"].pop(0))
    assert "the request before the case is not recorded" in text


# The canary on the case's connection is in the case's own form, if the server serves that.

WITHOUT_BLOBS = chosen("R3/survives-a-rejection[no_data]")[0]


def test_only_that_shows_what_sticks_to_requests_of_one_form() -> None:
    fault = "json-parser-stuck-after-error"
    with MutantServer([fault]) as server, engine_for(server.url) as engine:
        result = engine.run(WITHOUT_BLOBS)
    assert isinstance(result.cause, DidNotSurvive)
    assert result.cause.same_connection == WrongStatus("200", 500, ANY)
    assert result.cause.fresh_connection is None


def test_a_server_that_does_not_serve_the_form_is_not_blamed_for_it(start: Start) -> None:
    class WantsBlobs(Behavior):
        def infer(self, model: ModelContract, request: Request) -> Response:
            if not request.values(HEADER_LENGTH):
                return self.error(400, "send blobs")
            return super().infer(model, request)

    with engine_for(start(WantsBlobs).url) as engine:
        result = engine.run(WITHOUT_BLOBS)
    assert result.outcome is Outcome.PASS
    assert b"binary_data_size" in bytes(result.exchanges[1].request)
