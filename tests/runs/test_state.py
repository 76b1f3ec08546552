"""Cases of several requests: one before another on the same connection, and unlike ones at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from support.reports import case_of
from support.runs import changed, chosen, engine_for, of_faulty, said
from support.servers import Start
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Headers, Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.suite.causes.causes import DidNotSurvive
from v2_conformance.suite.causes.kinds import RoleAbsent, WrongStatus
from v2_conformance.suite.models import ModelContract
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_mutants.servers import MutantServer

PAIR = chosen("C7/id-does-not-stick")[0]
UNLIKE = chosen("C6/unlike-ids")[0]
LEAVES = chosen("C8/client-leaves[in_blob]")[0]


def test_the_first_request_goes_before_on_the_same_connection() -> None:
    with ReferenceServer() as server, engine_for(server.url) as engine:
        result = engine.run(PAIR)
    assert result.outcome is Outcome.PASS
    before, own = result.exchanges
    assert (before.purpose, own.purpose) == (Purpose.BEFORE, Purpose.CASE)
    assert b'"id":"the-first"' in bytes(before.request)
    assert own.reused
    assert before.open


def test_the_first_request_is_repeated_and_the_last_try_recorded() -> None:
    (case,) = chosen("R3/refusals-in-a-row[five,input]")
    counted: list[int] = []

    class Counts(Behaviour):
        def error(self, status: int, message: str, headers: Headers = ()) -> Response:
            counted.append(status)
            return super().error(status, message, headers)

    with ReferenceServer(Counts) as server, engine_for(server.url) as engine:
        result = engine.run(case)
    assert result.outcome is Outcome.PASS
    purposes = [exchange.purpose for exchange in result.exchanges]
    assert purposes == [Purpose.BEFORE, Purpose.CASE, Purpose.CANARY_SAME, Purpose.CANARY_FRESH]
    assert counted == [400] * 6


@pytest.mark.parametrize("variant", ["closes-after-a-hundred", "closes-now-and-then"])
def test_a_server_may_close_a_connection_among_many_requests(variant: str) -> None:
    (case,) = chosen("C7/many-requests-on-a-connection")
    with MutantServer(variants=[variant]) as server, engine_for(server.url) as engine:
        result = engine.run(case)
    assert (result.outcome, len(result.exchanges)) == (Outcome.PASS, 1)


def test_a_case_of_many_rounds_has_fewer_on_a_slow_server(monkeypatch: pytest.MonkeyPatch) -> None:
    (case,) = chosen("C7/many-requests-on-a-connection")
    notes = []
    for limit_s in (600.0, 0.0):
        monkeypatch.setattr("v2_conformance.runs.live._LONG_S", limit_s)
        with ReferenceServer() as server, engine_for(server.url) as engine:
            result = engine.run(case)
        notes.append(result.exchanges[0].note)
        assert result.outcome is Outcome.PASS
    assert notes == ["one of 520, 2 at a time", "one of 10, 2 at a time"]


def test_a_case_that_needs_a_model_that_is_absent_is_not_run() -> None:
    with ReferenceServer() as server, engine_for(server.url) as engine:
        found = engine.server
        present = {role: b for role, b in found.present.items() if role != "identity/BYTES"}
        lacking = replace(found, present=present, absent={"identity/BYTES": "no such model"})
        (case,) = chosen("C7/model-does-not-stick[BYTES]")
        with engine_for(server.url, server=lacking) as other:
            result = other.run(case)
    assert result.outcome is Outcome.NOT_RUN
    assert result.cause == RoleAbsent("identity/BYTES", "no such model")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    faults = ("id-sticks", "concurrent-ids-mixed", "broken-chunk-kills-server")
    cases = [PAIR, UNLIKE, LEAVES, *chosen("C8/broken-chunk[end", "C8/half-closed", "C7/size")]
    return of_faulty(tmp_path_factory.mktemp("state"), *faults, cases=cases)


def test_a_report_of_such_cases_can_be_judged_again(recorded: Path) -> None:
    found, text = said(recorded)
    assert not any(case.problem for case in found.cases), text


def test_a_record_without_the_first_request_is_no_record_of_the_case(
    recorded: Path, tmp_path: Path
) -> None:
    def without(report: dict[str, Any]) -> None:
        del case_of(report, PAIR.id)["exchanges"][0]

    _, text = changed(recorded, tmp_path, without)
    assert "the request before the case is not recorded" in text


# The canary on the case's connection is in the case's own form, if the server serves that.

WITHOUT_BLOBS = chosen("R3/survives-a-rejection[no_data]")[0]


def test_a_case_without_blobs_is_followed_by_a_canary_without_blobs(url: str) -> None:
    with engine_for(url) as engine:
        same, fresh = engine.run(WITHOUT_BLOBS).exchanges[1:]
    assert b"binary_data_size" not in bytes(same.request)
    assert b"binary_data_size" in bytes(fresh.request)


def test_only_that_shows_what_sticks_to_requests_of_one_form() -> None:
    fault = "json-parser-stuck-after-error"
    with MutantServer([fault]) as server, engine_for(server.url) as engine:
        result = engine.run(WITHOUT_BLOBS)
    assert isinstance(result.cause, DidNotSurvive)
    assert result.cause.same_connection == WrongStatus("200", 500, ANY)
    assert result.cause.fresh_connection is None


def test_a_server_that_does_not_serve_the_form_is_not_blamed_for_it(start: Start) -> None:
    class WantsBlobs(Behaviour):
        def infer(self, model: ModelContract, request: Request) -> Response:
            if not request.values(HEADER_LENGTH):
                return self.error(400, "send blobs")
            return super().infer(model, request)

    with engine_for(start(WantsBlobs).url) as engine:
        result = engine.run(WITHOUT_BLOBS)
    assert result.outcome is Outcome.PASS
    assert b"binary_data_size" in bytes(result.exchanges[1].request)
