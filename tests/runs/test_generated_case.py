"""All generated requests of a run are one case: the same bytes each time, the smallest failure."""

from __future__ import annotations

import sys
from dataclasses import replace
from unittest.mock import ANY

import pytest

from support.runs import chosen, engine_for, target_of
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.discovery import Server, discover
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.case_files import make_case as case_of
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.causes.causes import GeneratedFailure, died
from v2_conformance.suite.causes.kinds import GeneratedRequests, KilledBy, NoUsableModel
from v2_conformance.suite.library import generated_case
from v2_conformance.suite.models import contract
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.servers import MutantServer

REQUESTS = generated_case().requests


def test_generated_requests_are_one_case_and_are_sent_as_their_file_has_them(
    monkeypatch: pytest.MonkeyPatch, server: ReferenceServer
) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)  # whatever it would make
    sent = []
    for _ in range(2):
        with engine_for(server.url) as engine:
            result = engine.run(generated_case())
        assert result.outcome is Outcome.PASS
        usable = [e for e in REQUESTS if contract()[e["model"]].profile == "binary"]
        assert result.cause == GeneratedRequests(len(usable), None, None)
        assert result.message == f"{len(usable)} generated requests"
        assert [exchange.entry for exchange in result.exchanges] == usable
        sent.append([bytes(exchange.request) for exchange in result.exchanges])
    assert sent[0] == sent[1]
    assert len(set(sent[0])) > 50  # some differ in their delivery alone


def test_a_server_gets_the_generated_requests_that_it_has_the_models_for() -> None:
    with ReferenceServer() as server:
        target = replace(target_of(server.url), unsupported=frozenset({"FP16", "BYTES"}))
        found = discover(target)
        present = {role: found.present[role] for role in found.present if "cube" not in role}
        engine = Engine(target, replace(found, present=present))
        result = engine.run(generated_case())
        engine.close()
    sent = {exchange.entry["model"] for exchange in result.exchanges if exchange.entry}
    assert result.outcome is Outcome.PASS
    assert not sent & {"mixed", "all_types", "trio", "cube/FP64", "matrix/BYTES"}
    assert "matrix/FP32" in sent


def test_a_generated_request_that_fails_is_the_failure_of_the_case() -> None:
    with (
        MutantServer(["request-blobs-in-model-order"]) as server,
        engine_for(server.url) as engine,
    ):
        result = engine.run(generated_case())
        assert result.outcome is Outcome.FAIL
        assert isinstance(result.cause, GeneratedFailure)
        assert REQUESTS[result.cause.number - 1] == result.exchanges[0].entry
        assert f" (generated request {result.cause.number}) (sent " in result.message
        entries = [exchange.entry for exchange in result.exchanges]
        assert all(entry and isinstance(case_of(entry), RequestCase) for entry in entries)
        alone = engine.run(case_of(entries[0] or {}))
    assert (alone.outcome, alone.cause) == (Outcome.FAIL, result.cause.request)


def test_a_server_without_usable_models_is_no_pass() -> None:
    engine = Engine(Target("http://host:1"), Server("s", "1", ()))
    result = engine.run(generated_case())
    assert (result.outcome, result.cause) == (Outcome.NOT_RUN, NoUsableModel())
    assert not result.exchanges


def test_generated_requests_to_a_dead_server_are_not_run_and_name_the_killer() -> None:
    with (
        MutantServer(["rejection-stops-listening"]) as server,
        engine_for(server.url) as engine,
    ):
        killer = chosen("R3/survives")[0]
        assert died(engine.run(killer).cause)
        result = engine.run(generated_case())
    assert result.outcome is Outcome.NOT_RUN
    assert result.cause == KilledBy(killer.id, ANY)
    assert not result.exchanges
